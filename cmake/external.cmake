# external_library(<name> <shared> <archive>…): the target external_<name>. A target with the
# property PORTABLE gets the archives, so that it runs on machines without the library. Every other
# target gets <shared>, which the distribution updates. An archive is a target of ours, or the NAME
# of a libNAME.a.
function(external_library name shared)
  add_library(external_${name} INTERFACE)
  set(portable $<BOOL:$<TARGET_PROPERTY:PORTABLE>>)
  target_link_libraries(external_${name} INTERFACE $<$<NOT:${portable}>:${shared}>)
  foreach(archive ${ARGN})
    if(NOT archive STREQUAL "fmt_archive")
      find_library(ARCHIVE_${archive} lib${archive}.a)
      mark_as_advanced(ARCHIVE_${archive})
      if(NOT ARCHIVE_${archive})
        set_property(GLOBAL APPEND PROPERTY OVERDUE_MISSING_ARCHIVES lib${archive}.a)
        continue()
      endif()
      set(archive ${ARCHIVE_${archive}})
    endif()
    target_link_libraries(external_${name} INTERFACE $<${portable}:${archive}>)
  endforeach()
endfunction()

# portable(<target>): a program that needs nothing but the kernel, for `make package` alone.
# static-pie instead of static: root runs it on hostile files, so its addresses stay random. The
# linker warns about functions that load libraries all the same (getpwnam, getaddrinfo, …), which is
# an error here. Most relocations are relative: packed, they take a fiftieth of the room.
function(portable target)
  set_target_properties(${target} PROPERTIES PORTABLE ON EXCLUDE_FROM_ALL ON)
  target_link_options(${target} PRIVATE -static-pie -Wl,--gc-sections -Wl,-z,pack-relative-relocs
    -Wl,--fatal-warnings -Wl,--wrap=bpf_btf_get_next_id -Wl,--wrap=btf__load_vmlinux_btf
    -Wl,--wrap=btf__free) # src/kernel/kernel_btf.cc
  add_dependencies(portable ${target})
endfunction()
