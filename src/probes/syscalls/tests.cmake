# Tests of the probe and of the table of its figures.
overdue_test(syscall_table_test LABEL unit SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/table_test.cc ${CMAKE_CURRENT_LIST_DIR}/table_bounds_test.cc LINK probes)
overdue_test(syscall_probe_test LABEL kernel SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/probe_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/probe_lifecycle_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/probe_two_phase_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/probe_records_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/probe_open_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/probe_refused_test.cc
  LINK probes target)
