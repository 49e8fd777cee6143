#include "flame/speedscope.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/xml_text.h"

namespace overdue {
namespace {

/// A JSON string. visible() leaves no control characters and no invalid UTF-8.
std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : visible(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string_view unit_name(WeightUnit unit) {
  if (unit == WeightUnit::microseconds) return "microseconds";
  return unit == WeightUnit::bytes ? "bytes" : "none";
}

/// Samples of one thread.
struct Profile {
  StackTree::Id thread = StackTree::root;  ///< the root: stacks without a thread
  std::uint64_t total = 0;
  std::string samples{}, weights{};  ///< elements of the arrays
};

class SpeedscopeExport {
 public:
  explicit SpeedscopeExport(const StackTree& tree) : tree_(tree) {
    tree.visit_stacks(
        [this](std::span<const StackTree::Id> path, std::uint64_t weight) { add(path, weight); });
    std::ranges::sort(profiles_, [&](const Profile& a, const Profile& b) {
      return a.total != b.total ? a.total > b.total : tree.name(a.thread) < tree.name(b.thread);
    });
  }

  std::string json(std::string_view title) const {
    std::string text = fmt::format(
        "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
        "\"exporter\":\"overdue {}\",\n\"name\":{},\n\"activeProfileIndex\":0,\n"
        "\"shared\":{{\"frames\":[",
        OVERDUE_VERSION, json_string(title));
    for (std::size_t i = 0; i < names_.size(); ++i)
      text += fmt::format("{}{{\"name\":{}}}", i > 0 ? ",\n" : "\n", json_string(names_[i]));
    text += "]},\n\"profiles\":[";
    for (const Profile& profile : profiles_) {
      text += fmt::format(
          "{}{{\"type\":\"sampled\",\"name\":{},\"unit\":\"{}\",\"startValue\":0,"
          "\"endValue\":{},\n\"samples\":[{}],\n\"weights\":[{}]}}",
          &profile == profiles_.data() ? "\n" : ",\n", json_string(name_of(profile)),
          unit_name(tree_.unit()), profile.total, profile.samples, profile.weights);
    }
    return text + "]}\n";
  }

 private:
  std::string_view name_of(const Profile& profile) const {
    if (profile.thread != StackTree::root) return tree_.name(profile.thread);
    return profiles_.size() == 1 ? "all threads" : "no thread";
  }

  void add(std::span<const StackTree::Id> path, std::uint64_t weight) {
    const bool has_thread = !path.empty() && tree_.node(path[0]).kind == FrameKind::thread;
    Profile& profile = profile_of(has_thread ? path[0] : StackTree::root);
    // A thread without frames is its own frame: an empty sample would not show.
    if (has_thread && path.size() > 1) path = path.subspan(1);
    if (!profile.weights.empty()) {
      profile.samples += ',';
      profile.weights += ',';
    }
    profile.samples += '[';
    for (const StackTree::Id& id : path)
      profile.samples += fmt::format("{}{}", &id == path.data() ? "" : ",", frame_of(id));
    profile.samples += ']';
    profile.weights += fmt::format("{}", weight);
    profile.total += weight;
  }

  Profile& profile_of(StackTree::Id thread) {
    const auto [place, is_new] = of_thread_.try_emplace(thread, profiles_.size());
    if (is_new) profiles_.push_back({.thread = thread});
    return profiles_[place->second];
  }

  std::size_t frame_of(StackTree::Id id) {
    const auto [place, is_new] = numbers_.try_emplace(tree_.name(id), names_.size());
    if (is_new) names_.push_back(tree_.name(id));
    return place->second;
  }

  const StackTree& tree_;
  std::vector<Profile> profiles_;
  std::map<StackTree::Id, std::size_t> of_thread_;  ///< index in profiles_
  std::vector<std::string_view> names_;
  std::map<std::string_view, std::size_t> numbers_;  ///< index in names_
};

}  // namespace

std::string speedscope_json(const StackTree& tree, std::string_view title) {
  return SpeedscopeExport(tree).json(title);
}

}  // namespace overdue
