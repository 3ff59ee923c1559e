#include <fmt/format.h>

#include "tl/recorder.hpp"

namespace kernbench::tl {
namespace {

// The active lanes of a mask over `shape`, to which it broadcasts.
std::vector<isa::LaneRange> runs_of(const std::vector<double>& on, const Shape& mask, const Shape& shape) {
  isa::Strides strides{};
  const auto dense = isa::row_major(mask);
  const int more = shape.rank() - mask.rank();
  for (int i = 0; i < mask.rank(); ++i)
    if (mask[i] > 1) strides[static_cast<std::size_t>(i + more)] = dense[static_cast<std::size_t>(i)];
  std::vector<isa::LaneRange> runs;
  const auto length = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
  const auto step = shape.rank() == 0 ? 0 : strides[static_cast<std::size_t>(shape.rank() - 1)];
  for (std::int64_t row = 0; row < shape.elements(); row += length) {
    std::int64_t rest = row, at = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      at += rest % shape[axis] * strides[static_cast<std::size_t>(axis)];
      rest /= shape[axis];
    }
    for (std::int64_t lane = row; lane < row + length; ++lane, at += step) {
      if (on[static_cast<std::size_t>(at)] == 0) continue;
      if (!runs.empty() && runs.back().end == lane)
        ++runs.back().end;
      else
        runs.push_back({lane, lane + 1});
    }
  }
  return runs;
}

// Whether the last element is so far from the first that its place is no number of bytes any more.
bool reaches_too_far(const Shape& shape, const isa::Strides& strides) {
  std::int64_t reach = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    std::int64_t step = 0;
    if (__builtin_mul_overflow(std::max<std::int64_t>(shape[axis] - 1, 0),
                               strides[static_cast<std::size_t>(axis)], &step) ||
        __builtin_add_overflow(reach, step, &reach) || reach > Shape::kMaxElements)
      return true;
  }
  return false;
}

}  // namespace

void Recorder::check_pointer(Ptr ptr, std::string_view op, At at) const {
  if (ptr.is_null())
    fail(at,
         {"null-pointer", fmt::format("{} at a null pointer", op), "pass the pointer of a tensor argument"});
}

void Recorder::check_pointer(Ptr ptr, DType dtype, std::string_view op, At at) const {
  check_pointer(ptr, op, at);
  if (!ptr.dtype() || *ptr.dtype() == dtype) return;
  fail(at, {"dtype",
            fmt::format("{} of {} at {:#x}, which points into a tensor of {}", op, to_string(dtype),
                        ptr.address(), to_string(*ptr.dtype())),
            fmt::format(
                "use {} and cast the tile; ptr.as({}), in Python ptr.as_('{}'), takes the bytes as they are",
                to_string(*ptr.dtype()), to_string(dtype), to_string(dtype))});
}

std::uint32_t Recorder::strides_id(const Dims& strides, const Shape& shape, bool writes, std::string_view op,
                                   At at) {
  if (!strides.given()) return isa::kNone;
  const auto values = strides.values();
  if (strides.count() != shape.rank())
    fail(at, {"strides", fmt::format("{} of shape {} with {} strides", op, to_string(shape), strides.count()),
              "give one stride, in elements, for each axis"});
  isa::Strides given{};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto stride = values[static_cast<std::size_t>(axis)];
    if (stride < 0 || (stride == 0 && writes && shape[axis] > 1))
      fail(at, {"strides",
                fmt::format("{} of shape {} with stride {} in axis {}", op, to_string(shape), stride, axis),
                writes ? "strides of a store are above 0: each lane has a place of its own"
                       : "strides are 0 or more"});
    given[static_cast<std::size_t>(axis)] = stride;
  }
  if (reaches_too_far(shape, given))
    fail(at,
         {"strides", fmt::format("{} of shape {} with strides {}", op, to_string(shape), text_of(strides)),
          "its last element is more than 2⁶⁰ elements from the first"});
  return given == isa::row_major(shape) ? isa::kNone : builder_.strides(given);
}

std::uint32_t Recorder::mask_id(const Tile& mask, const Shape& shape, std::string_view op, At at) {
  if (!mask) return isa::kNone;
  const auto id = tile(mask, op, at);
  const auto text = [&] {
    return fmt::format("{} of shape {} with the mask {}", op, to_string(shape), describe(id));
  };
  if (value(id).dtype != DType::i1) fail(at, {"mask", text(), "a mask is i1; compare first"});
  if (!broadcasts_to(this->shape(id), shape))
    fail(at, {"mask", text(), "a mask has the shape of the access or broadcasts to it"});
  const auto answer = known_.ask(builder_.tables(), id);
  if (answer.numbers == nullptr) {
    const auto& cause = builder_.tables().command(*answer.depends_on);
    fail(at,
         {"mask",
          fmt::format("{}, which depends on the result of {} at {}", text(),
                      cause.kind == isa::CommandKind::math ? to_string(cause.op) : isa::to_string(cause.kind),
                      isa::to_string(builder_.tables().line(cause))),
          "a mask of load or store is built from arange, program ids and numbers; use where for data"});
  }
  const auto runs = runs_of(*answer.numbers, this->shape(id), shape);
  const bool all_on =
      shape.elements() == 0 || (runs.size() == 1 && runs[0] == isa::LaneRange{0, shape.elements()});
  return all_on ? isa::kNone : builder_.mask(runs);
}

Tile Context::load(Ptr ptr, const Dims& shape, DType dtype, const LoadOptions& options, At at) {
  auto& r = *recorder_;
  r.check_pointer(ptr, dtype, "load", at);
  const auto shape_id = r.shape_id(shape, "load", at);
  isa::Command c{.kind = isa::CommandKind::dma_read, .place = r.builder().address(ptr.address())};
  if (options.strides.given() || options.mask) {
    const auto& extents = r.tables().shape_of(shape_id);
    c.strides = r.strides_id(options.strides, extents, false, "load", at);
    c.detail = r.mask_id(options.mask, extents, "load", at);
  }
  const bool has_other = c.detail != isa::kNone && options.other != 0;
  const auto other = has_other ? r.scalar(options.other, dtype, "load", at) : isa::kNone;
  c.result = r.new_tile(dtype, shape_id, at);
  r.append(c, std::span(&other, has_other ? 1 : 0), at);
  return r.handle(c.result);
}

Op Context::store(Ptr ptr, const Tile& tile, const StoreOptions& options, At at) {
  auto& r = *recorder_;
  r.check_pointer(ptr, "store", at);
  const auto given = r.tile(tile, "store", at);
  const auto id = ptr.dtype() ? cast(tile, *ptr.dtype(), at).id() : given;
  isa::Command c{.kind = isa::CommandKind::dma_write, .place = r.builder().address(ptr.address())};
  c.strides = r.strides_id(options.strides, r.shape(id), true, "store", at);
  c.detail = r.mask_id(options.mask, r.shape(id), "store", at);
  return r.op(r.append(c, {id}, at));
}

void Recorder::check_atomic(MathOp op, isa::ValueId id, At at) const {
  const auto dtype = value(id).dtype;
  const bool of_bits = op == MathOp::bit_and || op == MathOp::bit_or || op == MathOp::bit_xor;
  const bool known = of_bits || op == MathOp::add || op == MathOp::maximum || op == MathOp::minimum;
  if (!known || (of_bits && !is_integer(dtype)) || (op == MathOp::add && dtype == DType::i1))
    fail(at, {"dtype", fmt::format("atomic {} of {}", to_string(op), describe(id)),
              "there are add, maximum and minimum, and of integers and, or, xor; i1 is not added"});
}

Op Context::atomic(MathOp op, Ptr ptr, const Tile& tile, const StoreOptions& options, At at) {
  auto& r = *recorder_;
  r.check_pointer(ptr, "atomic", at);
  const auto given = r.tile(tile, "atomic", at);
  const auto id = ptr.dtype() ? cast(tile, *ptr.dtype(), at).id() : given;
  r.check_atomic(op, id, at);
  isa::Command c{.kind = isa::CommandKind::atomic, .op = op, .place = r.builder().address(ptr.address())};
  c.strides = r.strides_id(options.strides, r.shape(id), true, "atomic", at);
  c.detail = r.mask_id(options.mask, r.shape(id), "atomic", at);
  return r.op(r.append(c, {id}, at));
}
Op Context::atomic_add(Ptr ptr, const Tile& tile, const StoreOptions& options, At at) {
  return atomic(MathOp::add, ptr, tile, options, at);
}
Op Context::atomic_max(Ptr ptr, const Tile& tile, const StoreOptions& options, At at) {
  return atomic(MathOp::maximum, ptr, tile, options, at);
}
Op Context::atomic_min(Ptr ptr, const Tile& tile, const StoreOptions& options, At at) {
  return atomic(MathOp::minimum, ptr, tile, options, at);
}
Op Context::atomic_and(Ptr ptr, const Tile& tile, const StoreOptions& options, At at) {
  return atomic(MathOp::bit_and, ptr, tile, options, at);
}
Op Context::atomic_or(Ptr ptr, const Tile& tile, const StoreOptions& options, At at) {
  return atomic(MathOp::bit_or, ptr, tile, options, at);
}

Tile Context::ref(Ptr ptr, const Dims& shape, DType dtype, const Dims& strides, At at) {
  auto& r = *recorder_;
  r.check_pointer(ptr, dtype, "ref", at);
  const auto shape_id = r.shape_id(shape, "ref", at);
  const auto& extents = r.tables().shape_of(shape_id);
  const auto given = r.strides_id(strides, extents, false, "ref", at);
  isa::Strides steps = isa::row_major(extents);
  if (given != isa::kNone) std::ranges::copy(strides.values(), steps.begin());
  return r.handle(r.builder().reference(dtype, shape_id, ptr.address(), steps));
}

double Context::load_scalar(Ptr ptr, DType dtype, At at) {
  auto& r = *recorder_;
  r.check_pointer(ptr, dtype, "load_scalar", at);
  const auto& source = r.environment().scalars;
  if (!source)
    r.fail(at, {"scalar", "load_scalar without memory to read from",
                "give the context's environment a ScalarSource"});
  const double number = r.placed(
      at, "scalar", [&] { return fmt::format("load_scalar of {:#x}", ptr.address()); },
      [&] { return source(ptr.address(), dtype); });
  r.append({.kind = isa::CommandKind::load_scalar,
            .detail8 = static_cast<std::uint8_t>(dtype),
            .place = r.builder().address(ptr.address())},
           {}, at);
  return number;
}

void Context::wait(const Op& op, At at) {
  recorder_->check_op(op, at);
  recorder_->append({.kind = isa::CommandKind::wait, .detail = op.command()}, {}, at);
}

void Context::wait(const Tile& tile, At at) {
  const auto id = recorder_->tile(tile, "wait", at);
  recorder_->append({.kind = isa::CommandKind::wait, .detail = recorder_->value(id).producer}, {}, at);
}

Tile Context::wait(const PendingTile& pending, At at) {
  const Tile& tile = pending;
  wait(tile, at);
  return tile;
}

void Context::fence(At at) { recorder_->append({.kind = isa::CommandKind::fence}, {}, at); }

Ptr operator+(Ptr p, const PointerTile& offsets) { Recorder::reject_pointer_tile(p, offsets); }

void Recorder::reject_pointer_tile(Ptr p, const PointerTile& offsets) {
  const auto* recorder = offsets.tile.recorder_;
  const bool known = recorder != nullptr && recorder->is_own(offsets.tile);
  const Complaint complaint{
      "pointer-tile",
      fmt::format("pointer {:#x} plus the tile {}", p.address(),
                  known ? recorder->describe(offsets.tile.id()) : std::string("(empty)")),
      "there are no tiles of pointers: give load and store one address and `strides`, and a `mask` if need "
      "be"};
  if (known) recorder->fail(offsets.at, complaint);
  throw KernelError({.id = "tl.pointer-tile",
                     .where = isa::to_string({offsets.at.file_name(), offsets.at.line()}),
                     .what = complaint.what,
                     .hint = complaint.hint});
}

}  // namespace kernbench::tl
