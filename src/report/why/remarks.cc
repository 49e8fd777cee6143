#include "report/why/remarks.h"

#include <fmt/format.h>

#include "base/text.h"
#include "source/kept_options.h"

namespace overdue {
namespace {

constexpr std::uint64_t remarks_max = 100, id_max = UINT32_MAX;
constexpr std::size_t remark_bytes_max = 1000;

std::string key_of(std::string_view kind, std::uint64_t number) {
  return fmt::format("{}_{}", kind, number);
}

}  // namespace

void keep_remarks(std::string_view kind, const std::vector<Remark>& remarks, SessionInfo& info) {
  std::uint64_t number = 0;
  for (const Remark& remark : remarks) {
    if (number == remarks_max) break;
    const std::string key = key_of(kind, number++);
    info.options[key + "_of"] = std::to_string(remark.id);
    info.options[key + "_words"] = printable(remark.words);
  }
  info.options[fmt::format("{}s", kind)] = std::to_string(number);
}

std::vector<Remark> kept_remarks(std::string_view kind, const SessionInfo& info) {
  std::vector<Remark> remarks;
  const std::uint64_t count = kept_number(info.options, fmt::format("{}s", kind), 0, remarks_max);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string key = key_of(kind, i);
    const auto words = info.options.find(key + "_words");
    if (words == info.options.end()) continue;
    remarks.push_back(
        {.id = static_cast<std::uint32_t>(kept_number(info.options, key + "_of", 0, id_max)),
         .words = made_printable(words->second, remark_bytes_max)});
  }
  return remarks;
}

}  // namespace overdue
