# What most units of the layers include: reading these headers took a unit 1.5 s and more.
set(layer_headers <algorithm> <array> <charconv> <cstdint> <filesystem> <fmt/format.h> <fmt/ranges.h> <fstream>
  <functional> <map> <memory> <optional> <set> <span> <string> <string_view> <thread> <tuple> <unordered_map> <utility>
  <vector>)
# For code that runs once in a session: small, so that the portable program stays below 12 MB.
set(small_options $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo>>:-Os>)

# layer(<name> SOURCES … [LINK …]): one static library per folder of src/. tests/layers_test.py
# checks the includes of a layer; LINK names the libraries that it may link.
function(layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC external_fmt ${arg_LINK} PRIVATE ${arg_PRIVATE_LINK})
  overdue_warnings(${name})
  use_shared_headers(${name} layer_headers)
endfunction()

function(small_code target)
  target_compile_options(${target} PRIVATE ${small_options})
  use_shared_headers(${target} small_headers)
endfunction()

# The warnings for every target of ours; OVERDUE_WERROR makes them errors.
function(overdue_warnings target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor -Wundef>)
  if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ takes an included file for a header. Preset `dev` compiles each by itself, and warns.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
endfunction()

shared_headers(layer_headers HEADERS ${layer_headers})
shared_headers(small_headers HEADERS ${layer_headers} OPTIONS ${small_options})
