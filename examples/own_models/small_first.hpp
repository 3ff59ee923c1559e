#pragma once

#include <kernbench/registry.hpp>

#include <algorithm>

namespace acme {

namespace models = kernbench::models;

class SmallFirst : public models::LinkModel {
 public:
  explicit SmallFirst(const kernbench::ParamSet& params) : patience_(params.time("patience_ns")) {}

  std::size_t choose(std::span<const models::WaitingPacket> waiting, kernbench::Time now) override {
    if (now - waiting.front().arrival > patience_) return 0;  // the one that has waited longest
    const auto smaller = [](const auto& a, const auto& b) { return a.message_bytes < b.message_bytes; };
    return static_cast<std::size_t>(std::min_element(waiting.begin(), waiting.end(), smaller) -
                                    waiting.begin());
  }

 private:
  const kernbench::Time patience_;
};

/// A packet that had to wait arrives a nanosecond later: `pass` may delay by what has happened.
class LateFee : public models::LinkModel {
 public:
  explicit LateFee(const kernbench::ParamSet&) {}
  models::Passing pass(const models::WaitingPacket& packet, kernbench::Time now) override {
    using namespace kernbench::literals;
    return {packet.occupancy, now > packet.arrival ? 1_ns : 0_ns};
  }
};

inline kernbench::topology::Impl small_first() {
  using kernbench::Param;
  return {"acme.small_first",
          "small messages go first",
          {Param::number("patience_ns", 1000, {0, 1e6}, "nobody waits longer for smaller messages")},
          models::links<SmallFirst>()};
}

inline kernbench::topology::Impl late_fee() {
  return {"acme.late_fee", "who waited pays a nanosecond", {}, models::links<LateFee>()};
}

}  // namespace acme
