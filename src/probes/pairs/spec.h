#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/pairs/expression.h"

namespace overdue {

struct UserFile;

/// The event that a user span begins or ends with.
struct EventSpec {
  enum class Kind { tracepoint, uprobe, uretprobe, usdt, fentry, fexit };
  Kind kind = Kind::tracepoint;
  /// Tracepoint: its system. User events: the path, a program's name, or `@GLOB`, the files that
  /// the target has mapped (live/mapped_files.h replaces these events).
  std::string scope = {};
  std::string name = {};                      ///< tracepoint, function, or USDT probe
  std::string vendor = {};                    ///< of a USDT probe: its provider
  std::size_t at = 0;                         ///< position in the text
  std::shared_ptr<const UserFile> file = {};  ///< user events: the file, if it is open already

  bool is_user() const {
    return kind == Kind::uprobe || kind == Kind::uretprobe || kind == Kind::usdt;
  }
  /// Whether the file depends on the target: `@GLOB`.
  bool is_of_mapped_file() const { return is_user() && scope.starts_with('@') && !file; }
  /// As the user writes it.
  std::string text() const;
};

/// One side of a span: its events, and what is computed from each.
struct SideSpec {
  std::vector<EventSpec> events;  ///< alternatives, at least one
  std::vector<Expression> key;    ///< one or two
  std::optional<Expression> filter;
};

/// `NAME=begin:EVENT,end:EVENT,key:EXPR[;EXPR][,filter:EXPR][,end-key:…][,end-filter:…]` and more,
/// in any order; the language is described in docs/spans.md.
struct PairSpec {
  std::string name;
  std::string text;  ///< the whole text, for messages
  SideSpec begin, end;
  std::vector<SideSpec> drops = {};  ///< each ends the span without a result
  bool keeps_first = false;          ///< of several begins in a row the first counts, not the last
  bool is_of_ender = false;  ///< the span belongs to the thread that ends it, not to who begins it
  bool ends_inside = false;  ///< only threads of the target end the span
  /// The span lasts until its last end before the next begin with its key, or before a drop, which
  /// then ends the span with a result.
  bool ends_last = false;
  /// Overdue's own definition: events that this machine does not have are left out as long as
  /// others remain, and the key is not shown.
  bool is_ready_made = false;

  /// The sides that there are.
  std::vector<const SideSpec*> sides() const;
};

/// Throws Error (exit status 2) with the position of the mistake and a correction. Does not use the
/// kernel.
PairSpec parse_pair(std::string_view text);

}  // namespace overdue
