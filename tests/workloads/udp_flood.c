// Packets that keep softirqs busy: udp_flood CPU MILLISECONDS RECEIVERS. Each packet is broadcast
// on the loopback interface to RECEIVERS sockets, all in one softirq (NET_RX) of the sender's CPU.
// Prints "ready" when the sockets exist, and the number of sent packets at the end.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(atoi(argv[1]), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) return 1;
  const int yes = 1, small = 1;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
  socklen_t length = sizeof to;
  for (int i = 0; i < atoi(argv[3]); i++) {
    const int receiver = socket(AF_INET, SOCK_DGRAM, 0);
    setsockopt(receiver, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    setsockopt(receiver, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    if (receiver < 0 || bind(receiver, (struct sockaddr*)&to, sizeof to) != 0) return 1;
    if (getsockname(receiver, (struct sockaddr*)&to, &length) != 0) return 1;
  }
  const int sender = socket(AF_INET, SOCK_DGRAM, 0);
  setsockopt(sender, SOL_SOCKET, SO_BROADCAST, &yes, sizeof yes);
  to.sin_addr.s_addr = inet_addr("127.255.255.255");
  puts("ready");
  fflush(stdout);
  const long long end = now_ns() + atoll(argv[2]) * 1000000ll;
  long sent = 0;
  while (now_ns() < end)
    if (sendto(sender, "x", 1, 0, (struct sockaddr*)&to, sizeof to) == 1) sent++;
  printf("%ld\n", sent);
  return 0;
}
