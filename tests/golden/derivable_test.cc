// Every number of the text table can be derived from the JSON of the same table: the test derives
// each cell from the JSON alone, and compares it.
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/time.h"
#include "fixture.h"
#include "sinks/latency_sections.h"
#include "sinks/make_sink.h"

namespace overdue {
namespace {

using Json = nlohmann::ordered_json;

std::string written(std::string_view format, const LatencyTable& table, const Receipt& receipt) {
  std::string text;
  Output output(text);
  const auto sink = make_sink(format, output, {});
  sink->begin(fixture::session());
  sink->section(std::make_shared<LatencySection>(table));
  sink->end(fixture::session(), receipt);
  return text;
}

std::string with_commas(std::uint64_t number) {
  if (number < 1000) return fmt::to_string(number);
  return fmt::format("{},{:03}", with_commas(number / 1000), number % 1000);
}

std::string duration(const Json& ns) {
  return format_duration(Duration(ns.get<std::uint64_t>()));
}

/// The quantile by its definition, from [low, high, count] triples.
std::uint64_t quantile(const Json& row, std::uint64_t percent) {
  std::uint64_t count = 0, seen = 0;
  for (const Json& bucket : row["histogram"]) count += bucket[2].get<std::uint64_t>();
  const std::uint64_t rank = (count * percent + 99) / 100;
  for (const Json& bucket : row["histogram"]) {
    seen += bucket[2].get<std::uint64_t>();
    if (seen >= rank)
      return std::clamp(bucket[1].get<std::uint64_t>() - 1, row["min_ns"].get<std::uint64_t>(),
                        row["max_ns"].get<std::uint64_t>());
  }
  return 0;
}

std::vector<std::string> cells_from_json(const Json& report, const Json& row) {
  std::uint64_t returned = 0;
  for (const Json& bucket : row["histogram"]) returned += bucket[2].get<std::uint64_t>();
  EXPECT_EQ(row["calls"].get<std::uint64_t>(), returned + row["unreturned"].get<std::uint64_t>() +
                                                   row["untimed"].get<std::uint64_t>() +
                                                   row["refused"].get<std::uint64_t>());
  std::vector<std::string> cells{row["name"].get<std::string>() + (row["late"] ? "*" : ""),
                                 with_commas(row["calls"]), with_commas(row["errors"])};
  if (returned == 0) {
    cells.insert(cells.end(), 7, "-");
    return cells;
  }
  EXPECT_EQ(row["avg_ns"], row["total_ns"].get<std::uint64_t>() / returned);
  const auto percentile = [&](const char* key, std::uint64_t percent) {
    EXPECT_EQ(row[key].get<std::uint64_t>(), quantile(row, percent)) << row["name"];
    const bool uncertain =
        std::find(row["uncertain"].begin(), row["uncertain"].end(), key) != row["uncertain"].end();
    return (uncertain ? "~" : "") + duration(row[key]);
  };
  const double wall = report["wall_ns"].get<double>();
  cells.insert(cells.end(),
               {duration(row["total_ns"]), duration(row["avg_ns"]), percentile("p50_ns", 50),
                percentile("p95_ns", 95), percentile("p99_ns", 99), duration(row["max_ns"]),
                fmt::format("{:.1f}", 100 * row["total_ns"].get<double>() / wall)});
  return cells;
}

/// The cells of a table line, from SYSCALL to %WALL; `name` is where they begin.
std::vector<std::string> cells_from_text(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> cells;
    for (std::string word; words >> word;) {
      if (cells.empty() && word != name && word != name + "*") continue;
      cells.push_back(word);
      if (cells.size() == 10) return cells;
    }
  }
  ADD_FAILURE() << "no line for " << name << " in\n" << text;
  return {};
}

void expect_derivable(const LatencyTable& table, const Receipt& receipt) {
  const Json report = Json::parse(written("json", table, receipt));
  const std::string text = written("text", table, receipt);
  ASSERT_EQ(report["syscalls"].size(), table.rows.size());
  for (const Json& row : report["syscalls"])
    EXPECT_EQ(cells_from_text(text, row["name"]), cells_from_json(report, row)) << text;
  for (const Json& span : report["unfinished"])
    EXPECT_NE(text.find(duration(span["age_ns"])), std::string::npos);

  const Json& says = report["receipt"];
  std::uint64_t lost = 0;
  for (const Json& count : says["lost_by"]) lost += count.get<std::uint64_t>();
  EXPECT_EQ(says["lost"].get<std::uint64_t>(), lost);
  EXPECT_NE(text.find(with_commas(says["events"]) + " events"), std::string::npos);
  EXPECT_NE(text.find(with_commas(lost) + (lost ? " LOST" : " lost")), std::string::npos);
  EXPECT_NE(text.find(duration(says["probe_ns"])), std::string::npos);
}

TEST(Derivable, TableFromItsJson) {
  expect_derivable(fixture::table(), fixture::receipt());
  expect_derivable(fixture::grouped_table(), fixture::receipt());
}

TEST(Derivable, MarksOfLossToo) {
  expect_derivable(fixture::table(), fixture::lossy_receipt());
  const Json report = Json::parse(written("json", fixture::table(), fixture::lossy_receipt()));
  EXPECT_FALSE(report["complete"].get<bool>());
  EXPECT_TRUE(
      Json::parse(written("json", fixture::table(), fixture::receipt()))["complete"].get<bool>());
}

}  // namespace
}  // namespace overdue
