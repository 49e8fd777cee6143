# bpf_skeleton(<target> <name>.bpf.c): compiles one BPF program and makes <name>.skel.h available to
# <target>. Header dependencies come from the compiler, not from a list.
find_program(BPF_CLANG NAMES clang-19 REQUIRED)
find_program(BPF_STRIP NAMES llvm-strip-19 REQUIRED)
find_program(BPFTOOL bpftool PATHS /usr/sbin REQUIRED)

string(REPLACE x86_64 x86 BPF_ARCH ${CMAKE_SYSTEM_PROCESSOR})
string(REPLACE aarch64 arm64 BPF_ARCH ${BPF_ARCH})

function(bpf_skeleton target source)
  cmake_path(GET source STEM name)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.bpf.o)
  set(skeleton ${CMAKE_CURRENT_BINARY_DIR}/skeletons/${name}.skel.h)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/skeletons)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${BPF_CLANG} -target bpf -mcpu=v3 -g -O2 -Wall -Wextra -Wno-unused-parameter
            -Wno-missing-declarations -Werror -D__TARGET_ARCH_${BPF_ARCH}
            -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=
            -I${PROJECT_SOURCE_DIR}/src -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
            -MD -MF ${object}.d -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
    COMMAND ${BPF_STRIP} -g ${object}
    DEPENDS ${source}
    DEPFILE ${object}.d
    COMMENT "BPF ${name}"
    VERBATIM)
  add_custom_command(
    OUTPUT ${skeleton}
    COMMAND sh -c "${BPFTOOL} gen skeleton ${object} name ${name}_bpf > ${skeleton}"
    DEPENDS ${object}
    VERBATIM)
  target_sources(${target} PRIVATE ${skeleton})
  target_include_directories(${target} SYSTEM PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/skeletons)
endfunction()
