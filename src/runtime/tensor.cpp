#include "kernbench/tensor.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "kernbench/error.hpp"
#include "runtime/content.hpp"
#include "runtime/engine.hpp"
#include "runtime/numbers.hpp"

namespace kernbench::runtime {
namespace {

void check_array(const Storage& storage, const Shape& shape, const NdArray& array) {
  if (array.dtype() == storage.dtype && array.shape() == shape) return;
  throw InputError({"tensor.copy", fmt::format("tensor '{}'", storage.name),
                    fmt::format("an array {}{} for {}{}", to_string(array.dtype()), to_string(array.shape()),
                                to_string(storage.dtype), to_string(shape)),
                    "shape and dtype must be the same; convert or reshape the array first"});
}

/// A copy of the array is made only if somebody will look at it.
void write(TensorState& state, const Region& region, const NdArray& array) {
  check_array(*state.storage(), region.shape, array);
  Engine& engine = state.engine();
  const bool is_kept = engine.options().data || state.layout().bytes() <= kImageBytes;
  engine.write(state, region, is_kept ? array_content(array) : Engine::Fill{});
}

}  // namespace

TensorState& Tensor::checked() const {
  if (!state_)
    throw InputError({"tensor.none", "", "this Tensor is none", "assign it one that a Torch has made"});
  return *state_;
}

const Shape& Tensor::shape() const { return checked().layout().shape(); }
DType Tensor::dtype() const { return checked().storage()->dtype; }
std::int64_t Tensor::nbytes() const { return checked().layout().bytes(); }
int Tensor::itemsize() const { return checked().layout().itemsize(); }
const std::string& Tensor::name() const { return checked().storage()->name; }
int Tensor::sip() const { return checked().storage()->sip; }
const DPPolicy& Tensor::dp() const { return checked().storage()->policy; }
address::MemorySpace Tensor::mem() const { return checked().storage()->mem; }
tl::Ptr Tensor::ptr() const {
  const Storage& storage = *checked().storage();
  return {storage.base.raw(), storage.dtype};
}

std::vector<ShardSpec> Tensor::shards() const {
  return shard_specs(checked().layout(), checked().storage()->sip);
}

Tensor& Tensor::copy_(const NdArray& array) {
  TensorState& state = checked();
  write(state, Region::whole(state.layout()), array);
  return *this;
}

Tensor& Tensor::fill_(double value) {
  TensorState& state = checked();
  state.engine().write(state, Region::whole(state.layout()),
                       value_content(state.storage()->dtype, value, state.storage()->name));
  return *this;
}

NdArray Tensor::numpy() const {
  TensorState& state = checked();
  return state.engine().read(state, Region::whole(state.layout()));
}

TensorSlice Tensor::operator[](std::initializer_list<tl::Slice> slices) const {
  return slice(std::span(slices.begin(), slices.size()));
}

TensorSlice Tensor::slice(std::span<const tl::Slice> slices) const {
  checked();
  return {state_, slices};
}

TensorSlice::TensorSlice(std::shared_ptr<TensorState> state, std::span<const tl::Slice> slices)
    : state_(std::move(state)), slices_(slices.begin(), slices.end()) {
  try {
    shape_ = Region::of(state_->layout().shape(), slices_).shape;
  } catch (const InputError& e) {
    throw InputError({e.id(), fmt::format("tensor '{}'", state_->storage()->name), e.message(), e.hint()});
  }
}

NdArray TensorSlice::numpy() const {
  return state_->engine().read(*state_, Region::of(state_->layout().shape(), slices_));
}

const TensorSlice& TensorSlice::copy_(const NdArray& array) const {
  write(*state_, Region::of(state_->layout().shape(), slices_), array);
  return *this;
}

const TensorSlice& TensorSlice::fill_(double value) const {
  state_->engine().write(*state_, Region::of(state_->layout().shape(), slices_),
                         value_content(state_->storage()->dtype, value, state_->storage()->name));
  return *this;
}

namespace {

std::string mean_and_norm(const Tensor& tensor) {
  NdArray array;
  try {
    array = tensor.numpy();
  } catch (const Error& e) {
    if (e.id() == "data.unwritten" || e.id() == "tensor.unwritten") return "not written";
    if (e.id() == "tensor.no-data") return "values not known";
    if (e.id() == "tensor.freed") return "freed";
    throw;
  }
  double sum = 0, squares = 0;
  with_type(array.dtype(), [&](auto type) {
    for (const auto element : array.view<decltype(type)>()) {
      const double x = number_of(element);
      sum += x, squares += x * x;
    }
  });
  return fmt::format("mean {:.6g}, norm {:.6g}", sum / static_cast<double>(array.elements()),
                     std::sqrt(squares));
}

}  // namespace

std::string to_string(const Tensor& tensor) {
  if (!tensor) return "tensor none";
  const auto shards = tensor.state()->layout().holders().size();
  return fmt::format("tensor '{}' {}{} on sip{}, {} shard{}, {}", tensor.name(), to_string(tensor.dtype()),
                     to_string(tensor.shape()), tensor.sip(), shards, shards == 1 ? "" : "s",
                     mean_and_norm(tensor));
}

}  // namespace kernbench::runtime
