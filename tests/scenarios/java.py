"""Java programs for the scenarios. Not a scenario."""
from scenario import must, tool


def start(stage, name, source, *options):
    """Compiles and starts the class; waits for its line `ready`."""
    path = stage.write(f"{name}.java", source)
    must([tool("javac"), "-d", stage.folder, path], timeout=120)
    process = stage.start(tool("java"), *options, "-cp", stage.folder, name)
    stage.await_text(process, "ready", 60)
    return process
