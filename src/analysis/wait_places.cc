#include "analysis/wait_places.h"

#include <algorithm>

namespace overdue {
namespace {

void add_shorter(std::vector<RawPlace>& places, std::span<const RawWait* const> waits,
                 const wait_places& shorter) {
  for (const wait_place& sum : shorter.places) {
    if (sum.place == 0) return;
    const auto same = [&sum](const RawWait* wait) { return wait->fixed.place == sum.place; };
    const auto first = std::find_if(waits.begin(), waits.end(), same);
    if (first == waits.end()) continue;
    RawPlace& place = place_among(places, **first);
    place.ns += sum.ns;
    if (!(*first)->could_run_all_along())
      place.blocked_ns += sum.ns - std::min(sum.ns, sum.ready_ns);
    place.count += sum.count;
    place.longest_ns = std::max(place.longest_ns, sum.longest_ns);
  }
}

}  // namespace

RawPlace& place_among(std::vector<RawPlace>& places, const RawWait& wait) {
  const auto known = std::find_if(places.begin(), places.end(), [&wait](const RawPlace& place) {
    return place.longest->fixed.state == wait.fixed.state && place.longest->stack == wait.stack &&
           !wait.stack.empty();
  });
  if (known != places.end()) return *known;
  RawPlace& place = places.emplace_back();
  place.longest = &wait;
  return place;
}

std::vector<RawPlace> places_of(std::span<const RawWait* const> waits, const wait_places* shorter) {
  std::vector<RawPlace> places;
  for (const RawWait* wait : waits) {
    RawPlace& place = place_among(places, *wait);
    place.ns += wait->length_ns();
    place.blocked_ns += wait->blocked_ns();
    ++place.count;
    if (wait->length_ns() <= place.longest_ns) continue;
    place.longest = wait;
    place.longest_ns = wait->length_ns();
  }
  if (shorter) add_shorter(places, waits, *shorter);
  std::sort(places.begin(), places.end(), [](const RawPlace& one, const RawPlace& other) {
    if (one.blocked_ns != other.blocked_ns) return one.blocked_ns > other.blocked_ns;
    return one.ns != other.ns ? one.ns > other.ns : one.longest->id < other.longest->id;
  });
  return places;
}

}  // namespace overdue
