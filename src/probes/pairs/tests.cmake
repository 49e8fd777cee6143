# Tests of user-defined spans.
overdue_test(pairs_test LABEL unit SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/spec_test.cc ${CMAKE_CURRENT_LIST_DIR}/compile_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/usdt_arguments_test.cc LINK probes)
overdue_test(pairs_probe_test LABEL kernel SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/probe_test.cc ${CMAKE_CURRENT_LIST_DIR}/probe_rules_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/probe_user_test.cc LINK probes)
if(BUILD_TESTING)
  # The same in every preset: instrumented it would be another program.
  set(fixture ${CMAKE_CURRENT_BINARY_DIR}/pairs_fixture)
  set(sources ${CMAKE_CURRENT_LIST_DIR}/fixtures/calls.c ${CMAKE_CURRENT_LIST_DIR}/fixtures/guarded.c)
  add_custom_command(OUTPUT ${fixture}
    COMMAND ${CMAKE_C_COMPILER} -O2 -g ${sources} -o ${fixture}
    DEPENDS ${sources}
    VERBATIM)
  add_custom_target(build_pairs_fixture DEPENDS ${fixture})
  add_dependencies(pairs_probe_test build_pairs_fixture)
  target_compile_definitions(pairs_probe_test PRIVATE PAIRS_FIXTURE="${fixture}")
endif()
