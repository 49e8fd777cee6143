#include "analysis/timer_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/timer_fixture.h"
#include "base/text.h"

namespace overdue {
namespace {

TEST(TimerPicture, TheExampleOfTheDocumentation) {
  EXPECT_EQ(draw_latency(example_of_the_documentation().cause()),
            R"(  timer set    timer irq                 thread
               13585 ns                  39960 ns
  |            ^                         ^
  v            |                         |
  |------------+-------------------------|
  ===================================================
               [timer ] [qxl  ]
  [cc1.........^      v.^     v.........][timerlat/0]   <-- CPU
  ===================================================
  |--------------------------------------|  thread_noise: cc1:87882 24264 ns
               |-------|                    irq_noise: local_timer:236 7597 ns
                        |------|            irq_noise: qxl:21 7139 ns
  each - is 1 us
)");
}

TEST(TimerPicture, LongLatenciesAreDrawnToScale) {
  for (const u64 latency_us : {1u, 30u, 70u, 71u, 900u, 12'345u, 4'000'000u}) {
    Activation activation{1500,
                          1000 + latency_us * 1000,
                          {noise(NOISE_THREAD, 77, 1200, 900 + latency_us * 1000, "hog")}};
    const std::string picture = draw_latency(activation.cause());
    EXPECT_FALSE(picture.empty());
    for (const std::string_view line : split(picture, '\n'))
      EXPECT_LE(display_width(line), 130u) << picture;
    EXPECT_THAT(picture, testing::HasSubstr("thread_noise: hog:77"));
  }
  Activation long_one{1500, 1000 + 900'000};
  EXPECT_THAT(draw_latency(long_one.cause()), testing::HasSubstr("each - is 20 us"));
}

TEST(TimerPicture, ManyNoisesAreCounted) {
  Activation activation{1100, 101'000};
  for (u64 i = 0; i < 60; ++i)
    activation.noises.push_back(noise(NOISE_IRQ, 9, 2000 + i * 1000, 2400 + i * 1000, "disk"));
  EXPECT_THAT(draw_latency(activation.cause()), testing::HasSubstr("and 48 shorter ones"));
}

TEST(TimerPicture, NothingOfNoLatency) {
  EXPECT_EQ(draw_latency(Activation{900, 900}.cause()), "");
}

}  // namespace
}  // namespace overdue
