# embed_text(<target> <symbol> <file>): makes the text of <file> available to <target> as
# `extern const std::string_view <symbol>` in namespace overdue, and the SHA-256 of the text, in
# hexadecimal, as `<symbol>_sha256`. Rebuilt when the file changes.
function(embed_text target symbol file)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded_${symbol}.cc)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${file} -DSYMBOL=${symbol} -DOUTPUT=${output}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake
    DEPENDS ${file} ${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
