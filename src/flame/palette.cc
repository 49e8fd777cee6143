#include "flame/palette.h"

#include <cstdint>

#include <fmt/format.h>

namespace overdue {
namespace {

/// Made in OKLCH: one lightness, chroma and hue per kind, with the shades close to them. A search
/// chose the values for which the smallest distance between kinds, under simulated colour
/// blindness, is largest.
struct KindColors {
  char letter;
  std::string_view light[shades], dark[shades];
};
constexpr KindColors kinds[frame_kinds] = {
    {'t',  // thread
     {"#8e9399", "#92969d", "#9399a1", "#989ba2", "#999ea6"},
     {"#606269", "#64646c", "#656770", "#696971", "#6b6c75"}},
    {'u',  // user
     {"#f3b47e", "#f0bc6c", "#ffb867", "#efc577", "#ffc170"},
     {"#6b361e", "#6e3a02", "#783607", "#6f420c", "#7a3e0d"}},
    {'s',  // system call
     {"#e180c5", "#f37abc", "#f877cd", "#f783bb", "#fd7fcb"},
     {"#572078", "#651378", "#660c89", "#6b1e77", "#6c1a87"}},
    {'k',  // kernel
     {"#77abe5", "#80aaf2", "#72affc", "#8caef4", "#81b4ff"},
     {"#1e6099", "#2c5ea6", "#0a63b0", "#3b62a8", "#2867b2"}},
    {'x',  // unknown
     {"#e8e7e4", "#ebeae7", "#eeede9", "#f0f0ed", "#f4f3f0"},
     {"#272523", "#292825", "#2b2a26", "#2d2c29", "#302e2b"}},
    {'o',  // waiting
     {"#85e2b0", "#6ae9be", "#68eeb4", "#75eec9", "#71f3c0"},
     {"#1f504a", "#145452", "#095852", "#1f5859", "#185c59"}},
};
constexpr std::string_view differences_light[] = {"#6caaf9", "#8ebefb", "#adcdf7",
                                                  "#ccdcf2", "#e9e8e5", "#f4d1cd",
                                                  "#fbb7af", "#fe9c91", "#fa7d71"};
constexpr std::string_view differences_dark[] = {"#2060ab", "#22538e", "#27466d",
                                                 "#29394e", "#2f2e2a", "#4f2e2a",
                                                 "#6d2f2a", "#8c2d28", "#a82e29"};

const KindColors& colors_of(FrameKind kind) {
  return kinds[static_cast<std::size_t>(kind)];
}

/// FNV-1a: the same name has the same shade in every drawing.
std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash ^ (hash >> 29);
}

std::string rules(bool differences, bool dark) {
  std::string css;
  if (differences) {
    for (int step = -difference_steps; step <= difference_steps; ++step)
      css += fmt::format(".{} rect{{fill:{}}}\n", difference_class(step),
                         difference_color(step, dark));
    return css;
  }
  for (std::size_t kind = 0; kind < frame_kinds; ++kind)
    for (int shade = 0; shade < shades; ++shade)
      css += fmt::format(".{}{} rect{{fill:{}}}\n", kinds[kind].letter, shade,
                         kind_color(static_cast<FrameKind>(kind), shade, dark));
  // Unknown frames are nearly as pale as the background: an outline keeps them visible, and
  // distinct from all other kinds.
  css += fmt::format(".x0 rect,.x1 rect,.x2 rect,.x3 rect,.x4 rect{{stroke:{};stroke-width:.7}}\n",
                     dark ? "#5c5a55" : "#b5b3ac");
  return css;
}

}  // namespace

std::string_view text_color(bool dark) {
  return dark ? "#f6f6f8" : "#14151a";
}

std::string_view kind_color(FrameKind kind, int shade, bool dark) {
  return dark ? colors_of(kind).dark[shade] : colors_of(kind).light[shade];
}

std::string_view difference_color(int step, bool dark) {
  return (dark ? differences_dark : differences_light)[step + difference_steps];
}

std::string kind_class(FrameKind kind, std::string_view name) {
  return fmt::format("{}{}", colors_of(kind).letter, hash_of(name) % shades);
}

std::string difference_class(int step) {
  return fmt::format("d{}", step + difference_steps);
}

std::string palette_css(bool differences) {
  return rules(differences, false) + "@media (prefers-color-scheme:dark){\n" +
         rules(differences, true) + "}\n";
}

}  // namespace overdue
