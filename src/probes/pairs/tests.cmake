# Tests of user-defined spans.
overdue_test(pairs_test LABEL unit SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/spec_test.cc LINK probes)
