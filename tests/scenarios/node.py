"""Node programs for the scenarios. Not a scenario."""
from scenario import tool

PREAMBLE = '''
const now = () => process.hrtime.bigint();
const say = (...words) => require("fs").writeSync(1, words.join(" ") + "\\n");
const timed = (work) => {
  const begin = now();
  work();
  say("wait", begin, now() - begin);
};
'''


def start(stage, name, source, *arguments):
    path = stage.write(f"{name}.js", PREAMBLE + source)
    process = stage.start(tool("node"), path, *arguments)
    stage.await_text(process, "ready")
    return process
