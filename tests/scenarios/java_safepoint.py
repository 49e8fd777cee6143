"""A Java thread computes in a loop without a safepoint: all other threads wait until it reaches one."""
import java
from scenario import Truth

GROUP = "runtimes"
SYMPTOM = "a Java service stops for 100 ms although its collections take 2 ms"
READING = """\
Not the operation of the safepoint takes so long, but the way to it: `VM Thread` waits for a thread
that runs in a loop. That thread is the next cause, on the CPU."""
TRUTH = Truth(cause=r"safepoint of the JVM.*to reach the safepoint", who="page-", by="VM Thread", least=0.3,
              most=4)  # the thread that asks for the operation waits too

PROGRAM = '''
public class Matrix {
  static int sum(int n) { int s = 0; for (int i = 0; i < n; i++) s += i ^ (s << 1); return s; }
  public static void main(String[] a) throws Exception {
    new Thread(() -> { int n = 0; while (true) n += sum(200_000_000); }, "matrix").start();
    new Thread(() -> { try { while (true) { System.gc(); Thread.sleep(20); } } catch (InterruptedException e) {} },
               "cleaner").start();
    for (int i = 0; i < 2; i++) new Thread(() -> {
      try {
        while (true) {
          long begin = System.nanoTime();
          Thread.sleep(2);
          long late = System.nanoTime() - begin - 2_000_000;
          if (late > 5_000_000) System.out.println("wait " + (begin + 2_000_000) + " " + late);
        }
      } catch (InterruptedException e) {}
    }, "page-" + i).start();
    Thread.sleep(1500);
    System.out.println("ready");
  }
}
'''


def start(stage):
    return ["-p", java.start(stage, "Matrix", PROGRAM, "-XX:+UseSerialGC", "-XX:-UseCountedLoopSafepoints").pid]
