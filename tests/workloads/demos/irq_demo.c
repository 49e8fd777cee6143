// irq-demo: packets through 127.0.0.1, over UDP and TCP, and a thread that computes on the same CPU
// and prints the time that it lost. Nothing leaves the machine: all sockets are bound and connected
// to loopback.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "demo.h"

static int64_t size = 1400, cpu = -1, slow = 10 * MILLISECOND, all_cpus;
static int udp[2] = {-1, -1}, tcp[2] = {-1, -1};  // [0] sends, [1] receives
static atomic_bool udp_is_sent;

struct traffic {
  const char* protocol;
  atomic_llong sends, sent_bytes, receives, received_bytes;
};
static struct traffic udp_traffic = {.protocol = "udp"}, tcp_traffic = {.protocol = "tcp"};

// --- sockets ---

static int loopback_socket(int type, struct sockaddr_in* address) {
  const int file = socket(AF_INET, type | SOCK_CLOEXEC, 0);
  if (file < 0) fail(errno, "cannot make a socket");
  memset(address, 0, sizeof *address);
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof *address;
  if (bind(file, (struct sockaddr*)address, length) != 0 ||
      getsockname(file, (struct sockaddr*)address, &length) != 0)
    fail(errno, "cannot use 127.0.0.1");
  return file;
}

static void connect_to(int file, const struct sockaddr_in* address) {
  if (connect(file, (const struct sockaddr*)address, sizeof *address) != 0)
    fail(errno, "cannot connect to 127.0.0.1; is the loopback interface up?");
}

static void open_sockets(void) {
  struct sockaddr_in sender, receiver, peer;
  udp[0] = loopback_socket(SOCK_DGRAM, &sender);
  udp[1] = loopback_socket(SOCK_DGRAM, &receiver);
  connect_to(udp[0], &receiver);
  connect_to(udp[1], &sender);  // so that packets of other processes do not count

  const int listener = loopback_socket(SOCK_STREAM, &receiver);
  if (listen(listener, 1) != 0) fail(errno, "cannot listen on 127.0.0.1");
  tcp[0] = loopback_socket(SOCK_STREAM, &sender);
  connect_to(tcp[0], &receiver);
  socklen_t length = sizeof peer;
  tcp[1] = accept4(listener, (struct sockaddr*)&peer, &length, SOCK_CLOEXEC);
  if (tcp[1] < 0) fail(errno, "cannot accept a connection");
  if (peer.sin_port != sender.sin_port) fail(0, "another process connected first");
  close(listener);
}

// --- load ---

static void send_one(int file, struct traffic* traffic, size_t bytes) {
  static const char zeros[65536];
  const ssize_t sent = send(file, zeros, bytes, MSG_NOSIGNAL);
  if (sent < 0 && errno != ENOBUFS) fail(errno, "cannot send over %s", traffic->protocol);
  traffic->sends++;
  if (sent > 0) traffic->sent_bytes += sent;
}

static void send_packets(struct worker* self, int file, struct traffic* traffic) {
  while (!must_stop())
    send_one(file, traffic, (size_t)random_between(&self->random, size / 2, size));
}

IN_STACKS void send_over_udp(struct worker* self) {
  send_packets(self, udp[0], &udp_traffic);
  udp_is_sent = true;
}

IN_STACKS void send_over_tcp(struct worker* self) {
  send_packets(self, tcp[0], &tcp_traffic);
  shutdown(tcp[0], SHUT_WR);
}

// False at the end of the stream.
static bool receive_one(int file, struct traffic* traffic) {
  char buffer[65536];
  const ssize_t received = recv(file, buffer, sizeof buffer, 0);
  if (received < 0) fail(errno, "cannot receive over %s", traffic->protocol);
  if (received == 0) return false;
  traffic->receives++;
  traffic->received_bytes += received;
  return true;
}

IN_STACKS void receive_over_udp(struct worker* self) {
  (void)self;
  for (;;) {
    const bool sent = udp_is_sent;  // read first: all earlier packets are in the socket
    struct pollfd ready = {.fd = udp[1], .events = POLLIN};
    if (poll(&ready, 1, sent ? 0 : 50) > 0)
      receive_one(udp[1], &udp_traffic);
    else if (sent)
      return;
  }
}

IN_STACKS void receive_over_tcp(struct worker* self) {
  (void)self;
  while (receive_one(tcp[1], &tcp_traffic)) continue;
}

// --- the victim ---

// Number of times that the calling thread was switched out.
static long switches(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw + usage.ru_nvcsw;
}

// Time that the thread lost, and the number of gaps.
struct theft {
  int64_t gaps, ns;
};

// Reads the clock as fast as possible, which makes no system call. If two reads are a microsecond
// or more apart, the thread lost this time: to another thread if there was a switch, else to an
// interrupt or a hypervisor.
IN_STACKS void compute(struct worker* self) {
  (void)self;
  struct theft by_threads = {0}, by_interrupts = {0};
  const int64_t begin = now_ns(), begin_cpu = thread_cpu_ns(), end = deadline_ns();
  long switches_before = switches();
  for (int64_t before = now_ns(); before < end && !stopping;) {
    const int64_t now = now_ns(), took = now - before, from = before;
    before = now;
    if (took < MICROSECOND) continue;
    const long switches_now = switches();
    const bool switched = switches_now != switches_before;
    struct theft* theft = switched ? &by_threads : &by_interrupts;
    theft->gaps++;
    theft->ns += took;
    if (took >= slow)
      say("gap", from, ",\"function\":\"compute\",\"by\":\"%s\",\"took_ns\":%lld",
          switched ? "threads" : "interrupts", (long long)took);
    switches_before = switches_now;
    before = now_ns();  // the accounting itself does not count
  }
  say("stolen", begin,
      ",\"wall_ns\":%lld,\"cpu_ns\":%lld,\"by_threads\":%lld,\"by_threads_ns\":%lld,"
      "\"by_interrupts\":%lld,\"by_interrupts_ns\":%lld",
      (long long)(now_ns() - begin), (long long)(thread_cpu_ns() - begin_cpu),
      (long long)by_threads.gaps, (long long)by_threads.ns, (long long)by_interrupts.gaps,
      (long long)by_interrupts.ns);
}

static void say_traffic(struct traffic* traffic) {
  say("traffic", now_ns(),
      ",\"protocol\":\"%s\",\"sends\":%lld,\"sent_bytes\":%lld,\"receives\":%lld,\"received_"
      "bytes\":%lld",
      traffic->protocol, (long long)traffic->sends, (long long)traffic->sent_bytes,
      (long long)traffic->receives, (long long)traffic->received_bytes);
}

static const struct demo_option options[] = {
    {"--size", OPTION_SIZE, &size, NULL, 2, 60000, "BYTES",
     "of the largest packet, the smallest is half of it; 1400 if not given"},
    {"--cpu", OPTION_COUNT, &cpu, NULL, 0, 1023, "CPU",
     "where all run; the lowest allowed if not given"},
    {"--all-cpus", OPTION_FLAG, &all_cpus, NULL, 0, 1, NULL, "not bound to one CPU"},
    {"--slow", OPTION_TIME, &slow, NULL, 0, 60LL * SECOND, "TIME",
     "prints gaps that are this long or longer; 10ms if not given"},
    {0}};

int main(int argc, char** argv) {
  parse_options(
      argc, argv,
      "Sends packets to itself through 127.0.0.1, over UDP and TCP, and says which time that stole "
      "from the thread compute.",
      options);
  if (all_cpus && cpu >= 0) usage_error("--cpu and --all-cpus contradict each other");
  open_sockets();
  const int bound_to = all_cpus ? -1 : bind_to_cpu(cpu);
  say_start();
  static struct worker workers[5];
  start_worker(&workers[0], "udp-receive", 0, receive_over_udp);
  start_worker(&workers[1], "tcp-receive", 0, receive_over_tcp);
  start_worker(&workers[2], "udp-send", 0, send_over_udp);
  start_worker(&workers[3], "tcp-send", 0, send_over_tcp);
  start_worker(&workers[4], "compute", 0, compute);
  for (int i = 0; i < 5; i++) join_worker(&workers[i]);
  say_traffic(&udp_traffic);
  say_traffic(&tcp_traffic);
  say("summary", now_ns(), ",\"cpu\":%d", bound_to);
  return exit_status();
}
