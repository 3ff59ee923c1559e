// A PE's slice of its cube's HBM, with its controller. Two variants: one for models that know at once when a burst is through
// (hbm_slice.hpp), one for all others (hbm_controller.hpp).
#pragma once

#include <memory>
#include <optional>

#include "device/arrivals.hpp"
#include "device/memory.hpp"
#include "kernbench/machine.hpp"

namespace kernbench::device {

/// How a transfer of several rows is charged (`pe_dma.strided`).
enum class Strided : std::uint8_t { linear, gather };

struct HbmSpec {
  Bytes burst;
  Strided strided = Strided::linear;
  static HbmSpec of(const topology::Machine& machine);
};

/// The bursts of an extent in order, each with the number of the transfer's bytes it completes. `taken` bytes
/// have been seen to before.
class Bursts {
 public:
  struct Burst {
    std::int64_t number;  // in the slice
    std::int64_t end;     // bytes of the transfer up to and with this burst
  };

  Bursts(const HbmSpec& spec, const Extent& extent, std::int64_t taken = 0);
  Burst next();
  bool more() const { return taken_ < all_; }

 private:
  const Extent& extent_;
  const std::int64_t all_, burst_;
  const bool linear_;
  std::int64_t taken_;
  std::int64_t address_, left_;  // of the next byte; bytes of its row from there on
};

class HbmMemory : public Memory {
 public:
  HbmMemory(Fabric& fabric, topology::NodeId node, const HbmSpec& spec) : Memory(fabric, node), spec_(spec) {}
  Bytes bytes_served() const { return served_; }  // whole bursts
  void note_served(Bytes bursts) { served_ += bursts; }
  /// As its model says.
  virtual bool forgets() const = 0;
  virtual std::optional<models::MemoryActivity> activity() const = 0;

 protected:
  const HbmSpec spec_;
  Arrivals arrivals_;

 private:
  Arrivals* arrivals() final { return &arrivals_; }
  Bytes served_;
};

/// Makes the slices of a machine.
class HbmMaker {
 public:
  explicit HbmMaker(const topology::Machine& machine);
  std::unique_ptr<HbmMemory> make(Fabric& fabric, topology::NodeId node) const;

 private:
  const HbmSpec spec_;
  const models::MemoryBehaviour& behaviour_;
  const ParamSet& params_;
};

}  // namespace kernbench::device
