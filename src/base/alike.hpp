// Those that are alike, together: for messages about hundreds of them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace kernbench {

/// Items of which `way_of` says the same are one group; groups are in the order of the first of each.
template <class Item, class WayOf>
std::vector<std::vector<Item>> alike(const std::vector<Item>& items, WayOf&& way_of) {
  std::vector<std::vector<Item>> groups;
  std::map<std::string, std::size_t> known;
  for (const Item& item : items) {
    const auto [at, is_new] = known.try_emplace(way_of(item), groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(item);
  }
  return groups;
}

}  // namespace kernbench
