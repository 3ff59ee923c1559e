// Who touched which bytes last: for each byte the last write and the reads since.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "data/memory_order.hpp"

namespace kernbench::data {

class AccessMap {
 public:
  /// An earlier access to some of the bytes of a new one; they conflict if one of them is a write.
  struct Overlap {
    Event earlier;
    bool earlier_writes;
    std::uint64_t begin, end;
  };

  explicit AccessMap(MemoryOrder& order) : order_(order) {}

  /// Enters an access to [begin, end) and calls `found` for the earlier ones it must come after: the last
  /// write, and for a write the reads since. Reads that are easily seen to have come before a later read of the
  /// same agent are not kept: whoever comes after the later one comes after them.
  template <class Fn>
  void add(std::uint64_t begin, std::uint64_t end, const Event& event, bool write, Fn&& found);

 private:
  struct Read {
    Agent agent;
    Event event;
    std::uint64_t position;  // of the event
  };
  struct Node {
    std::uint64_t end;
    bool written = false;
    Event writer;
    std::vector<Read> reads;  // ascending by agent
  };
  using Map = std::map<std::uint64_t, Node>;  // by first byte; without overlaps

  Map::iterator cut_before(Map::iterator after, std::uint64_t at);
  Map::iterator cut_behind(Map::iterator first, std::uint64_t at);
  static void set_writer(Node& node, const Event& event) {
    node.written = true;
    node.writer = event;
    node.reads.clear();
  }
  void add_read(Node& node, const Event& event);
  template <class Fn>
  void find_in(const Node& node, std::uint64_t begin, const Event& event, bool write, Fn&& found);

  MemoryOrder& order_;
  Map nodes_;
};

template <class Fn>
void AccessMap::find_in(const Node& node, std::uint64_t begin, const Event& event, bool write, Fn&& found) {
  if (node.written && node.writer != event) found(Overlap{node.writer, true, begin, node.end});
  if (!write) return;
  const auto clock = order_.clock_of(event);
  const auto agent = order_.agent_of(event);
  for (auto first = node.reads.begin(), last = first; first != node.reads.end(); first = last) {
    std::uint64_t position = 0;  // the last one of an agent
    for (; last != node.reads.end() && last->agent == first->agent; ++last)
      position = std::max(position, last->position);
    // One more of its own reads than necessary does no harm; a long look at the clock would cost more.
    const bool own = first->agent == agent;
    if (own ? Clock::covers_nearby(clock, agent, position) : Clock::covers(clock, first->agent, position))
      continue;
    for (auto read = first; read != last; ++read)
      if (read->event != event) found(Overlap{read->event, false, begin, node.end});
  }
}

template <class Fn>
void AccessMap::add(std::uint64_t begin, std::uint64_t end, const Event& event, bool write, Fn&& found) {
  if (begin >= end) return;
  const auto from = nodes_.lower_bound(begin);
  if (from != nodes_.end() && from->first == begin && from->second.end == end) {
    find_in(from->second, begin, event, write, found);
    return write ? set_writer(from->second, event) : add_read(from->second, event);
  }
  const auto first = cut_before(from, begin), last = cut_behind(first, end);
  for (auto at = first; at != last; ++at) find_in(at->second, at->first, event, write, found);
  if (write) {
    nodes_.erase(first, last);
    nodes_.emplace_hint(last, begin, Node{end, true, event, {}});
    return;
  }
  auto next = begin;
  for (auto at = first; at != last; next = at->second.end, ++at) {
    if (next < at->first)
      add_read(nodes_.emplace_hint(at, next, Node{at->first, false, {}, {}})->second, event);
    add_read(at->second, event);
  }
  if (next < end) add_read(nodes_.emplace_hint(last, next, Node{end, false, {}, {}})->second, event);
}

}  // namespace kernbench::data
