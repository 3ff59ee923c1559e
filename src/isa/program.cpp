#include "kernbench/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "isa/interner.hpp"

namespace kernbench::isa {
namespace {

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

class Hash {
 public:
  std::uint64_t value() const { return value_; }
  void add(std::uint64_t word) { value_ = mix(value_, word); }
  void add(std::int64_t word) { add(static_cast<std::uint64_t>(word)); }
  void add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));
    for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  }
  void add(std::uint32_t a, std::uint32_t b) { add(static_cast<std::uint64_t>(a) << 32 | b); }
  void add(const Command& c) {
    add(static_cast<std::uint64_t>(c.kind) << 24 | static_cast<std::uint64_t>(c.op) << 16 |
        static_cast<std::uint64_t>(c.read_count) << 8 | c.detail8);
    add(c.line, c.result);
    for (std::size_t i = 0; i < std::min<std::size_t>(c.read_count, c.read.size()); ++i)
      add(static_cast<std::uint64_t>(c.read[i]));
    add(c.address);
    add(c.strides, c.detail);
  }
  void add(const Value& v) {
    add(v.shape, v.place);
    add(v.granules, static_cast<std::uint32_t>(v.dtype) << 8 | static_cast<std::uint32_t>(v.kind));
  }

 private:
  std::uint64_t value_ = 0x6B65'726E'6265'6E63;
};

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
  return {files_[lines_[c.line].file], lines_[c.line].line};
}

Bytes Program::bytes(ValueId id) const { return Bytes(shape(id).elements() * itemsize(values_[id].dtype)); }

Bytes Program::distinct_bytes(ValueId id) const {
  const auto& v = values_[id];
  if (v.kind != ValueKind::view) return bytes(id);
  const auto& extents = shape(id);
  const auto& strides = strides_[places_[v.place].strides];
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
  return id == kNone ? row_major(shape) : strides_[id];
}

Layout Program::layout(ValueId id) const {
  const auto& v = values_[id];
  switch (v.kind) {
    case ValueKind::view:
      return {places_[v.place].base, places_[v.place].offset, strides_[places_[v.place].strides]};
    case ValueKind::reference:
      return {id, 0, strides_[places_[v.place].strides]};
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
  return std::span(runs_).subspan(masks_[c.detail].first_run, masks_[c.detail].run_count);
}

std::span<const std::uint64_t> Program::run_addresses(const Command& c) const {
  if (!masked(c) || masks_[c.detail].first_address == kNone) return {};
  return std::span(run_addresses_).subspan(masks_[c.detail].first_address, masks_[c.detail].run_count);
}

std::int64_t Program::active_lanes(const Command& c) const {
  return masked(c) ? masks_[c.detail].lanes : shape(moved(c)).elements();
}

std::string_view Program::direction(const Command& c) const {
  return c.detail == kNone ? std::string_view() : std::string_view(directions_[c.detail]);
}

std::uint32_t Program::instance(CommandIndex command) const {
  return static_cast<std::uint32_t>(std::ranges::upper_bound(instances_, command) - instances_.begin());
}

std::size_t Program::memory_bytes() const {
  return bytes_of(commands_) + bytes_of(values_) + bytes_of(more_reads_) + bytes_of(shapes_) +
         bytes_of(strides_) + bytes_of(places_) + bytes_of(scalars_) + bytes_of(masks_) + bytes_of(runs_) +
         bytes_of(run_addresses_) + bytes_of(composites_) + bytes_of(steps_) + bytes_of(lines_) +
         bytes_of(instances_);
}

bool operator==(const Program& a, const Program& b) {
  const auto alike = [](const auto& x, const auto& y) {
    return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin());
  };
  return a.pe_ == b.pe_ && a.kernel_ == b.kernel_ && a.peak_granules_ == b.peak_granules_ &&
         alike(a.commands_, b.commands_) && alike(a.values_, b.values_) && a.more_reads_ == b.more_reads_ &&
         a.shapes_ == b.shapes_ && a.strides_ == b.strides_ && alike(a.places_, b.places_) &&
         alike(a.scalars_, b.scalars_) && a.masks_ == b.masks_ && a.runs_ == b.runs_ &&
         a.run_addresses_ == b.run_addresses_ && a.directions_ == b.directions_ &&
         a.composites_ == b.composites_ && a.steps_ == b.steps_ && a.files_ == b.files_ &&
         a.lines_ == b.lines_ && a.instances_ == b.instances_;
}

std::uint64_t Program::fingerprint() const {
  Hash hash;
  hash.add(kernel_);
  hash.add(static_cast<std::uint32_t>(pe_.sip), static_cast<std::uint32_t>(pe_.cube));
  hash.add(static_cast<std::uint64_t>(pe_.pe));
  for (const auto& c : commands_) hash.add(c);
  for (const auto& v : values_) hash.add(v);
  for (const auto id : more_reads_) hash.add(static_cast<std::uint64_t>(id));
  for (const auto& s : shapes_)
    for (hash.add(static_cast<std::uint64_t>(s.rank())); const auto extent : s) hash.add(extent);
  for (const auto& s : strides_)
    for (const auto stride : s) hash.add(stride);
  for (const auto& p : places_) hash.add(p.base, p.strides), hash.add(p.offset);
  for (const auto number : scalars_) hash.add(std::bit_cast<std::uint64_t>(number));
  for (const auto& m : masks_) {
    hash.add(m.first_run, m.run_count);
    if (m.first_address != kNone) hash.add(static_cast<std::uint64_t>(m.first_address));
  }
  for (const auto run : runs_) hash.add(run.begin), hash.add(run.end);
  for (const auto address : run_addresses_) hash.add(address);
  for (const auto& name : directions_) hash.add(name);
  for (const auto& s : composites_) hash.add(s.a, s.b), hash.add(s.out, s.step_count);
  for (const auto& s : steps_)
    hash.add(static_cast<std::uint32_t>(s.op) << 1 | static_cast<std::uint32_t>(s.point), s.operand);
  for (const auto& l : lines_)
    hash.add(name_of(files_[l.file])), hash.add(static_cast<std::uint64_t>(l.line));
  for (const auto first : instances_) hash.add(static_cast<std::uint64_t>(first));
  return hash.value();
}

}  // namespace kernbench::isa
