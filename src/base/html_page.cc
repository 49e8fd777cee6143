#include "base/html_page.h"

#include <cstdint>

#include <fmt/format.h>

#include "base/xml_text.h"

namespace overdue {
namespace {

std::uint32_t digit_value(char digit) {
  return static_cast<std::uint32_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

}  // namespace

std::string html_page_begin(const HtmlHead& head) {
  return fmt::format(
      "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
      "<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src {}; style-src {}; base-uri 'none'; form-action 'none'\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{}</title>\n"
      "<style>{}</style>\n</head>\n<body>\n",
      head.scripts_allowed, head.styles_allowed, xml_escaped(visible(head.title)), head.style);
}

std::string_view html_page_end() {
  return "</body>\n</html>\n";
}

std::string csp_hash(std::string_view sha256) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::size_t digits = 64;
  std::string text = "'sha256-";
  // Three hexadecimal digits are two letters; the last digit of 64 is alone.
  for (std::size_t i = 0; i < digits && sha256.size() == digits; i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t j = i; j < i + 3; ++j)
      bits = bits << 4 | (j < digits ? digit_value(sha256[j]) : 0);
    text += letters[bits >> 6];
    if (i + 1 < digits) text += letters[bits & 0x3f];
  }
  return text + "='";
}

}  // namespace overdue
