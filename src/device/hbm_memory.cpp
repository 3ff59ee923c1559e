#include "device/hbm_memory.hpp"

#include <algorithm>
#include <bit>

#include "device/hbm_controller.hpp"
#include "device/hbm_slice.hpp"
#include "kernbench/error.hpp"

namespace kernbench::device {

HbmSpec HbmSpec::of(const topology::Machine& machine) {
  return {machine.at("cube.hbm").bytes("burst_bytes"), machine.gathers() ? Strided::gather : Strided::linear};
}

Bursts::Bursts(const HbmSpec& spec, const Extent& extent, std::int64_t taken)
    : extent_(extent),
      all_(extent.bytes().count()),
      burst_(spec.burst.count()),
      linear_(spec.strided == Strided::linear && extent.rows > 1),
      taken_(taken) {
  const std::int64_t row = extent.rows > 1 ? taken / extent.row_bytes : 0;
  left_ = (row + 1) * extent.row_bytes - taken;
  address_ = extent.offset + row * extent.stride + extent.row_bytes - left_;
}

/// A transfer of one row, or of several where each is charged, is cut at burst boundaries. A linear one of
/// several rows takes ⌈bytes / burst⌉ bursts from the one that holds its first byte.
Bursts::Burst Bursts::next() {
  if (linear_) {
    const std::int64_t number = extent_.offset / burst_ + taken_ / burst_;
    taken_ = std::min(taken_ + burst_, all_);
    return {number, taken_};
  }
  const auto burst = static_cast<std::uint64_t>(burst_);
  const std::int64_t number =
      std::has_single_bit(burst) ? address_ >> std::countr_zero(burst) : address_ / burst_;
  const std::int64_t bytes = std::min((number + 1) * burst_ - address_, left_);
  taken_ += bytes;
  left_ -= bytes;
  address_ += bytes;
  if (left_ == 0) {
    left_ = extent_.row_bytes;
    address_ += extent_.stride - extent_.row_bytes;
  }
  return {number, taken_};
}

namespace {

/// A prompt memory is asked through its own functions, and answers nobody.
class Nobody final : public models::MemoryAnswers {
 public:
  void through(std::uint64_t, std::int64_t, std::span<const Time>) override {
    KB_ASSERT(false, "a memory that was asked nothing answered");
  }
};

}  // namespace

HbmMaker::HbmMaker(const topology::Machine& machine)
    : spec_(HbmSpec::of(machine)),
      behaviour_(machine.behaviour<models::MemoryBehaviour>("cube.hbm")),
      params_(machine.at("cube.hbm")) {}

std::unique_ptr<HbmMemory> HbmMaker::make(Fabric& fabric, topology::NodeId node) const {
  static Nobody nobody;
  auto model = behaviour_.make(params_, {fabric.partition_of(node), nobody});
  if (model->prompt()) return std::make_unique<HbmSlice>(fabric, node, spec_, std::move(model));
  return std::make_unique<HbmController>(fabric, node, spec_, behaviour_, params_);
}

}  // namespace kernbench::device
