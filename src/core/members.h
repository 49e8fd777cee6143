#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace overdue {

struct Finding;
struct StackFrame;

/// How a page for people shows a member; data do not depend on it.
enum class Look : std::uint8_t {
  plain,
  headline,  ///< a text: the first sentence of its part of the page
  parts,     ///< an object whose numbers add up: a bar
  command    ///< a text, or a list of texts, to be typed
};

/// What a member of a report means. The unit of a number stands at the end of its key.
struct About {
  std::string_view help = {};
  std::span<const std::string_view> choices = {};  ///< all values of a text; empty: any text
  bool is_escaped = false;  ///< of a text: it is printable already, backslashes are not doubled
  /// Of an object or a list, in a report for people: each member or element has its own line.
  bool below = false;
  std::string_view title = {};  ///< of a list or an object, above it on a page; empty: its key
  Look look = Look::plain;
  /// Of Look::parts: the member of the parts before whose own parts these are.
  std::string_view part_of = {};
  // The types of the members set the rest.
  bool is_optional = false;
  bool is_nullable = false;
  std::uint64_t max = std::numeric_limits<std::uint64_t>::max();  ///< of a number
};

/// A value that is always there, as null where it is not known.
template <typename T>
struct OrNull {
  using value_type = T;
  const T* value = nullptr;
};
template <typename T>
OrNull<T> or_null(const std::optional<T>& value) {
  return {value ? &*value : nullptr};
}
template <typename T>
OrNull<T> or_null(const T* value) {
  return {value};
}

/// `value` if `is_there`; otherwise the member is left out.
template <typename T>
std::optional<T> when(bool is_there, T value) {
  return is_there ? std::optional<T>(std::move(value)) : std::nullopt;
}

/// A bucket of a distribution; an array of three numbers in JSON.
struct Bucket {
  std::uint64_t low_ns = 0;
  std::optional<std::uint64_t> high_ns;  ///< exclusive; empty: no bound
  std::uint64_t count = 0;
};

/// Receives the members of a report, in order. One function for each type, `describe(member,
/// value)`, says what a value of the type is made of. JSON, CSV and the JSON Schema come from that
/// function, so they cannot disagree.
///
///     void describe(Members& member, const Part& part) {
///       member.type("part", "A share of a latency");
///       member("kind", part.kind, {.help = "of interference"});
///       member("ns", part.ns);
///     }
///
/// A member is a text, a number, a bool, an optional (the member may be missing), an OrNull, a
/// range, pairs of a text and a number (an object whose keys are data), a Bucket, or a value of a
/// type that has a describe().
class Members {
 public:
  Members() = default;
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  virtual ~Members() = default;

  /// Names the type of the object whose members follow. Types with a name stand once in a schema.
  virtual void type(std::string_view name, std::string_view help = {}) {
    (void)name;
    (void)help;
  }

  /// Whether types are described, not a value: then each optional member and one element of each
  /// list is given. A key that is given twice can have either type.
  virtual bool describes_types() const { return false; }

  /// Takes a finding or a frame as a whole, as people read one, in place of its members. Returns
  /// whether it does.
  virtual bool takes(const Finding& finding) {
    (void)finding;
    return false;
  }
  virtual bool takes(const StackFrame& frame) {
    (void)frame;
    return false;
  }

  template <typename T>
  void operator()(std::string_view key, const T& value, const About& about = {}) {
    if constexpr (requires { typename OptionalOf<T>::type; })
      optional(key, value, about);
    else if constexpr (requires { typename NullableOf<T>::type; })
      nullable(key, value, about);
    else if constexpr (std::same_as<T, bool>)
      flag(key, value, about);
    else if constexpr (std::integral<T>)
      integral(key, value, about);
    else if constexpr (std::floating_point<T>)
      ratio(key, value, about);
    else if constexpr (std::convertible_to<const T&, std::string_view>)
      text(key, value, about);
    else if constexpr (std::same_as<T, Bucket>)
      bucket(key, value, about);
    else if constexpr (is_map<T>)
      map(key, value, about);
    else if constexpr (std::ranges::range<T>)
      list(key, value, about);
    else
      object(key, [&] { describe(*this, value); }, about);
  }

  /// A list of objects whose members `describe_element(element)` gives.
  template <std::ranges::range Range, typename F>
    requires std::invocable<const F&, const std::ranges::range_value_t<Range>&>
  void list(std::string_view key, const Range& values, const F& describe_element,
            const About& about = {}) {
    const auto element = [&](const auto& value) { object("", [&] { describe_element(value); }); };
    begin_list(key, about);
    if (describes_types())
      element(std::remove_cv_t<std::ranges::range_value_t<Range>>{});
    else
      for (const auto& value : values) element(value);
    end_list(about);
  }

  /// A member that is left out unless `is_there`. Unlike when(), copies nothing.
  template <typename T>
  void given(bool is_there, std::string_view key, const T& value, const About& about = {}) {
    if (describes_types())
      (*this)(key, value, optional_of(about));
    else if (is_there)
      (*this)(key, value, about);
  }

  /// An object whose members `describe_members()` gives.
  template <std::invocable F>
  void object(std::string_view key, const F& describe_members, const About& about = {}) {
    begin_object(key, about);
    describe_members();
    end_object(about);
  }
  /// The same for an object that may be missing.
  template <std::invocable F>
  void object_if(bool is_there, std::string_view key, const F& describe_members,
                 const About& about = {}) {
    if (describes_types())
      object(key, describe_members, optional_of(about));
    else if (is_there)
      object(key, describe_members, about);
  }

 protected:
  virtual void text(std::string_view key, std::string_view value, const About& about) = 0;
  virtual void number(std::string_view key, std::uint64_t value, const About& about) = 0;
  virtual void integer(std::string_view key, std::int64_t value, const About& about) = 0;
  virtual void ratio(std::string_view key, double value, const About& about) = 0;
  virtual void flag(std::string_view key, bool value, const About& about) = 0;
  virtual void bucket(std::string_view key, const Bucket& value, const About& about) = 0;
  virtual void null(std::string_view key, const About& about) = 0;
  /// `key` is empty for an element of a list.
  virtual void begin_object(std::string_view key, const About& about) = 0;
  virtual void end_object(const About& about) = 0;
  virtual void begin_list(std::string_view key, const About& about) = 0;
  virtual void end_list(const About& about) = 0;
  /// Begins an object whose keys are data; end_object() ends it.
  virtual void begin_map(std::string_view key, const About& about) = 0;

 private:
  template <typename T>
  struct OptionalOf {};
  template <typename T>
  struct OptionalOf<std::optional<T>> {
    using type = T;
  };
  template <typename T>
  struct NullableOf {};
  template <typename T>
  struct NullableOf<OrNull<T>> {
    using type = T;
  };
  template <typename T>
  static constexpr bool is_map = requires(const T& pairs) {
    { std::ranges::begin(pairs)->first } -> std::convertible_to<std::string_view>;
    { std::ranges::begin(pairs)->second } -> std::convertible_to<std::uint64_t>;
  };

  // Only a description of types needs what is set below: a report is written without copies.
  static About optional_of(About about) {
    about.is_optional = true;
    return about;
  }
  static About nullable_of(About about) {
    about.is_nullable = true;
    return about;
  }
  static About limited_of(About about, std::uint64_t max) {
    about.max = max;
    return about;
  }

  template <typename T>
  void optional(std::string_view key, const std::optional<T>& value, const About& about) {
    if (describes_types())
      (*this)(key, value ? *value : T{}, optional_of(about));
    else if (value)
      (*this)(key, *value, about);
  }
  template <typename T>
  void nullable(std::string_view key, const OrNull<T>& or_null, const About& about) {
    if (describes_types())
      (*this)(key, or_null.value ? *or_null.value : T{}, nullable_of(about));
    else if (or_null.value)
      (*this)(key, *or_null.value, about);
    else
      null(key, about);
  }
  template <std::integral T>
  void integral(std::string_view key, T value, const About& about) {
    if (describes_types())
      whole(key, value,
            limited_of(about, static_cast<std::uint64_t>(std::numeric_limits<T>::max())));
    else
      whole(key, value, about);
  }
  template <std::integral T>
  void whole(std::string_view key, T value, const About& about) {
    if constexpr (std::is_signed_v<T>)
      integer(key, value, about);
    else
      number(key, value, about);
  }
  template <typename T>
  void map(std::string_view key, const T& pairs, const About& about) {
    begin_map(key, about);
    for (const auto& [name, value] : pairs) (*this)(name, value);
    if (describes_types()) (*this)("", typename std::ranges::range_value_t<T>::second_type{});
    end_object(about);
  }
  template <typename T>
  void list(std::string_view key, const T& values, const About& about) {
    begin_list(key, about);
    if (describes_types()) {
      (*this)("", std::remove_cv_t<std::ranges::range_value_t<T>>{}, {.choices = about.choices});
    } else {
      for (const auto& value : values) (*this)("", value);
    }
    end_list(about);
  }
};

}  // namespace overdue
