# overdue_test(<name> LABEL unit|golden|kernel|… SOURCES … [LINK …]): one GoogleTest binary and one ctest entry.
# Kernel tests need root and run alone: they share one kernel.
find_package(GTest REQUIRED)

function(overdue_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;LINK" ${ARGN})
  if(NOT BUILD_TESTING)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gtest GTest::gmock GTest::gtest_main)
  overdue_warnings(${name})
  add_test(NAME ${name} COMMAND ${name})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "OVERDUE=$<TARGET_FILE:overdue>;OVERDUE_SOURCE=${PROJECT_SOURCE_DIR}")
  if(arg_LABEL STREQUAL "kernel")
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()
