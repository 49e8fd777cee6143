#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/pairs/expression.h"

namespace overdue {

/// The event that a user span begins or ends with.
struct EventSpec {
  enum class Kind { tracepoint, uprobe, uretprobe, usdt, fentry, fexit };
  Kind kind = Kind::tracepoint;
  std::string scope = {};   ///< tracepoint: its system; user events: the path, or a program's name
  std::string name = {};    ///< tracepoint, function, or USDT probe
  std::string vendor = {};  ///< of a USDT probe: its provider
  std::size_t at = 0;       ///< position in the text

  bool is_user() const {
    return kind == Kind::uprobe || kind == Kind::uretprobe || kind == Kind::usdt;
  }
  /// As the user writes it.
  std::string text() const;
};

/// One side of a span: an event, and what is computed from it.
struct SideSpec {
  EventSpec event;
  std::vector<Expression> key;  ///< one or two
  std::optional<Expression> filter;
};

/// `NAME=begin:EVENT,end:EVENT,key:EXPR[;EXPR][,filter:EXPR][,end-key:…][,end-filter:…]`, in any
/// order; the language is described in docs/spans.md.
struct PairSpec {
  std::string name;
  std::string text;  ///< the whole text, for messages
  SideSpec begin, end;
};

/// Throws Error (exit status 2) with the position of the mistake and a correction. Does not use the
/// kernel.
PairSpec parse_pair(std::string_view text);

}  // namespace overdue
