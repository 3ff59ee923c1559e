#include "kernbench/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "isa/interner.hpp"

namespace kernbench::isa {
namespace {

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Hashes of N programs that share all but addresses, computed side by side. A hash is a chain of dependent
/// steps; the processor works on several chains in the time of one, as long as they stay in its registers.
template <std::size_t N>
class Hashes {
 public:
  Hashes() { value_.fill(0x6B65'726E'6265'6E63); }
  const std::array<std::uint64_t, N>& values() const { return value_; }
  /// Adds `of(i)` to the i-th hash.
  template <class Of>
  [[gnu::always_inline]] void add_each(const Of& of) {
    for (std::size_t i = 0; i < N; ++i) value_[i] = mix(value_[i], of(i));
  }
  [[gnu::always_inline]] void add(std::uint64_t word) {
    for (std::size_t i = 0; i < N; ++i) value_[i] = mix(value_[i], word);
  }
  [[gnu::always_inline]] void add(std::int64_t word) { add(static_cast<std::uint64_t>(word)); }
  [[gnu::always_inline]] void add(std::uint32_t a, std::uint32_t b) {
    add(static_cast<std::uint64_t>(a) << 32 | b);
  }
  void add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));
    for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  }
  template <class AddressOf>
  [[gnu::always_inline]] void add(const Command& c, const AddressOf& address_of) {
    add(static_cast<std::uint64_t>(c.kind) << 24 | static_cast<std::uint64_t>(c.op) << 16 |
        static_cast<std::uint64_t>(c.read_count) << 8 | c.detail8);
    add(c.line, c.result);
    for (std::size_t i = 0; i < std::min<std::size_t>(c.read_count, c.read.size()); ++i)
      add(static_cast<std::uint64_t>(c.read[i]));
    c.place == kNone ? add(std::uint64_t{0}) : add_each(address_of);
    add(c.strides, c.detail);
  }
  [[gnu::always_inline]] void add(const Value& v) {
    add(v.shape, v.place);
    add(v.granules, static_cast<std::uint32_t>(v.dtype) << 8 | static_cast<std::uint32_t>(v.kind));
  }

 private:
  std::array<std::uint64_t, N> value_;
};

/// Adds the two largest tables. By value, so that the hashes stay in registers.
template <std::size_t N>
Hashes<N> with_commands_and_values(Hashes<N> hash, const Table<Command>& commands, const Table<Value>& values,
                                   const std::array<const Table<std::uint64_t>*, N>& addresses) {
  for (const auto& c : commands) hash.add(c, [&](std::size_t i) { return (*addresses[i])[c.place]; });
  for (const auto& v : values) hash.add(v);
  return hash;
}

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

template <std::size_t N>
std::array<std::uint64_t, N> Program::fingerprints_of(const std::array<const Program*, N>& programs) {
  const Body& body = *programs[0]->body_;
  Hashes<N> hash;
  hash.add(body.kernel);
  hash.add_each([&](std::size_t i) {
    const PeCoord at = programs[i]->pe_;
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(at.sip)) << 32 |
           static_cast<std::uint32_t>(at.cube);
  });
  hash.add_each([&](std::size_t i) { return static_cast<std::uint64_t>(programs[i]->pe_.pe); });
  std::array<const Table<std::uint64_t>*, N> addresses;
  for (std::size_t i = 0; i < N; ++i) addresses[i] = &programs[i]->addresses_;
  hash = with_commands_and_values(hash, body.commands, body.values, addresses);
  for (const auto id : body.more_reads) hash.add(static_cast<std::uint64_t>(id));
  for (const auto& s : body.shapes)
    for (hash.add(static_cast<std::uint64_t>(s.rank())); const auto extent : s) hash.add(extent);
  for (const auto& s : body.strides)
    for (const auto stride : s) hash.add(stride);
  for (const auto& p : body.places) {
    hash.add(p.base, p.strides);
    const auto place = static_cast<std::size_t>(p.offset);
    p.base == kNone ? hash.add_each([&](std::size_t i) { return programs[i]->addresses_[place]; })
                    : hash.add(p.offset);
  }
  for (const auto number : body.scalars) hash.add(std::bit_cast<std::uint64_t>(number));
  for (const auto& m : body.masks) {
    hash.add(m.first_run, m.run_count);
    if (m.first_address != kNone) hash.add(static_cast<std::uint64_t>(m.first_address));
  }
  for (const auto run : body.runs) hash.add(run.begin), hash.add(run.end);
  for (std::size_t k = 0; k < programs[0]->run_addresses_.size(); ++k)
    hash.add_each([&](std::size_t i) { return programs[i]->run_addresses_[k]; });
  for (const auto& name : body.directions) hash.add(name);
  for (const auto& s : body.composites) hash.add(s.a, s.b), hash.add(s.out, s.step_count);
  for (const auto& s : body.steps)
    hash.add(static_cast<std::uint32_t>(s.op) << 1 | static_cast<std::uint32_t>(s.point), s.operand);
  for (const auto& l : body.lines)
    hash.add(name_of(body.files[l.file])), hash.add(static_cast<std::uint64_t>(l.line));
  for (const auto first : body.instances) hash.add(static_cast<std::uint64_t>(first));
  return hash.values();
}

std::uint64_t Program::fingerprint() const { return fingerprints_of<1>({this})[0]; }

std::vector<std::uint64_t> Program::fingerprints(std::span<const std::shared_ptr<const Program>> programs) {
  constexpr std::size_t kAtOnce = 4;
  std::vector<std::uint64_t> all;
  all.reserve(programs.size());
  const auto alike = [](const auto& a, const auto& b) { return a->shares_with(*b); };
  while (all.size() < programs.size()) {
    const auto rest = programs.subspan(all.size());
    const auto& first = rest.front();
    if (rest.size() >= kAtOnce && alike(first, rest[1]) && alike(first, rest[2]) && alike(first, rest[3])) {
      const auto four = fingerprints_of<kAtOnce>({first.get(), rest[1].get(), rest[2].get(), rest[3].get()});
      all.insert(all.end(), four.begin(), four.end());
    } else {
      all.push_back(first->fingerprint());
    }
  }
  return all;
}

}  // namespace kernbench::isa
