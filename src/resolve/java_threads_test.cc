#include "resolve/java_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "resolve/library_fixture.h"

namespace overdue::java_threads_test {
namespace {

constexpr std::uint64_t words_at = 0xa00, entries_at = 0xb00, texts_at = 0xd00, statics_at = 0xf00,
                        list_at = 0x1000, thread_at = 0x1100, system_at = 0x1200,
                        handle_at = 0x1300, object_at = 0x1400, string_at = 0x1500,
                        array_at = 0x1600, image_bytes = 0x2000;
constexpr std::uint32_t tid = 4711;
constexpr std::string_view comm = "AsyncAppender-W";

/// A virtual machine with one thread. References are of 4 bytes, and count from the library on.
class Machine : public LibraryFixture {
 public:
  explicit Machine(std::string_view name) : LibraryFixture(image_bytes) {
    constexpr std::uint64_t words[] = {loaded_at + entries_at, 40, 0, 8, 16, 24, 32};
    constexpr std::string_view names[] = {
        "gHotSpotVMStructs",
        "gHotSpotVMStructEntryArrayStride",
        "gHotSpotVMStructEntryTypeNameOffset",
        "gHotSpotVMStructEntryFieldNameOffset",
        "gHotSpotVMStructEntryIsStaticOffset",
        "gHotSpotVMStructEntryOffsetOffset",
        "gHotSpotVMStructEntryAddressOffset",
    };
    for (std::size_t i = 0; i < std::size(words); ++i) {
      put(words_at + 8 * i, words[i]);
      add_symbol(names[i], words_at + 8 * i, 8);
    }
    add_static("ThreadsSMRSupport", "_java_thread_list", loaded_at + list_at);
    add_static("CompressedOops", "_base", loaded_at);
    add_static("CompressedOops", "_shift", 3);
    add("ThreadsList", "_length", 4);
    add("ThreadsList", "_threads", 16);
    add("JavaThread", "_threadObj", 8);
    add("Thread", "_osthread", 16);
    add("OSThread", "_thread_id", 12);
    put(list_at + 4, std::uint32_t{1});
    put(list_at + 16, loaded_at + list_at + 24);
    put(list_at + 24, loaded_at + thread_at);
    put(thread_at + 8, loaded_at + handle_at);
    put(thread_at + 16, loaded_at + system_at);
    put(system_at + 12, tid);
    put(handle_at, loaded_at + object_at);
    put(object_at + 20, static_cast<std::uint32_t>(string_at >> 3));
    put(string_at + 12, static_cast<std::uint32_t>(array_at >> 3));
    set_length(static_cast<std::uint32_t>(name.size()));
    put_text(array_at + 16, name);
  }

  void set_length(std::uint32_t length) { put(array_at + 12, length); }
  std::vector<NamedThread> names(std::size_t readable = image_bytes) const {
    const std::vector<NamedThread> cut{{.tid = tid, .name = std::string(comm)}};
    return java_thread_names(
        {.start = loaded_at, .end = loaded_at + image_bytes, .inode = 1, .path = "/libjvm.so"},
        FileBytes(bytes()), memory(readable), cut);
  }

 private:
  std::uint64_t text(std::string_view text) {
    const std::uint64_t at = texts_at + texts_;
    put_text(at, text);
    texts_ += text.size() + 1;
    return loaded_at + at;
  }
  void add(std::string_view type, std::string_view field, std::uint64_t offset,
           bool is_static = false, std::uint64_t address = 0) {
    const std::uint64_t at = entries_at + 40 * entries_++;
    put(at, text(type));
    put(at + 8, text(field));
    put(at + 16, std::int32_t{is_static});
    put(at + 24, offset);
    put(at + 32, address);
  }
  void add_static(std::string_view type, std::string_view field, std::uint64_t value) {
    const std::uint64_t at = statics_at + 8 * statics_++;
    put(at, value);
    add(type, field, 0, true, loaded_at + at);
  }

  std::uint64_t texts_ = 0, entries_ = 0, statics_ = 0;
};

TEST(JavaThreads, TheVirtualMachineIsALibrary) {
  EXPECT_TRUE(may_be_jvm({.inode = 1, .path = "/usr/lib/jvm/17/lib/server/libjvm.so"}));
  EXPECT_FALSE(may_be_jvm({.inode = 1, .path = "/tmp/libjvm.so.txt"}));
  EXPECT_FALSE(may_be_jvm({.inode = 0, .path = "[libjvm.so]"}));
}

TEST(JavaThreads, ANameIsFoundByItsBegin) {
  EXPECT_THAT(Machine("AsyncAppender-Worker-ApplicationLog").names(),
              testing::ElementsAre(NamedThread{tid, "AsyncAppender-Worker-ApplicationLog"}));
  EXPECT_THAT(Machine("AsyncAppender-X-ApplicationLog").names(), testing::IsEmpty());
  EXPECT_THAT(Machine(comm).names(), testing::IsEmpty()) << "it is whole already";
}

TEST(JavaThreads, DamageNamesNothing) {
  Machine machine("AsyncAppender-Worker");
  machine.set_length(0xffffffff);
  EXPECT_THAT(machine.names(), testing::IsEmpty());
  machine.set_length(20);
  EXPECT_THAT(machine.names(), testing::SizeIs(1));
  for (std::size_t readable = 0; readable < image_bytes; readable += 8)
    EXPECT_LE(machine.names(readable).size(), 1u);
  for (std::size_t at = words_at; at < image_bytes; at += 4) {
    Machine damaged("AsyncAppender-Worker");
    damaged.put(at, 0xffffffffu);
    for (const NamedThread& thread : damaged.names())
      EXPECT_THAT(thread.name, testing::StartsWith(comm));
  }
}

}  // namespace
}  // namespace overdue::java_threads_test
