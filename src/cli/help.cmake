# cli_help: the embedded pages of docs/commands, and the code that renders them. A library of its
# own, so that the man pages can be made without the program.
layer(cli_help SOURCES completion.cc help.cc help_page.cc LINK base)
foreach(page overdue syscalls stalls timerlat osnoise worst record report flame ctl demo doctor probes schema help
             options/target options/view options/capture options/output options/kernel
             options/stacks)
  string(REPLACE / _ symbol help_${page})
  embed_text(cli_help ${symbol} ${PROJECT_SOURCE_DIR}/docs/commands/${page}.md)
endforeach()

overdue_test(help_test LABEL unit SOURCES help_test.cc LINK cli_help)
overdue_test(help_options_test LABEL unit SOURCES help_options_test.cc LINK commands cli_help)
