#include "target/containers.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "target/fake_tree.h"

namespace overdue {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string id_a = "abc1230000000000000000000000000000000000000000000000000000000001";
const std::string id_b = "abc4560000000000000000000000000000000000000000000000000000000002";
const std::string id_c = "fed0000000000000000000000000000000000000000000000000000000000003";

TEST(ContainerPathTest, EveryEngineIsRecognised) {
  const std::string short_a = id_a.substr(0, 12);
  struct Case {
    std::string path, name, runtime;
  };
  const Case cases[] = {
      {"/docker/" + id_a, short_a, "docker"},
      {"/docker/" + id_a + "/init", short_a, "docker"},
      {"/system.slice/docker-" + id_a + ".scope", short_a, "docker"},
      {"/machine.slice/libpod-" + id_a + ".scope/container", short_a, "podman"},
      {"/libpod_parent/libpod-" + id_a, short_a, "podman"},
      {"/kubepods/burstable/pod1234-5678/" + id_a, short_a, ""},
      {"/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + id_a + ".scope", short_a,
       "containerd"},
      {"/system.slice/containerd.service/kubepods-pod1.slice:cri-containerd:" + id_a, short_a,
       "containerd"},
      {"/kubepods.slice/crio-" + id_a + ".scope", short_a, "cri-o"},
      {"/ecs/0123456789/" + id_a, short_a, ""},
      {"/ecs/5a08c9f1/5a08c9f1-2531612879", "5a08c9f1-253", "ecs"},
      {"/garden/6a5b1c2d-33", "6a5b1c2d-33", "garden"},
      {"/lxc/web", "web", "lxc"},
      {"/lxc.payload.web/system.slice/nginx.service", "web", "lxc"},
      {"/lxc.payload/web", "web", "lxc"},
      {"/machine.slice/machine-my\\x2dbox.scope/payload", "my-box", "nspawn"},
      {"/machine.slice/systemd-nspawn@deb.service/payload", "deb", "nspawn"},
      {"/docker/" + id_b + "/docker/" + id_a, short_a, "docker"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(container_of(c.path), c.name) << c.path;
    const auto container = parse_container(c.path);
    ASSERT_TRUE(container) << c.path;
    EXPECT_EQ(container->runtime, c.runtime) << c.path;
  }
}

TEST(ContainerPathTest, OtherCgroupsAreNone) {
  for (const std::string& path :
       {std::string("/"), std::string(""), std::string("/system.slice/docker.service"),
        std::string("/user.slice/user-1000.slice/session-2.scope"), std::string("/docker"),
        std::string("/docker/buildkit"), std::string("/lxc"), std::string("/lxc.monitor.web"),
        std::string("/lxc.payload."), std::string("/machine.slice"),
        "/machine.slice/libpod-conmon-" + id_a + ".scope",
        "/kubepods.slice/crio-conmon-" + id_a + ".scope", "/x/" + id_a.substr(1),
        "/x/" + id_a + "z", std::string("/process_api/35bbc965abdebdf8865d53dfe660075b")})
    EXPECT_EQ(container_of(path), "") << path;
}

TEST(ContainerPathTest, PathEndsWithTheContainer) {
  EXPECT_EQ(parse_container("/machine.slice/libpod-" + id_a + ".scope/container/x")->path,
            "/machine.slice/libpod-" + id_a + ".scope");
}

class ContainersTest : public testing::Test {
 protected:
  ContainersTest() {
    tree_.file("proc/self/mountinfo",
               fmt::format("33 31 0:30 / {0}/memory rw - cgroup cgroup rw,memory\n"
                           "41 31 0:38 / {0}/unified rw - cgroup2 cgroup2 rw\n",
                           (tree_ / "cg").native()));
    tree_.file("proc/self/cgroup", "4:memory:/\n0::/\n");
    run(10, "/docker/" + id_a + "/init");
    run(11, "/docker/" + id_a);
    run(12, "/system.slice/docker-" + id_b + ".scope");
    run(13, "/machine.slice/libpod-" + id_c + ".scope/container");
    run(14, "/lxc/mail");
    tree_.thread({.tid = 15, .cgroup = "0::/user.slice\n"});
    docker_state(id_a, R"({"ID":"x","Name":"/web","More":[1,2]})");
    docker_state(id_b, R"({"Name":"/abc"})");
    tree_.file("podman/overlay-containers/containers.json",
               fmt::format(R"([{{"id":"{}","names":["db","alias"]}},{{"id":7}},3])", id_c));
  }

  /// A process in a container whose cgroup exists in v2 only.
  void run(std::uint32_t pid, const std::string& cgroup) {
    tree_.directory("cg/unified" + cgroup);
    tree_.thread({.tid = pid, .cgroup = "4:memory:/\n0::" + cgroup + "\n"});
  }
  void docker_state(const std::string& id, std::string_view json) const {
    tree_.file("docker/containers/" + id + "/config.v2.json", json);
  }
  ContainerTarget find(std::string_view wanted) const {
    return find_container(wanted, Proc(tree_ / "proc"), Cgroups(tree_ / "proc"), states());
  }
  ContainerStates states() const { return {tree_ / "docker", tree_ / "podman"}; }
  std::string failure(std::string_view wanted, int status) const {
    try {
      find(wanted);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_status(), status) << error.what();
      return std::string(error.what()) + " | " + error.hint();
    }
    ADD_FAILURE() << "found " << wanted;
    return {};
  }

  FakeTree tree_;
};

TEST_F(ContainersTest, ByIdPrefixAndByName) {
  EXPECT_EQ(find("abc1").id, id_a);
  EXPECT_EQ(find("abc1").name, "web");
  EXPECT_EQ(find("abc1").runtime, "docker");
  EXPECT_EQ(find(id_a).cgroup.path, "/docker/" + id_a);
  EXPECT_TRUE(find(id_a).cgroup.v2);
  EXPECT_EQ(find("web").id, id_a);
  EXPECT_EQ(find("db").id, id_c);
  EXPECT_EQ(find("db").cgroup.path, "/machine.slice/libpod-" + id_c + ".scope");
  EXPECT_EQ(find("mail").cgroup.path, "/lxc/mail");
  EXPECT_EQ(find("mail").id, "");
}

TEST_F(ContainersTest, ExactNameBeatsAPrefix) {
  EXPECT_EQ(find("abc").id, id_b);
}

TEST_F(ContainersTest, AmbiguousPrefixListsTheCandidates) {
  docker_state(id_b, "{}");
  const std::string text = failure("abc", 1);
  EXPECT_THAT(text, HasSubstr("fits 2 containers"));
  EXPECT_THAT(text, HasSubstr("abc123000000 (web), abc456000000"));
}

TEST_F(ContainersTest, UnknownShortAndStoppedHaveTheirOwnMessages) {
  EXPECT_THAT(failure("wec", 1), HasSubstr("did you mean 'web'"));
  EXPECT_THAT(failure("nothing-like-it", 1), HasSubstr("running: abc123000000 (web)"));
  EXPECT_THAT(failure("fe", 2), HasSubstr("too short"));
  EXPECT_THAT(failure("", 2), HasSubstr("empty"));
  const std::string stopped = "99" + id_a.substr(2);
  docker_state(stopped, R"({"Name":"/old"})");
  EXPECT_THAT(failure("old", 1), HasSubstr("99c123000000 (old) is not running"));
  EXPECT_THAT(failure("99c1", 1), HasSubstr("not running"));
}

TEST_F(ContainersTest, NoContainersAtAllIsSaid) {
  const FakeTree bare;
  bare.file("proc/self/mountinfo", "");
  try {
    find_container("web", Proc(bare / "proc"), Cgroups(bare / "proc"), {bare / "d", bare / "p"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.hint(), HasSubstr("no container is running"));
  }
}

TEST_F(ContainersTest, V1IsUsedWhereV2DoesNotKnowTheContainer) {
  const std::string id = "77" + id_a.substr(2);
  tree_.directory("cg/memory/docker/" + id);
  tree_.thread({.tid = 20, .cgroup = fmt::format("4:memory:/docker/{}\n0::/\n", id)});
  EXPECT_EQ(find("77c").cgroup.controller, "memory");
  EXPECT_EQ(find("77c").cgroup.hierarchy_id, 4);
}

TEST_F(ContainersTest, CgroupsOutsideOurNamespaceAreNotFollowed) {
  const std::string id = "77" + id_a.substr(2);
  tree_.thread({.tid = 20, .cgroup = fmt::format("0::/../{}\n", id)});
  failure("77c", 1);
}

TEST_F(ContainersTest, HostileStateFilesGiveNoNames) {
  const std::string deep(100'000, '[');
  for (const std::string& json :
       {std::string("{"), std::string("[]"), std::string("null"), std::string(R"({"Name":7})"),
        std::string(R"({"Name":"/"})"), deep, std::string("\xff\xfe"),
        R"({"Name":")" + std::string(1000, 'x') + "\"}", std::string()}) {
    docker_state(id_a, json);
    tree_.file("podman/overlay-containers/containers.json", json);
    EXPECT_EQ(find("abc1").name, "") << json.substr(0, 40);
    EXPECT_EQ(find("fed").name, "") << json.substr(0, 40);
  }
  tree_.file("podman/overlay-containers/containers.json",
             fmt::format(R"([{{"id":"{}","names":[{{}}]}}])", id_c));
  EXPECT_EQ(find("fed").name, "");
  docker_state(id_a, "{\"Name\":\"/w\\u001b[2J\"}");
  EXPECT_THAT(failure("zzzzzzzz", 1), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace overdue
