# Runs at build time (cmake -P). A raw string literal holds the text. The standard limits its length
# to 64 KiB, far above any of our pages.
file(READ ${INPUT} text)
file(SHA256 ${INPUT} sha256)
file(WRITE ${OUTPUT} "#include <string_view>

namespace overdue {
extern const std::string_view ${SYMBOL}, ${SYMBOL}_sha256;
const std::string_view ${SYMBOL} = R\"embedded(${text})embedded\";
const std::string_view ${SYMBOL}_sha256 = \"${sha256}\";
}  // namespace overdue
")
