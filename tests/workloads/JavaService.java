import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayDeque;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A service as many are: an acceptor, a pool of handlers, whose threads have the name of the request that they answer,
 * a logger with a thread of its own, and a reporter. Prints its port; ends when its input ends.
 */
public class JavaService {
  static final int HANDLERS = 8;
  static final BlockingQueue<String> LOG = new ArrayBlockingQueue<>(1024);
  static long answered;

  /** Some work on text, as the JSON of a page is. */
  static String render(String path, int rows) {
    StringBuilder page = new StringBuilder("{\"path\":\"").append(path).append("\",\"rows\":[");
    for (int i = 0; i < rows; ++i) page.append("{\"id\":").append(i).append(",\"name\":\"order ").append(i * 7919 % 1000).append("\"},");
    return page.append("]}").toString();
  }

  static void answer(Socket client, String name) {
    try (client) {
      BufferedReader in = new BufferedReader(new InputStreamReader(client.getInputStream()));
      OutputStream out = client.getOutputStream();
      for (String line; (line = in.readLine()) != null;) {
        Thread.currentThread().setName(name + " - " + line);
        String page = render(line, 2000);
        LOG.put(line + " " + page.length());
        out.write((page.length() + "\n").getBytes());
        synchronized (JavaService.class) { ++answered; }
      }
    } catch (Exception end) {
      // The client has gone.
    } finally {
      Thread.currentThread().setName(name);
    }
  }

  static void log(FileOutputStream to) {
    try {
      while (true) {
        String line = LOG.take();
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 40; ++i) text.append(String.format("%s %06d; ", line, i));
        to.write(text.append('\n').toString().getBytes());
      }
    } catch (Exception end) {
      // The service ends.
    }
  }

  static void report() {
    ArrayDeque<Long> counts = new ArrayDeque<>();
    try {
      while (true) {
        Thread.sleep(500);
        synchronized (JavaService.class) { counts.add(answered); }
        render("metrics", 2000);
      }
    } catch (InterruptedException end) {
      // The service ends.
    }
  }

  static void start(String name, Runnable work) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
  }

  public static void main(String[] words) throws Exception {
    ServerSocket server = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
    int[] made = {0};
    ExecutorService pool = Executors.newFixedThreadPool(HANDLERS, work -> {
      Thread thread = new Thread(work, "dw-" + ++made[0]);
      thread.setDaemon(true);
      return thread;
    });
    start("AsyncAppender-Worker-async-console-appender", () -> {
      try { log(new FileOutputStream("/dev/null")); } catch (Exception none) { }
    });
    start("metrics-console-reporter-1-thread-1", JavaService::report);
    start("acceptor-0-ServerConnector-" + server.getLocalPort(), () -> {
      try {
        for (int i = 1;; ++i) {
          Socket client = server.accept();
          int number = (i - 1) % HANDLERS + 1;
          pool.execute(() -> answer(client, "dw-" + number));
        }
      } catch (Exception end) {
        // The service ends.
      }
    });
    System.out.println(server.getLocalPort());
    while (System.in.read() >= 0) { }
  }
}
