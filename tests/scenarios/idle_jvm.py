"""A JVM whose threads wait for work."""
import java
from scenario import NOTHING, pause

GROUP = "idle"
SYMPTOM = "none"
TRUTH = NOTHING

PROGRAM = '''
import java.util.concurrent.*;
public class Idle {
  public static void main(String[] a) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(4);
    for (int i = 0; i < 4; i++) pool.submit(() -> System.out.println("work"));
    ScheduledExecutorService clock = Executors.newScheduledThreadPool(1);
    clock.scheduleAtFixedRate(() -> {}, 0, 500, TimeUnit.MILLISECONDS);
    Thread.sleep(500);
    System.out.println("ready");
    new CountDownLatch(1).await();
  }
}
'''


def start(stage):
    process = java.start(stage, "Idle", PROGRAM)
    pause(1)
    return ["-p", process.pid]
