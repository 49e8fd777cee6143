# Runs at build time (cmake -P). A raw string literal holds the text; its length is limited to 64 KiB by
# the standard, which no page of ours comes near.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "#include <string_view>

namespace overdue {
extern const std::string_view ${SYMBOL};
const std::string_view ${SYMBOL} = R\"embedded(${text})embedded\";
}  // namespace overdue
")
