# cli_help: the embedded pages of docs/commands, and the code that renders them. A library of its
# own, so that the man pages can be made without the program.
layer(cli_help SOURCES completion.cc help.cc help_page.cc LINK base)

# Adds docs/commands/<page>.md to the list of pages <list>.
macro(help_page list page)
  string(REPLACE / _ symbol help_${page})
  embed_text(cli_help ${symbol} ${PROJECT_SOURCE_DIR}/docs/commands/${page}.md)
  string(APPEND PAGE_DECLARATIONS "extern const std::string_view ${symbol};\n")
  string(APPEND ${list} "      {\"${page}\", ${symbol}},\n")
endmacro()

help_page(COMMAND_PAGES overdue)
foreach(group target view capture kernel stacks output general)
  help_page(OPTION_PAGES options/${group})
endforeach()

# One line per command: command(x) compiles x.cc or x_command.cc, which defines make_x_command(), and
# embeds its page, docs/commands/x.md. The order is that of `overdue help`.
macro(command name)
  set(source ${name}.cc)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}_command.cc)
    set(source ${name}_command.cc)
  endif()
  target_sources(commands PRIVATE ${source})
  help_page(COMMAND_PAGES ${name})
  string(APPEND COMMAND_DECLARATIONS "std::unique_ptr<Command> make_${name}_command();\n")
  string(APPEND COMMAND_MAKERS "  commands.push_back(make_${name}_command());\n")
endmacro()
