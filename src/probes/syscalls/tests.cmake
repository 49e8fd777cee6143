# Tests of system call names, classes, signatures and arguments.
overdue_test(syscall_names_test LABEL unit SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/names_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/classes_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/signatures_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/arguments_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/arguments_files_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/arguments_calls_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/arguments_symbols_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/errno_names_test.cc
  LINK probes)

# Need the tracepoints of the running kernel.
overdue_test(syscall_names_kernel_test LABEL kernel SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/names_kernel_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/signatures_kernel_test.cc
  LINK probes)

# Needs strace and ptrace(2).
overdue_test(syscall_classes_strace_test LABEL unit SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/classes_strace_test.cc
  LINK probes)
if(BUILD_TESTING)
  add_executable(syscall_census ${CMAKE_CURRENT_LIST_DIR}/classes_census.cc)
  overdue_warnings(syscall_census)
  # A sanitizer's handler of the final trap would want to exit, which the census no longer can.
  target_compile_options(syscall_census PRIVATE -fno-sanitize=all)
  target_link_options(syscall_census PRIVATE -fno-sanitize=all)
  add_dependencies(syscall_classes_strace_test syscall_census)
  target_compile_definitions(syscall_classes_strace_test PRIVATE
    SYSCALL_CENSUS="$<TARGET_FILE:syscall_census>")
endif()

# Compiles a list of macros; a test of data, hence a script.
if(BUILD_TESTING)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_test(NAME syscall_symbols_test
    COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/arguments_symbols_test.py)
  set_tests_properties(syscall_symbols_test PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
endif()

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

# g++ 12 finds its own <regex> suspicious when sanitizers are on.
set_source_files_properties(syscalls/names_test.cc syscalls/signatures_kernel_test.cc
  PROPERTIES COMPILE_OPTIONS "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>")
