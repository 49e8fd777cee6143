#pragma once

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "bpf/wire.h"

namespace overdue {

/// Takes the entries of ended epochs out of the hash map `map`: those whose key has an `epoch`
/// other than this one. Returns their values, in no order. `most`: entries of the map. Needs few
/// system calls. Throws nothing: what cannot be read stays.
template <typename Key, typename Value>
std::vector<Value> take_ended(int map, u32 most, u32 epoch) {
  const u32 at_once = std::min<u32>(most, 4096);
  std::vector<Key> keys(at_once), ended;
  std::vector<Value> values(at_once), taken;
  u32 place = 0;
  bool is_first = true, has_more = true;
  while (has_more) {
    u32 count = at_once;
    const int status = bpf_map_lookup_batch(map, is_first ? nullptr : &place, &place, keys.data(),
                                            values.data(), &count, nullptr);
    is_first = false;
    has_more = status == 0;
    if (status != 0 && status != -ENOENT) break;  // -ENOENT: the last entries
    for (u32 i = 0; i < count; ++i) {
      if (keys[i].epoch == epoch) continue;
      ended.push_back(keys[i]);
      taken.push_back(values[i]);
    }
  }
  auto deleted = static_cast<u32>(ended.size());
  if (deleted > 0 && bpf_map_delete_batch(map, ended.data(), &deleted, nullptr) != 0)
    for (const Key& key : ended) bpf_map_delete_elem(map, &key);  // else they would come again
  return taken;
}

}  // namespace overdue
