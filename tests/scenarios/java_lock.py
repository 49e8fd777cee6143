"""Eight Java threads share one synchronized method, in which each computes."""
import java
from scenario import Truth

GROUP = "runtimes"
SYMPTOM = "eight Java threads are no faster than one"
READING = """\
The holders are the waiters: each thread has the monitor in turn, so eight threads do the work of
one. With `--perf-maps`, the report also names the method that the holders run."""
TRUTH = Truth(cause=r"lock|monitor|futex", who="order-", by="order-", least=0.3,
              not_by="VM Thread|GC Thread|VM Periodic")

PROGRAM = '''
public class Orders {
  static long sum;
  static final StringBuilder out = new StringBuilder();
  static synchronized void book(long until) {
    while (System.nanoTime() < until) sum += sum ^ until;
  }
  static void work() {
    while (true) {
      long begin = System.nanoTime();
      long[] got = new long[1];
      synchronized (Orders.class) {
        got[0] = System.nanoTime();
        book(got[0] + 4_000_000);
      }
      if (got[0] - begin > 1_000_000) System.out.println("wait " + begin + " " + (got[0] - begin));
      try { Thread.sleep(2); } catch (InterruptedException e) { return; }
    }
  }
  public static void main(String[] a) throws Exception {
    for (int i = 0; i < 8; i++) new Thread(Orders::work, "order-" + i).start();
    Thread.sleep(500);
    System.out.println("ready");
  }
}
'''


def start(stage):
    return ["-p", java.start(stage, "Orders", PROGRAM, "-XX:+UseSerialGC").pid]
