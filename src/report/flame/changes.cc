#include "report/flame/changes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/share.h"
#include "base/text.h"
#include "sinks/json_members.h"

namespace overdue {
namespace {

constexpr std::array<std::string_view, 3> units{"samples", "microseconds", "bytes"};
constexpr std::array<std::string_view, frame_kinds> frame_kind_names{
    "thread", "user", "system call", "kernel", "unknown", "waiting"};

/// Sums the weights of each function in a tree.
class FunctionSums {
 public:
  explicit FunctionSums(const StackTree& tree) : tree_(tree) {
    // A node without children pending ends the function: the second visit.
    std::vector<std::pair<StackTree::Id, bool>> open{{StackTree::root, false}};
    while (!open.empty()) {
      const auto [id, is_end] = open.back();
      open.pop_back();
      if (is_end) {
        --find(id).depth;
        continue;
      }
      const StackTree::Node& node = tree.node(id);
      std::uint64_t before_self = node.before;
      if (is_function(id)) open.emplace_back(id, true);
      for (StackTree::Id at = node.first_child; at != 0; at = tree.node(at).next_sibling) {
        before_self -= tree.node(at).before;
        open.emplace_back(at, false);
      }
      if (is_function(id)) add(id, before_self);
    }
  }

  std::vector<FunctionChange> changes() const {
    const std::uint64_t after = tree_.total(), before = tree_.node(StackTree::root).before;
    std::vector<FunctionChange> result;
    for (const auto& [key, sum] : sums_) {
      FunctionChange made{.name = std::string(key.first),
                          .kind = key.second,
                          .before = sum.before,
                          .after = sum.after};
      made.change = share_of(sum.after.all, after) - share_of(sum.before.all, before);
      made.self_change = share_of(sum.after.self, after) - share_of(sum.before.self, before);
      // Below the precision of the shares.
      if (std::max(std::abs(made.change), std::abs(made.self_change)) > 1e-12)
        result.push_back(std::move(made));
    }
    std::ranges::sort(result, {}, [](const FunctionChange& change) {
      return std::tuple(-std::abs(change.change), -std::abs(change.self_change),
                        std::string_view(change.name), change.kind);
    });
    return result;
  }

 private:
  struct Sum {
    FunctionWeight before, after;
    std::uint32_t depth = 0;  ///< nodes of this function on the way to the root
  };

  /// Threads are no functions, nor is the "(other)" of the tree's limits.
  bool is_function(StackTree::Id id) const {
    return id != StackTree::root && tree_.node(id).kind != FrameKind::thread &&
           !tree_.node(id).merged;
  }

  Sum& find(StackTree::Id id) { return sums_[{tree_.name(id), tree_.node(id).kind}]; }

  void add(StackTree::Id id, std::uint64_t before_self) {
    const StackTree::Node& node = tree_.node(id);
    Sum& sum = find(id);
    sum.after.self += node.self;
    sum.before.self += before_self;
    if (sum.depth++ > 0) return;
    sum.after.all += node.weight;
    sum.before.all += node.before;
  }

  const StackTree& tree_;
  std::map<std::pair<std::string_view, FrameKind>, Sum> sums_;
};

std::string points(double change) {
  return fmt::format("{:+.2f}", 100 * change);
}

std::string row(const FlameChanges& changes, const FunctionChange& function) {
  std::string name = printable(function.name);
  if (function.kind != FrameKind::user)
    name += fmt::format(" ({})", frame_kind_name(function.kind));
  return fmt::format("{:>8}{:>8}{:>9}{:>9}  {}\n",
                     format_share(function.before.all, changes.total_before),
                     format_share(function.after.all, changes.total), points(function.change),
                     points(function.self_change), name);
}

}  // namespace

FlameChanges flame_changes(const StackTree& tree, std::size_t top) {
  FlameChanges changes{.files = {},
                       .compared_with = {},
                       .unit = tree.unit(),
                       .total = tree.total(),
                       .total_before = tree.node(StackTree::root).before,
                       .functions = FunctionSums(tree).changes(),
                       .receipt = limit_notes(tree)};
  if (top == 0 || top >= changes.functions.size()) return changes;
  changes.more = changes.functions.size() - top;
  changes.functions.resize(top);
  return changes;
}

void describe(Members& member, const FunctionChange& function) {
  member.type("function_change", "How far the shares of a function have moved");
  member("name", function.name);
  member("kind", frame_kind_name(function.kind), {.choices = frame_kind_names});
  member("before_weight", function.before.all,
         {.help = "of the earlier stacks through the function; recursion counts once"});
  member("weight", function.after.all, {.help = "likewise of the new stacks"});
  member("change", function.change,
         {.help = "share of weight in the total, less the earlier share: -1 to 1"});
  member("before_self_weight", function.before.self,
         {.help = "of the earlier stacks that end in the function"});
  member("self_weight", function.after.self, {.help = "likewise of the new stacks"});
  member("self_change", function.self_change, {.help = "as change, of the stacks that end there"});
}

void describe(Members& member, const FlameChanges& changes) {
  member("overdue", std::string_view(OVERDUE_VERSION), {.help = "version of Overdue"});
  member("schema", 1U, {.help = "version of this schema"});
  member("command", std::string_view("flame"));
  member("files", changes.files);
  member("compared_with", changes.compared_with, {.help = "file of the earlier stacks"});
  member("unit", units[static_cast<std::size_t>(changes.unit)],
         {.help = "of all weights", .choices = units});
  member("before_weight", changes.total_before, {.help = "of all earlier stacks"});
  member("weight", changes.total, {.help = "of all new stacks"});
  member("functions", changes.functions,
         {.help = "whose shares have moved, the largest change first", .below = true});
  member("functions_omitted", changes.more, {.help = "with smaller changes, by --top"});
  member("notes", changes.receipt, {.help = "what was read and what was left out", .below = true});
}

std::string to_json(const FlameChanges& changes) {
  return json_document([&](Members& member) { describe(member, changes); });
}

std::string to_text(const FlameChanges& changes) {
  std::string text =
      fmt::format("overdue {} flame: {} compared with {}\n{}; before: {}\n\n", OVERDUE_VERSION,
                  printable(changes.files), printable(changes.compared_with),
                  format_weight(changes.total, changes.unit),
                  format_weight(changes.total_before, changes.unit));
  if (changes.functions.empty())
    text += "no function's share has moved\n";
  else
    text += "  BEFORE   AFTER   CHANGE     SELF  FUNCTION\n";
  for (const FunctionChange& function : changes.functions) text += row(changes, function);
  if (changes.more > 0)
    text += fmt::format("{} with smaller changes not shown\n",
                        format_counted(changes.more, "function"));
  text += '\n';
  for (const std::string& line : changes.receipt) text += printable(line) + '\n';
  return text;
}

}  // namespace overdue
