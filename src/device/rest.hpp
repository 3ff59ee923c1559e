// A machine at rest: whether it is, and what it has counted.
//
// When nothing is scheduled, nothing is under way: what is left of the past are times at which something became free, all of
// them over, and counters. Then what happens next depends on nothing but what is asked of the machine, its maps, its wirings and
// where the rings stand.
#pragma once

#include <cstdint>
#include <vector>

#include "device/processors.hpp"

namespace kernbench::device {

/// What a machine has counted, or by how much that has grown.
struct MachineCounts {
  std::vector<std::uint32_t> serials;  // of records, per partition
  std::vector<std::uint32_t> rings;    // messages, by ring
  std::vector<Bytes> links;            // what each has carried
  std::vector<Bytes> served;           // by each HBM slice
  FabricCounters fabric;

  /// What came since `before`.
  MachineCounts since(const MachineCounts& before) const;
};

class Rest {
 public:
  explicit Rest(Processors& processors) : processors_(processors) {}

  /// Whether the models of this machine forget: else it is never at rest.
  bool is_possible() const;
  /// Whether nothing is under way, all messages are consumed, and nothing that happened before makes a difference from now on.
  /// Not while it runs.
  bool is_now() const;
  /// The slots that come next in rings whose memory tells addresses apart.
  std::vector<std::uint32_t> positions() const;
  MachineCounts counts() const;
  /// As if the machine had done it, at rest.
  void add(const MachineCounts& more);

 private:
  template <class Fn>
  void for_each_port(const Fn& fn) const;

  Processors& processors_;
};

}  // namespace kernbench::device
