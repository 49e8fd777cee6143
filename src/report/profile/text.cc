// The report of `overdue profile` for people.
#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "base/text.h"
#include "report/profile/sections.h"
#include "report/rows.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::size_t rows_shown = 20, stacks_shown = 5, frames_shown = 12;
constexpr std::size_t rows_of_interval = 10;
constexpr std::uint64_t few_samples = 100;  // below, a share has no decimals

/// A share from this number of samples. Few samples do not support a decimal.
std::string percent_text(double share, std::uint64_t samples) {
  return samples < few_samples ? fmt::format("{:.0f}%", 100 * share)
                               : fmt::format("{:.1f}%", 100 * share);
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  return percent_text(static_cast<double>(part) / static_cast<double>(whole), whole);
}

std::string more_text(std::size_t all, std::size_t shown, std::string_view noun) {
  return all == shown ? "" : fmt::format("… {}\n", counted(all - shown, noun));
}

/// Samples by cycles come only from CPUs that do not idle.
std::string busy_text(const ProfileFigures& all) {
  if (all.event != PROFILE_CPU_CLOCK) return counted(all.cpus.size(), "CPU");
  const std::span<const ProfiledCpu> cpus = all.cpus;
  std::uint64_t idle = 0, taken = 0;
  for (const ProfiledCpu& cpu : cpus) {
    idle += cpu.idle;
    taken += cpu.taken();
  }
  return fmt::format("{}, {} busy", counted(cpus.size(), "CPU"), share_text(taken - idle, taken));
}

std::string head(const ProfileFigures& all) {
  std::string text = fmt::format("{}, {} Hz asked for", to_word(all.event), all.rate_hz);
  if (!all.cpus.empty())
    text += fmt::format(", {:.1f} Hz delivered on {}", all.delivered_hz(), busy_text(all));
  text += fmt::format("\nn={}, {} in the kernel", grouped(all.samples),
                      share_text(all.kernel_samples, all.samples));
  // 1.96 standard errors of a share of one half, for which they are largest.
  if (all.samples > 0)
    text += fmt::format("; a share is within {:.1f} points (95 %)",
                        1.96 * 50 / std::sqrt(static_cast<double>(all.samples)));
  return text + "\n";
}

std::string thread_table(const ProfileFigures& all) {
  const auto rows = shown(all.threads, all.top, rows_shown);
  std::size_t width = 16;
  for (const ProfiledThread& thread : rows)
    width = std::max(width, display_width(printable(thread.comm)));
  std::string text = fmt::format("\n{:>9} {:>7} {:>7} {:>8} {:>8}  {:<{}} {}\n", "SAMPLES", "SHARE",
                                 "%CPU", "PID", "TID", "THREAD", width, "PROCESS");
  for (const ProfiledThread& thread : rows)
    text += fmt::format("{:>9} {:>7} {:>7} {:>8} {:>8}  {}{:{}} {}\n", grouped(thread.samples),
                        share_text(thread.samples, all.samples),
                        percent_text(all.cpu_share(thread), all.samples), thread.pid, thread.tid,
                        printable(thread.comm), "", width - display_width(printable(thread.comm)),
                        printable(thread.process));
  return text + more_text(all.threads.size(), rows.size(), "more thread");
}

/// By name, cgroup or parent.
std::string owner_table(const ProfileFigures& all) {
  const auto rows = shown(all.threads, all.top, rows_shown);
  std::string text = fmt::format("\n{:>9} {:>7} {:>7}  {}\n", "SAMPLES", "SHARE", "%CPU",
                                 all.by == Whose::cgroup   ? "CGROUP"
                                 : all.by == Whose::parent ? "PROCESSES"
                                                           : "NAME");
  for (const ProfiledThread& row : rows)
    text += fmt::format("{:>9} {:>7} {:>7}  {}\n", grouped(row.samples),
                        share_text(row.samples, all.samples),
                        percent_text(all.cpu_share(row), all.samples),
                        owner_text(row.owner.value_or(Owner{}), all.by, row.processes));
  return text + more_text(all.threads.size(), rows.size(), "more row");
}

std::string function_table(const ProfileFigures& all) {
  const auto rows = shown(all.functions, all.top, rows_shown);
  std::string text = fmt::format("\n{:>7} {:>7}  FUNCTION\n", "SELF", "TOTAL");
  for (const ProfiledFunction& one : rows) {
    text += fmt::format("{:>7} {:>7}  {}", share_text(one.self, all.samples),
                        share_text(one.total, all.samples), to_text(one));
    text += one.name.empty() || one.module.empty() ? "\n" : fmt::format("  ({})\n", one.module);
  }
  return text + more_text(all.functions.size(), rows.size(), "more function");
}

std::string stack_text(const NamedStack& stack, const ProfileFigures& all, bool whole) {
  std::string text =
      fmt::format("\n{:>7} {} in {}\n", share_text(stack.samples, all.samples),
                  counted(stack.samples, "sample"),
                  stack.root.empty() ? "a thread without a name" : printable(stack.root));
  std::size_t lines = 0, frames = 0;
  for (auto frame = stack.frames.begin(); frame != stack.frames.end();) {
    if (!whole && lines++ == frames_shown) {
      text += fmt::format("          … {} (-v shows them)\n",
                          counted(stack.frames.size() - frames, "more frame"));
      break;
    }
    const auto next = std::find_if(frame, stack.frames.end(), [&](const ProfiledFunction& other) {
      return other.name != frame->name || other.module != frame->module;
    });
    const auto times = static_cast<std::size_t>(next - frame);
    text += fmt::format("          {}{}\n", to_text(*frame),
                        times == 1 ? "" : fmt::format(" ({} times)", times));
    frames += times;
    frame = next;
  }
  if (stack.is_cut) text += "          … the outermost frames are missing\n";
  return text;
}

}  // namespace

std::string profile_text(const ProfileFigures& all, bool whole_stacks) {
  std::string text = head(all);
  if (all.samples == 0) return text;
  text +=
      all.by == Whose::process || all.by == Whose::thread ? thread_table(all) : owner_table(all);
  text += function_table(all);
  for (const NamedStack& stack : shown(all.stacks, all.top, stacks_shown))
    text += stack_text(stack, all, whole_stacks);
  return text;
}

std::string profile_interval_text(const ProfileFigures& figures, bool whole_stacks) {
  ProfileFigures shown = figures;
  if (shown.top == 0) {
    shown.top = rows_of_interval;
    shown.stacks.clear();
  }
  return profile_text(shown, whole_stacks);
}

}  // namespace overdue
