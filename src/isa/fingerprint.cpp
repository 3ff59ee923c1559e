// The hashes of programs.
#include <algorithm>
#include <array>
#include <bit>

#include "isa/file_name.hpp"
#include "isa/interner.hpp"
#include "kernbench/program.hpp"

namespace kernbench::isa {
namespace {

/// N hashes, computed side by side. A hash is a chain of dependent steps; the processor works on several chains in the
/// time of one, as long as they stay in its registers.
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

}  // namespace

/// The fingerprints of N programs that share all but their addresses and PEs.
template <std::size_t N>
class Fingerprints {
 public:
  explicit Fingerprints(const std::array<const Program*, N>& programs)
      : programs_(programs), body_(*programs[0]->body_) {
    add_head();
    add_commands_and_values();
    add_shapes();
    add_places();
    add_masks();
    add_rest();
  }
  const std::array<std::uint64_t, N>& values() const { return hash_.values(); }

 private:
  void add_head() {
    hash_.add(body_.kernel);
    hash_.add_each([&](std::size_t i) {
      const PeCoord at = programs_[i]->pe_;
      return static_cast<std::uint64_t>(static_cast<std::uint32_t>(at.sip)) << 32 |
             static_cast<std::uint32_t>(at.cube);
    });
    hash_.add_each([&](std::size_t i) { return static_cast<std::uint64_t>(programs_[i]->pe_.pe); });
  }

  void add_commands_and_values() {
    std::array<const Table<std::uint64_t>*, N> addresses;
    for (std::size_t i = 0; i < N; ++i) addresses[i] = &programs_[i]->addresses_;
    hash_ = with_commands_and_values(hash_, body_.commands, body_.values, addresses);
    for (const auto id : body_.more_reads) hash_.add(static_cast<std::uint64_t>(id));
  }

  void add_shapes() {
    for (const auto& s : body_.shapes)
      for (hash_.add(static_cast<std::uint64_t>(s.rank())); const auto extent : s) hash_.add(extent);
    for (const auto& s : body_.strides)
      for (const auto stride : s) hash_.add(stride);
  }

  void add_places() {
    for (const auto& p : body_.places) {
      hash_.add(p.base, p.strides);
      const auto place = static_cast<std::size_t>(p.offset);
      p.base == kNone ? hash_.add_each([&](std::size_t i) { return programs_[i]->addresses_[place]; })
                      : hash_.add(p.offset);
    }
    for (const auto number : body_.scalars) hash_.add(std::bit_cast<std::uint64_t>(number));
  }

  void add_masks() {
    for (const auto& m : body_.masks) {
      hash_.add(m.first_run, m.run_count);
      if (m.first_address != kNone) hash_.add(static_cast<std::uint64_t>(m.first_address));
    }
    for (const auto run : body_.runs) hash_.add(run.begin), hash_.add(run.end);
    for (std::size_t k = 0; k < programs_[0]->run_addresses_.size(); ++k)
      hash_.add_each([&](std::size_t i) { return programs_[i]->run_addresses_[k]; });
  }

  void add_rest() {
    for (const auto& name : body_.directions) hash_.add(name);
    for (const auto& s : body_.composites) hash_.add(s.a, s.b), hash_.add(s.out, s.step_count);
    for (const auto& s : body_.steps)
      hash_.add(static_cast<std::uint32_t>(s.op) << 1 | static_cast<std::uint32_t>(s.point), s.operand);
    for (const auto& l : body_.lines)
      hash_.add(name_of(body_.files[l.file])), hash_.add(static_cast<std::uint64_t>(l.line));
    for (const auto first : body_.instances) hash_.add(static_cast<std::uint64_t>(first));
  }

  const std::array<const Program*, N> programs_;
  const Program::Body& body_;
  Hashes<N> hash_;
};

std::uint64_t Program::fingerprint() const { return Fingerprints<1>({this}).values()[0]; }

std::vector<std::uint64_t> Program::fingerprints(std::span<const Program* const> programs) {
  constexpr std::size_t kAtOnce = 4;
  std::vector<std::uint64_t> all;
  all.reserve(programs.size());
  while (all.size() < programs.size()) {
    const auto rest = programs.subspan(all.size());
    const auto alike = [&](std::size_t i) { return rest[0]->shares_with(*rest[i]); };
    if (rest.size() >= kAtOnce && alike(1) && alike(2) && alike(3)) {
      const Fingerprints<kAtOnce> four({rest[0], rest[1], rest[2], rest[3]});
      all.insert(all.end(), four.values().begin(), four.values().end());
    } else {
      all.push_back(rest[0]->fingerprint());
    }
  }
  return all;
}

}  // namespace kernbench::isa
