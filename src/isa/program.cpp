#include "kernbench/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "isa/file_name.hpp"

namespace kernbench::isa {
namespace {

template <class T>
std::size_t bytes_of(const T& items) {
  return items.size() * sizeof(items[0]);
}

}  // namespace

std::string_view to_string(CommandKind kind) {
  constexpr std::string_view kNames[] = {"dma_read", "dma_write", "load_scalar", "gemm",
                                         "math",     "composite", "send",        "recv",
                                         "wait",     "fence",     "atomic"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view to_string(CompositeOp) { return "gemm"; }

std::string to_string(SourceLine at) { return fmt::format("{}:{}", name_of(at.file), at.line); }

Strides row_major(const Shape& shape) {
  Strides strides{};
  std::int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = step;
    step *= shape[axis];
  }
  return strides;
}

SourceLine Program::line(const Command& c) const {
  return {body_->files[body_->lines[c.line].file], body_->lines[c.line].line};
}

Bytes Program::distinct_bytes(ValueId id) const {
  const auto& v = body_->values[id];
  if (v.kind != ValueKind::view) return bytes(id);
  const auto& extents = shape(id);
  const auto& strides = body_->strides[body_->places[v.place].strides];
  std::int64_t elements = 1;
  for (int axis = 0; axis < extents.rank(); ++axis)
    if (extents[axis] == 0 || strides[static_cast<std::size_t>(axis)] != 0) elements *= extents[axis];
  return Bytes(elements * itemsize(v.dtype));
}

std::int64_t Program::math_elements(const Command& c) const {
  const bool by_operand = info(c.op).kind == MathKind::reduction || c.op == MathOp::histogram;
  const auto& worked_on = shape(by_operand ? reads(c)[0] : c.result);
  const bool along = info(c.op).kind == MathKind::scan || c.op == MathOp::sort;
  return worked_on.elements() * (along ? passes(c.op, worked_on[axis(c)]) : 1);
}

GemmSize Program::gemm_size(const Command& c) const {
  const auto &a = shape(reads(c)[0]), &b = shape(reads(c)[1]), &out = shape(c.result);
  const auto back = [](const Shape& s, int i) { return s[s.rank() - i]; };
  std::int64_t batches = 1;
  for (int i = 0; i < out.rank() - 2; ++i) batches *= out[i];
  return {batches, back(a, 2), back(a, 1), back(b, 1)};
}

Strides Program::strides_or_row_major(std::uint32_t id, const Shape& shape) const {
  return id == kNone ? row_major(shape) : body_->strides[id];
}

Layout Program::layout(ValueId id) const {
  const auto& v = body_->values[id];
  switch (v.kind) {
    case ValueKind::view:
      return {body_->places[v.place].base, body_->places[v.place].offset,
              body_->strides[body_->places[v.place].strides]};
    case ValueKind::reference:
      return {id, 0, body_->strides[body_->places[v.place].strides]};
    case ValueKind::tile:
    case ValueKind::placed:
    case ValueKind::scalar:
      break;
  }
  return {id, 0, row_major(shape(id))};
}

Strides Program::strides(const Command& c) const { return strides_or_row_major(c.strides, shape(moved(c))); }

std::span<const LaneRange> Program::active_runs(const Command& c) const {
  if (!masked(c)) return {};
  return std::span(body_->runs).subspan(body_->masks[c.detail].first_run, body_->masks[c.detail].run_count);
}

std::span<const std::uint64_t> Program::run_addresses(const Command& c) const {
  if (!masked(c) || body_->masks[c.detail].first_address == kNone) return {};
  return std::span(run_addresses_)
      .subspan(body_->masks[c.detail].first_address, body_->masks[c.detail].run_count);
}

std::int64_t Program::active_lanes(const Command& c) const {
  return masked(c) ? body_->masks[c.detail].lanes : shape(moved(c)).elements();
}

std::string_view Program::direction(const Command& c) const {
  return c.detail == kNone ? std::string_view() : std::string_view(body_->directions[c.detail]);
}

std::uint32_t Program::instance(CommandIndex command) const {
  return static_cast<std::uint32_t>(std::ranges::upper_bound(body_->instances, command) -
                                    body_->instances.begin());
}

std::size_t Program::memory_bytes() const {
  return bytes_of(body_->commands) + bytes_of(body_->values) + bytes_of(body_->more_reads) +
         bytes_of(body_->shapes) + bytes_of(body_->strides) + bytes_of(body_->places) +
         bytes_of(body_->scalars) + bytes_of(body_->masks) + bytes_of(body_->runs) + bytes_of(addresses_) +
         bytes_of(run_addresses_) + bytes_of(body_->composites) + bytes_of(body_->steps) +
         bytes_of(body_->lines) + bytes_of(body_->instances);
}

bool Program::Body::operator==(const Body& other) const {
  const Body &a = *this, &b = other;
  const auto alike = [](const auto& x, const auto& y) {
    return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin());
  };
  const auto same_bits = [](const Table<double>& x, const Table<double>& y) {  // 0 is not −0
    const auto equal = [](double p, double q) {
      return std::bit_cast<std::uint64_t>(p) == std::bit_cast<std::uint64_t>(q);
    };
    return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), equal);
  };
  return a.kernel == b.kernel && a.peak_granules == b.peak_granules && alike(a.commands, b.commands) &&
         alike(a.values, b.values) && a.more_reads == b.more_reads && a.shapes == b.shapes &&
         a.strides == b.strides && alike(a.places, b.places) && same_bits(a.scalars, b.scalars) &&
         a.masks == b.masks && a.runs == b.runs && a.directions == b.directions &&
         a.composites == b.composites && a.steps == b.steps && a.files == b.files && a.lines == b.lines &&
         a.instances == b.instances;
}

bool operator==(const Program& a, const Program& b) {
  return a.pe_ == b.pe_ && a.addresses_.size() == b.addresses_.size() &&
         std::equal(a.addresses_.begin(), a.addresses_.end(), b.addresses_.begin()) &&
         a.run_addresses_ == b.run_addresses_ && (a.body_ == b.body_ || *a.body_ == *b.body_);
}

const std::shared_ptr<const Program::Body>& Program::no_body() {
  static const std::shared_ptr<const Body> none = std::make_shared<Body>();
  return none;
}

}  // namespace kernbench::isa
