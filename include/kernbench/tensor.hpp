// Tensors: arrays in the memory of one SIP, as a host program holds them.
//
//   Tensor x = torch.zeros({32, 64}, f16, DPPolicy{.cube = Split::column_wise, .pe = Split::column_wise}, "x");
//   x.copy_(array);                                    // returns at once; the write is in the stream
//   x[{tl::index(3), {0, 16}}].copy_(row);             // x[3, 0:16] = row; slices may span shards
//   NdArray y = x[{tl::all, {8, 24}}].numpy();         // waits for what it needs
//
// A Tensor is a handle: copies share the tensor. When the last one goes, the tensor is unmapped, in the order of its
// stream, and its memory is free when that is done. Host arrays are the *logical* tensor, whatever the policy; all
// copies of a replicated tensor are written.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernbench/address.hpp"
#include "kernbench/dtype.hpp"
#include "kernbench/error.hpp"
#include "kernbench/ndarray.hpp"
#include "kernbench/placement.hpp"
#include "kernbench/shape.hpp"
#include "kernbench/tl_types.hpp"

namespace kernbench::runtime {

class TensorState;

/// With data off: the values were computed, or are of a tensor above 1 MiB, and so are not known.
class NoData : public InputError {
  using InputError::InputError;
};

/// A part of a tensor, to be read or written. An indexed axis is gone from its shape.
class TensorSlice {
 public:
  const Shape& shape() const { return shape_; }
  NdArray numpy() const;
  /// The array has the slice's shape and the tensor's dtype.
  const TensorSlice& copy_(const NdArray& array) const;
  const TensorSlice& fill_(double value) const;

 private:
  friend class Tensor;
  TensorSlice(std::shared_ptr<TensorState> state, std::span<const tl::Slice> slices);
  std::shared_ptr<TensorState> state_;
  std::vector<tl::Slice> slices_;
  Shape shape_;
};

class Tensor {
 public:
  Tensor() = default;  // none
  explicit operator bool() const { return state_ != nullptr; }

  const Shape& shape() const;
  DType dtype() const;
  std::int64_t nbytes() const;  // of the logical tensor, copies not counted
  int itemsize() const;
  const std::string& name() const;
  int sip() const;
  const DPPolicy& dp() const;
  address::MemorySpace mem() const;
  /// What each PE holds.
  std::vector<ShardSpec> shards() const;
  /// What a kernel gets for it: its virtual base.
  tl::Ptr ptr() const;

  /// Writes all of it. The array has the tensor's shape and dtype.
  Tensor& copy_(const NdArray& array);
  Tensor& fill_(double value);
  /// Reads all of it, once everything before it in the stream is done. InputError (`tensor.copies-differ`) if copies
  /// of a replicated tensor differ; SimulationError (`data.unwritten`) if nobody wrote it; NoData.
  NdArray numpy() const;

  /// One Slice for each of the leading axes: `x[{tl::index(3), {0, 16}}]`. Steps are not supported.
  TensorSlice operator[](std::initializer_list<tl::Slice> slices) const;
  TensorSlice slice(std::span<const tl::Slice> slices) const;

  const std::shared_ptr<TensorState>& state() const { return state_; }  // for the layers above
  explicit Tensor(std::shared_ptr<TensorState> state) : state_(std::move(state)) {}

 private:
  TensorState& checked() const;
  std::shared_ptr<TensorState> state_;
};

/// `tensor 'x' f16[32, 64] on sip0, 128 shards, mean 0.5, norm 12`. Mean and norm are those of a host read, which
/// takes its time; where the values are not known they are left out.
std::string to_string(const Tensor& tensor);

}  // namespace kernbench::runtime

namespace kernbench {
using runtime::NoData;
using runtime::Tensor;
}  // namespace kernbench
