# overdue_test(<name> LABEL unit|golden|kernel|… SOURCES … [LINK …]): one GoogleTest binary and one ctest entry.
# Kernel tests need root.
find_package(GTest REQUIRED)
set(OVERDUE_TEST_OPTIONS "" CACHE STRING "Compile options of tests alone")

# Links in a quarter of the time. Programs that users get are linked by the compiler's own linker.
find_program(TEST_LINKER ld.lld)
function(link_quickly name)
  if(TEST_LINKER)
    target_link_options(${name} PRIVATE -fuse-ld=lld)
  endif()
endfunction()

# Kernel tests run one at a time, because they share one kernel. Other tests run beside them, except
# those of which three may run at once, because they measure no time: each takes a third of the
# kernel. tests/one_kernel.json has the thirds; ctest(1) reads it for a preset, so that without a
# preset tests must run one at a time. The longest test begins first.
function(takes_the_kernel name)
  set_tests_properties(${name} PROPERTIES RESOURCE_GROUPS kernel_thirds:3 COST 1000)
endfunction()
function(takes_a_third_of_the_kernel name)
  set_tests_properties(${name} PROPERTIES RESOURCE_GROUPS kernel_thirds:1)
endfunction()

if(BUILD_TESTING)
  shared_headers(test_headers FOR_PROGRAMS LINK GTest::gtest GTest::gmock OPTIONS ${OVERDUE_TEST_OPTIONS}
    HEADERS <gmock/gmock.h> <gtest/gtest.h> ${layer_headers})
endif()

function(overdue_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;LINK" ${ARGN})
  if(NOT BUILD_TESTING)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} external_fmt GTest::gtest GTest::gmock GTest::gtest_main)
  overdue_warnings(${name})
  link_quickly(${name})
  target_compile_options(${name} PRIVATE ${OVERDUE_TEST_OPTIONS})
  use_shared_headers(${name} test_headers)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 400)  # ends what hangs; an emulated guest is slow
  endif()
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "OVERDUE=$<TARGET_FILE:overdue>;OVERDUE_SOURCE=${PROJECT_SOURCE_DIR}")
  if(arg_LABEL STREQUAL "kernel")
    takes_the_kernel(${name})
  endif()
endfunction()
