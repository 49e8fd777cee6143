# Unit tests, and the programs whose stacks they unwind. Those are compiled the same way in every preset.
if(NOT BUILD_TESTING OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  return()
endif()

set(fixtures ${CMAKE_CURRENT_BINARY_DIR}/fixtures)
set(fixture_source ${CMAKE_CURRENT_SOURCE_DIR}/fixtures)
set(fixture_files)
file(MAKE_DIRECTORY ${fixtures})

# unwind_fixture(<name> <source> <compiler> OPTION…)
function(unwind_fixture name source compiler)
  add_custom_command(
    OUTPUT ${fixtures}/${name}
    COMMAND ${compiler} -O2 -fomit-frame-pointer -fno-optimize-sibling-calls ${fixture_source}/${source}
            -o ${fixtures}/${name} ${ARGN}
    DEPENDS ${fixture_source}/${source} ${fixture_needs}
    VERBATIM)
  set(fixture_files ${fixture_files} ${fixtures}/${name} PARENT_SCOPE)
endfunction()
unwind_fixture(stacks stacks.cc ${CMAKE_CXX_COMPILER} -pie -fPIE -pthread -ldl)
unwind_fixture(stacks_lines stacks.cc ${CMAKE_CXX_COMPILER} -pie -fPIE -pthread -ldl -g -gz=none)
unwind_fixture(stacks_lazy stacks.cc ${CMAKE_CXX_COMPILER} -no-pie -pthread -ldl -Wl,-z,lazy)
unwind_fixture(stacks_static stacks.cc ${CMAKE_CXX_COMPILER} -static-pie -pthread -DIS_STATIC)
unwind_fixture(stacks_no_header stacks.cc ${CMAKE_CXX_COMPILER} -pie -fPIE -pthread -ldl -Wl,--no-eh-frame-hdr)
unwind_fixture(pointers pointers.c ${CMAKE_C_COMPILER} -pie -fPIE -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer
               -fno-asynchronous-unwind-tables)
unwind_fixture(goroutine goroutine.c ${CMAKE_C_COMPILER} -pie -fPIE -fno-omit-frame-pointer
               -mno-omit-leaf-frame-pointer -fno-asynchronous-unwind-tables)
unwind_fixture(debug_frame pointers.c ${CMAKE_C_COMPILER} -pie -fPIE -g -gz=none -fno-asynchronous-unwind-tables)
unwind_fixture(plugin.so plugin.c ${CMAKE_C_COMPILER} -shared -fPIC)
unwind_fixture(libjumps.so jumps.c ${CMAKE_C_COMPILER} -shared -fPIC -s -foptimize-sibling-calls)
set(fixture_needs ${fixtures}/libjumps.so)
unwind_fixture(jumps jumps_main.c ${CMAKE_C_COMPILER} -pie -fPIE ${fixtures}/libjumps.so -Wl,-rpath,${fixtures})
unset(fixture_needs)
add_custom_target(unwind_fixtures DEPENDS ${fixture_files})

overdue_test(unwind_test LABEL unit TIMEOUT 300
  SOURCES cfi_table_test.cc java_test.cc live_test.cc span_test.cc stacks_test.cc
  LINK unwind)
# Every row of large libraries: a minute and more with sanitizers, so tools/check leaves it out there.
overdue_test(cfi_oracle_test LABEL unit TIMEOUT 300 SOURCES cfi_oracle_test.cc LINK unwind)
foreach(test unwind_test cfi_oracle_test)
  target_compile_definitions(${test} PRIVATE
    OVERDUE_UNWIND_FIXTURES="${fixtures}" OVERDUE_UNWIND_FIXTURE_SOURCE="${fixture_source}")
  add_dependencies(${test} unwind_fixtures)
endforeach()
