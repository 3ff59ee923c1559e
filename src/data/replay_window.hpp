// Work of replay that is planned but not done: a stretch of the total order, executed by several threads.
//
// All work of one PE (and all of the host) forms a strand and is done in order. Between strands work is
// ordered where one piece writes what the other reads or writes (found by pages: too much order is harmless)
// and from a send to its receive. Whatever the threads do, each piece of work therefore sees what it would
// see if all were done one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "data/pieces.hpp"

namespace kernbench::data {

/// Names one piece of work: the n-th of a strand of the window at hand.
struct WorkRef {
  std::uint32_t strand;
  std::uint32_t position;
};

class ReplayWindow {
 public:
  /// Does one piece of work, using up to so many threads of its own.
  using Work = std::function<void(int threads)>;

  explicit ReplayWindow(int threads) : threads_(threads) {}

  /// Adds work to the end of a strand.
  WorkRef add(std::uint32_t strand, Work work);
  /// The work that was added last reads or writes these bytes.
  void touches(WorkRef work, std::span<const Piece> pieces, bool write);
  /// `later` is done after `earlier`.
  void order(WorkRef earlier, WorkRef later);

  std::size_t size() const { return size_; }
  /// Counts windows: a WorkRef of an earlier one is done.
  std::uint64_t generation() const { return generation_; }
  /// Does all of it and is empty again. Rethrows the error of the earliest work that failed.
  void run();

 private:
  struct Entry {
    Work work;
    std::uint64_t serial;  // in the total order
    std::vector<WorkRef> after;
  };
  struct Strand {
    std::vector<Entry> entries;
  };
  struct PageUse {  // by the latest work of each strand
    bool written = false;
    WorkRef writer{};
    std::vector<WorkRef> readers;
  };
  class Crew;

  void touch(WorkRef work, PageUse& page, bool write);
  void run_alone();
  void clear();

  int threads_;
  std::size_t size_ = 0;
  std::uint64_t generation_ = 0;
  std::vector<Strand> strands_;
  std::vector<WorkRef> sequence_;
  std::unordered_map<std::uint64_t, PageUse> pages_;
};

}  // namespace kernbench::data
