# Runs at build time (cmake -P). A raw string literal holds the text. The standard limits its length
# to 64 KiB, far above any of our pages.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "#include <string_view>

namespace overdue {
extern const std::string_view ${SYMBOL};
const std::string_view ${SYMBOL} = R\"embedded(${text})embedded\";
}  // namespace overdue
")
