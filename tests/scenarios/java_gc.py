"""A JVM with too small a heap collects garbage most of the time; its threads wait at safepoints."""
import re

import java
from scenario import MS, Account, Truth

GROUP = "runtimes"
SYMPTOM = "a Java service stops for tens of milliseconds, many times a second"
READING = """\
`VM Thread` ran in functions of the collector while every other thread stood at the safepoint. The
heap is too small for what it keeps."""
TRUTH = Truth(cause=r"GC|garbage|safepoint|VM Thread", who="request-|service", by="VM Thread|GC",
              kinds=("blocked", "cpu"), least=0.3, most=5,  # each thread waits for the whole pause
              first=2)  # the collector's own time on the CPU, if the threads hardly wait

PROGRAM = '''
import java.util.*;
import java.util.concurrent.ThreadLocalRandom;
public class Shop {
  public static void main(String[] a) throws Exception {
    List<byte[]> kept = new ArrayList<>();
    for (int i = 0; i < 36_000; i++) kept.add(new byte[1024]);
    Map<Integer, List<String>> index = new HashMap<>();
    for (int i = 0; i < 30_000; i++) index.put(i, new LinkedList<>(List.of("a" + i)));
    for (int i = 0; i < 3; i++) new Thread(() -> {
      while (true) {
        for (int k = 0; k < 200; k++) kept.set(ThreadLocalRandom.current().nextInt(kept.size()), new byte[1024]);
        try { Thread.sleep(1); } catch (InterruptedException e) { return; }
      }
    }, "request-" + i).start();
    Thread.sleep(1500);
    System.out.println("ready");
  }
}
'''


def start(stage):
    stage.log = stage.path("gc.log")
    return ["-p", java.start(stage, "Shop", PROGRAM, "-XX:+UseSerialGC", "-Xms58m", "-Xmx58m", "-Xmn2m",
                             f"-Xlog:gc:file={stage.log}:uptimenanos").pid]


def account(stage, begin_ns, end_ns):
    """Pauses by the JVM's own log, scaled to the session: its clock begins with the JVM."""
    with open(stage.log, encoding="utf-8") as file:
        pauses = re.findall(r"\[(\d+)ns\].*Pause.* ([\d.]+)ms", file.read())
    last = int(pauses[-1][0])
    late = [float(took) * MS for at, took in pauses if int(at) > last - (end_ns - begin_ns)]
    return Account(len(late), int(sum(late)))
