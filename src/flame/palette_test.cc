#include "flame/palette.h"

#include <array>
#include <charconv>
#include <cmath>

#include <gtest/gtest.h>

namespace overdue {
namespace {

using Color = std::array<double, 3>;
using Matrix = std::array<Color, 3>;

/// `#rrggbb` in linear light.
Color linear(std::string_view hex) {
  Color color{};
  for (std::size_t i = 0; i < 3; ++i) {
    int byte = 0;
    std::from_chars(hex.data() + 1 + 2 * i, hex.data() + 3 + 2 * i, byte, 16);
    const double value = byte / 255.0;
    color[i] = value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  }
  return color;
}

/// WCAG 2: the ratio of relative luminances.
double contrast(std::string_view one, std::string_view two) {
  const auto luminance = [](const Color& c) {
    return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2] + 0.05;
  };
  const double a = luminance(linear(one)), b = luminance(linear(two));
  return a > b ? a / b : b / a;
}

Color times(const Matrix& matrix, const Color& color) {
  Color result{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) result[i] += matrix[i][j] * color[j];
  return result;
}

Color oklab(const Color& rgb) {
  static constexpr Matrix cones{{{0.4122214708, 0.5363325363, 0.0514459929},
                                 {0.2119034982, 0.6806995451, 0.1073969566},
                                 {0.0883024619, 0.2817188376, 0.6299787005}}};
  static constexpr Matrix lab{{{0.2104542553, 0.7936177850, -0.0040720468},
                               {1.9779984951, -2.4285922050, 0.4505937099},
                               {0.0259040371, 0.7827717662, -0.8086757660}}};
  Color seen = times(cones, rgb);
  for (double& cone : seen) cone = std::cbrt(cone);
  return times(lab, seen);
}

/// Vision with all cones, and without red, green or blue cones (Machado, Oliveira, Fernandes 2009).
constexpr Matrix sights[] = {{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
                             {{{0.152286, 1.052583, -0.204868},
                               {0.114503, 0.786281, 0.099216},
                               {-0.003882, -0.048116, 1.051998}}},
                             {{{0.367322, 0.860646, -0.227968},
                               {0.280085, 0.672501, 0.047413},
                               {-0.011820, 0.042940, 0.968881}}},
                             {{{1.255528, -0.076749, -0.178779},
                               {-0.078411, 0.930809, 0.147602},
                               {0.004733, 0.691367, 0.303900}}}};

double distance(std::string_view one, std::string_view two, const Matrix& sight) {
  const auto seen = [&](std::string_view hex) {
    Color color = times(sight, linear(hex));
    for (double& part : color) part = std::fmin(std::fmax(part, 0), 1);
    return oklab(color);
  };
  const Color a = seen(one), b = seen(two);
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

TEST(Palette, TextCanBeRead) {
  for (const bool dark : {false, true}) {
    for (std::size_t kind = 0; kind < frame_kinds; ++kind)
      for (int shade = 0; shade < shades; ++shade) {
        const std::string_view color = kind_color(static_cast<FrameKind>(kind), shade, dark);
        EXPECT_GE(contrast(color, text_color(dark)), 4.5) << color;
      }
    for (int step = -difference_steps; step <= difference_steps; ++step)
      EXPECT_GE(contrast(difference_color(step, dark), text_color(dark)), 4.5) << step;
  }
}

TEST(Palette, KindsStayApartForEveryEye) {
  constexpr double seen_as_different = 0.03;  // 0.02 is about the smallest visible difference
  for (const bool dark : {false, true})
    for (const Matrix& sight : sights)
      for (std::size_t one = 0; one < frame_kinds; ++one)
        for (std::size_t two = 0; two < one; ++two)
          for (int a = 0; a < shades; ++a)
            for (int b = 0; b < shades; ++b) {
              const std::string_view first = kind_color(static_cast<FrameKind>(one), a, dark);
              const std::string_view second = kind_color(static_cast<FrameKind>(two), b, dark);
              EXPECT_GE(distance(first, second, sight), seen_as_different)
                  << first << " and " << second;
            }
}

TEST(Palette, GrownAndShrunkStayApartForEveryEye) {
  for (const bool dark : {false, true})
    for (const Matrix& sight : sights)
      for (int step = 1; step <= difference_steps; ++step)
        EXPECT_GE(distance(difference_color(step, dark), difference_color(-step, dark), sight),
                  0.03)
            << step;
}

TEST(Palette, NamesDecideOnTheShade) {
  EXPECT_EQ(kind_class(FrameKind::user, "main"), kind_class(FrameKind::user, "main"));
  std::array<int, shades> used{};
  for (int i = 0; i < 1000; ++i)
    ++used[static_cast<std::size_t>(kind_class(FrameKind::kernel, std::to_string(i))[1] - '0')];
  for (const int count : used) EXPECT_GT(count, 100);
}

}  // namespace
}  // namespace overdue
