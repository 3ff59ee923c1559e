// The bars of a page's timeline: every operation by itself where there are few, else neighbours joined, so that a
// page stays small however long the run was. Operations of the critical path are never joined.
#pragma once

#include <set>

#include "report/page_ops.hpp"

namespace kernbench::report {

struct Bar {
  Time start, end;
  int track = 0, lane = 0;  // operations of a track that overlap lie in lanes
  std::int64_t count = 1;   // operations in it
  std::size_t op = 0;       // index of it, or of the longest
  bool critical = false;
};

struct Bars {
  std::vector<Bar> bars;  // by track, then by start
  Time joined_below;      // shorter operations with shorter gaps are joined; 0: none are
};

/// At most `most` bars, as far as the critical path allows.
Bars make_bars(const PageOps& ops, const std::set<std::int64_t>& critical, std::size_t most);

}  // namespace kernbench::report
