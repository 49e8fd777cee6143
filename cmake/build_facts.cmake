# Runs at each build (cmake -P): rewrites OUTPUT if the commit or a version has changed. A tree
# without git has no commit.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit ERROR_QUIET
                OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
if(NOT commit)
  set(commit unknown)
elseif(changes)
  string(APPEND commit ", with changes")
endif()
set(text "constexpr const char* build_commit = \"${commit}\";
constexpr const char* build_libbpf = \"${LIBBPF}\";
constexpr const char* build_libdw = \"${LIBDW}\";
constexpr const char* build_compiler = \"${COMPILER}\";
constexpr const char* build_bpf_compiler = \"${BPF_COMPILER}\";
constexpr const char* build_type = \"${TYPE}\";
constexpr const char* build_features = \"${FEATURES}\";
")
set(old)
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${OUTPUT} "${text}")
endif()
