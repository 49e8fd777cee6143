// sleep-demo: sleeps of random length, each made by usleep() in sleep_for_a_while().
#include "demo.h"

static int64_t count = 100, threads = 0, shortest = 1 * MILLISECOND, longest = 200 * MILLISECOND;
static atomic_llong events, asked_in_all, taken_in_all;

IN_STACKS void sleep_for_a_while(int64_t asked_us) {
  usleep((useconds_t)asked_us);
}

IN_STACKS void sleep_again_and_again(struct random* random) {
  for (int64_t i = 0; i < count && !must_stop(); i++) {
    const int64_t asked_us = random_between(random, shortest / MICROSECOND, longest / MICROSECOND);
    const int64_t asked = asked_us * MICROSECOND, begin = now_ns();
    if (begin + asked > deadline_ns()) return;
    sleep_for_a_while(asked_us);
    const int64_t took = now_ns() - begin;
    say("sleep", begin, ",\"function\":\"sleep_for_a_while\",\"asked_ns\":%lld,\"took_ns\":%lld",
        (long long)asked, (long long)took);
    events++;
    asked_in_all += asked;
    taken_in_all += took;
  }
}

IN_STACKS void sleeper(struct worker* worker) {
  sleep_again_and_again(&worker->random);
}

static const struct demo_option options[] = {
    {"--count", OPTION_COUNT, &count, NULL, 1, 1000000, "N",
     "sleeps of each thread; 100 if not given"},
    {"--threads", OPTION_COUNT, &threads, NULL, 0, MAX_THREADS, "N",
     "threads sleeper-1, ... that sleep; 0, the default: the main thread"},
    {"--min", OPTION_TIME, &shortest, NULL, 0, 60LL * SECOND, "TIME",
     "shortest sleep; 1ms if not given"},
    {"--max", OPTION_TIME, &longest, NULL, 0, 60LL * SECOND, "TIME",
     "longest sleep; 200ms if not given"},
    {0}};

int main(int argc, char** argv) {
  parse_options(argc, argv,
                "Sleeps for random times, by usleep() in the function sleep_for_a_while.", options);
  if (shortest > longest) usage_error("--min is above --max");
  say_start();
  if (threads == 0) {
    struct random random = random_for(0);
    sleep_again_and_again(&random);
  }
  static struct worker workers[MAX_THREADS];
  for (int i = 0; i < threads; i++) start_worker(&workers[i], "sleeper", i + 1, sleeper);
  for (int i = 0; i < threads; i++) join_worker(&workers[i]);
  say("summary", now_ns(), ",\"sleeps\":%lld,\"asked_ns\":%lld,\"took_ns\":%lld", (long long)events,
      (long long)asked_in_all, (long long)taken_in_all);
  return exit_status();
}
