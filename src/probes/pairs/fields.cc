#include "probes/pairs/fields.h"

#include <asm/ptrace.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>

#include "base/text.h"

namespace overdue {
namespace {

constexpr Type register_type{.kind = Type::Kind::number, .size = 8, .is_signed = false};

/// What follows `name` up to a semicolon, as in "offset:8;".
std::string_view value_of(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + name.size());
  return rest.substr(0, rest.find(';'));
}

std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// One line "field:char comm[16]; offset:8; size:16; signed:0;".
std::optional<EventField> field_of_line(std::string_view line, plan_memory pointers) {
  std::string_view declaration = trimmed(value_of(line, "field:"));
  const auto offset = number_of(value_of(line, "offset:"));
  const auto size = number_of(value_of(line, "size:"));
  if (declaration.empty() || !offset || !size || *size > 65535 || *offset > 65535)
    return std::nullopt;
  EventField field{.name = {}, .type = {.size = *size}, .where = *offset};
  const bool dynamic = declaration.starts_with("__data_loc ");
  const bool array = declaration.ends_with(']');
  if (array) declaration = declaration.substr(0, declaration.rfind('['));
  // "__data_loc char[] name" has its brackets before the name.
  const std::size_t name_at = declaration.find_last_of(" *]");
  if (name_at == std::string_view::npos) return std::nullopt;
  field.name = declaration.substr(name_at + 1);
  const std::string_view type = trimmed(declaration.substr(0, name_at + 1));
  const bool text = type.find("char") != std::string_view::npos || type.ends_with("u8[]");
  field.type.is_signed = value_of(line, "signed:") == "1";
  if (dynamic || array) {
    field.type.kind = Type::Kind::array;
    field.type.is_text = text && type.find('*') == std::string_view::npos;
  } else if (type.ends_with('*')) {
    field.type.kind = Type::Kind::pointer;
    field.type.is_text = text;
    field.type.memory = pointers;
  } else if (*size != 1 && *size != 2 && *size != 4 && *size != 8) {
    field.type.kind = Type::Kind::other;
  }
  if (dynamic) {
    field.type.size = 0;
    field.source = EventField::Source::dynamic;
  }
  return field;
}

bool has_names(const Expression& expression, const EventFields& fields, const KernelTypes& types) {
  const auto is_known = [&](const std::string& word) {
    return std::find(builtin_fields.begin(), builtin_fields.end(), word) != builtin_fields.end() ||
           fields.find(word) || types.constant(word).has_value();
  };
  if (expression.kind == Expression::Kind::name) return is_known(expression.word);
  if (expression.kind == Expression::Kind::member &&
      expression.parts[0].kind == Expression::Kind::name && expression.parts[0].word == "event" &&
      !fields.find("event"))
    return fields.find(expression.word) != nullptr;
  return std::all_of(expression.parts.begin(), expression.parts.end(),
                     [&](const Expression& part) { return has_names(part, fields, types); });
}

}  // namespace

const EventField* EventFields::find(std::string_view name) const {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const EventField& field) { return field.name == name; });
  return found == all.end() ? nullptr : &*found;
}

EventFields fields_of(const std::vector<KernelTypes::Parameter>& parameters) {
  EventFields fields;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    fields.all.push_back({.name = parameters[i].name, .type = parameters[i].type, .where = 8 * i});
  return fields;
}

EventFields fields_at_begin(std::vector<KernelTypes::Parameter> parameters) {
  if (!parameters.empty()) parameters.pop_back();
  EventFields fields = fields_of(parameters);
  fields.missing = "the result is known at its fexit only";
  return fields;
}

EventFields fields_of_format(std::string_view text, plan_memory pointers) {
  EventFields fields;
  for (const std::string_view line : split(text, '\n'))
    if (const auto field = field_of_line(line, pointers))
      if (!field->name.starts_with("common_")) fields.all.push_back(*field);
  return fields;
}

EventFields user_fields(EventSpec::Kind kind, std::vector<UsdtArgument> arguments) {
  EventFields fields{.memory = PLAN_USER, .is_untyped = true};
  const auto add = [&](std::string name, std::size_t offset, bool is_signed = false) {
    Type type = register_type;
    type.is_signed = is_signed;
    fields.all.push_back({.name = std::move(name), .type = type, .where = offset});
  };
  if (kind == EventSpec::Kind::usdt) {
    for (std::size_t i = 0; i < arguments.size(); ++i)
      fields.all.push_back({.name = fmt::format("arg{}", i),
                            .type = {.is_signed = true},
                            .source = EventField::Source::usdt_argument,
                            .argument = arguments[i]});
  } else if (kind == EventSpec::Kind::uretprobe) {
    add("ret", offsetof(pt_regs, rax), true);
    fields.missing =
        "a function's arguments are gone when it returns: keep to `ret`, or tell the "
        "call by `tid; sp`";
  } else {
    constexpr std::array<std::size_t, 6> registers{offsetof(pt_regs, rdi), offsetof(pt_regs, rsi),
                                                   offsetof(pt_regs, rdx), offsetof(pt_regs, rcx),
                                                   offsetof(pt_regs, r8),  offsetof(pt_regs, r9)};
    for (std::size_t i = 0; i < registers.size(); ++i) add(fmt::format("arg{}", i), registers[i]);
    fields.missing = "the result is known at its uretprobe only";
  }
  add("sp", offsetof(pt_regs, rsp));
  add("ip", offsetof(pt_regs, rip));
  return fields;
}

bool has_all_names(const SideSpec& side, const EventFields& fields, const KernelTypes& types) {
  return std::all_of(side.key.begin(), side.key.end(),
                     [&](const Expression& key) { return has_names(key, fields, types); }) &&
         (!side.filter || has_names(*side.filter, fields, types));
}

}  // namespace overdue
