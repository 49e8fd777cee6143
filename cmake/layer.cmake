# layer(<name> SOURCES … [LINK …]): one static library per folder of src/. tests/layers_test.py
# checks the includes of a layer; LINK names the libraries that it may link.
function(layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC external_fmt ${arg_LINK} PRIVATE ${arg_PRIVATE_LINK})
  overdue_warnings(${name})
endfunction()

# For code that runs once in a session: small, so that the portable program stays below 12 MB.
function(small_code target)
  target_compile_options(${target} PRIVATE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo>>:-Os>)
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
