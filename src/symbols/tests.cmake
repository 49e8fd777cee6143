# Unit tests, and the programs that they look into. Those are compiled the same way in every preset: with
# sanitizers or a debug build they would be other programs.
if(NOT BUILD_TESTING)
  return()
endif()

set(fixtures ${CMAKE_CURRENT_BINARY_DIR}/fixtures)
set(fixture_source ${CMAKE_CURRENT_SOURCE_DIR}/fixtures)
set(fixture_files)
file(MAKE_DIRECTORY ${fixtures})

# symbol_fixture(<name> <source> <compiler> OPTION…)
function(symbol_fixture name source compiler)
  add_custom_command(
    OUTPUT ${fixtures}/${name}
    COMMAND ${compiler} -O2 -g -Wl,--build-id=sha1 ${ARGN} ${fixture_source}/${source} -o ${fixtures}/${name}
    DEPENDS ${fixture_source}/${source}
    VERBATIM)
  set(fixture_files ${fixture_files} ${fixtures}/${name} PARENT_SCOPE)
endfunction()

symbol_fixture(pie functions.c ${CMAKE_C_COMPILER} -pie -fPIE)
symbol_fixture(static functions.c ${CMAKE_C_COMPILER} -static)
symbol_fixture(moved functions.c ${CMAKE_C_COMPILER} -pie -fPIE -Wl,-Ttext-segment=0x40000000)
symbol_fixture(lazy functions.c ${CMAKE_C_COMPILER} -no-pie -Wl,-z,lazy)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)  # stubs behind endbr64, in .plt.sec
  symbol_fixture(ibt functions.c ${CMAKE_C_COMPILER} -pie -fPIE -fcf-protection=full -Wl,-z,ibtplt)
endif()
symbol_fixture(names names.cc ${CMAKE_CXX_COMPILER})
symbol_fixture(lines lines.cc ${CMAKE_CXX_COMPILER} -pie -fPIE -gz=none)
symbol_fixture(lines_4 lines.cc ${CMAKE_CXX_COMPILER} -no-pie -gdwarf-4 -gz=none)
symbol_fixture(lines_packed lines.cc ${CMAKE_CXX_COMPILER} -pie -fPIE -gz=zlib)
symbol_fixture(tiny tiny.c ${CMAKE_C_COMPILER} -nostdlib -static -ffreestanding -fno-stack-protector -g0
               -Wl,-z,noseparate-code)

# 32-bit headers; on machines that can.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_FLAGS "-m32 -nostdlib -static -ffreestanding -fno-pie -fno-stack-protector")
set(CMAKE_TRY_COMPILE_CONFIGURATION Release)
check_c_source_compiles("void _start(void); void _start(void) { for (;;); } " OVERDUE_CAN_BUILD_32BIT)
unset(CMAKE_REQUIRED_FLAGS)
if(OVERDUE_CAN_BUILD_32BIT)
  symbol_fixture(tiny32 tiny.c ${CMAKE_C_COMPILER}
                 -m32 -nostdlib -static -ffreestanding -fno-pie -fno-stack-protector -g0 -Wl,-z,noseparate-code)
endif()

function(separate_fixture name program)
  add_custom_command(
    OUTPUT ${fixtures}/${name}/debugdata
    COMMAND ${fixture_source}/separate ${CMAKE_OBJCOPY} ${fixtures}/${program} ${fixtures}/${name}
    DEPENDS ${fixtures}/${program} ${fixture_source}/separate
    VERBATIM)
  set(fixture_files ${fixture_files} ${fixtures}/${name}/debugdata PARENT_SCOPE)
endfunction()
separate_fixture(separate pie)
separate_fixture(separate_tiny tiny)
separate_fixture(separate_lines lines)
add_custom_target(symbols_fixtures DEPENDS ${fixture_files})

overdue_test(symbols_test LABEL unit TIMEOUT 300
  SOURCES
    damage_test.cc debug_file_test.cc demangle_test.cc elf_events_test.cc elf_image_test.cc elf_symbols_test.cc elf_values_test.cc kernel_symbols_test.cc
    lines_test.cc oracle_test.cc
    perf_map_test.cc process_maps_test.cc symbol_table_test.cc symbolizer_test.cc
  LINK symbols)
target_compile_definitions(symbols_test PRIVATE OVERDUE_SYMBOL_FIXTURES="${fixtures}")
add_dependencies(symbols_test symbols_fixtures)
