#include "runtime/program_set.hpp"

#include <algorithm>

#include "trace/hash.hpp"

namespace kernbench::runtime {
namespace {

/// Equal sets have equal ones, and looking costs next to nothing.
std::uint64_t look_of(const Programs& programs) {
  trace::Hash hash;
  hash.add(programs.size());
  if (programs.empty()) return hash.value();
  const isa::Program& first = *programs.front();
  hash.add(first.kernel());
  for (const int at : {first.pe().sip, first.pe().cube, first.pe().pe})
    hash.add(static_cast<std::uint64_t>(at));
  for (const auto& program : programs)
    hash.add(program->commands().size()), hash.add(program->values().size());
  return hash.value();
}

}  // namespace

std::vector<std::uint64_t> fingerprints_of(const Programs& programs) {
  std::vector<const isa::Program*> all;
  all.reserve(programs.size());
  for (const auto& program : programs) all.push_back(program.get());
  return isa::Program::fingerprints(all);
}

const WrittenBytes& ProgramSet::writes() const {
  if (!writes_) writes_.emplace(programs_);
  return *writes_;
}

std::uint64_t ProgramSet::fingerprint(std::size_t program) const {
  fingerprints_.resize(programs_.size());
  std::uint64_t& known = fingerprints_[program];
  if (known == 0) known = programs_[program]->fingerprint();
  return known;
}

const std::vector<std::uint64_t>& ProgramSet::fingerprints() const {
  const bool all_known =
      fingerprints_.size() == programs_.size() && std::ranges::count(fingerprints_, 0u) == 0;
  if (!all_known) fingerprints_ = fingerprints_of(programs_);
  return fingerprints_;
}

std::uint64_t ProgramSet::commands() const {
  std::uint64_t commands = 0;
  for (const auto& program : programs_) commands += program->commands().size();
  return commands;
}

bool operator==(const ProgramSet& a, const ProgramSet& b) {
  return std::ranges::equal(a.programs_, b.programs_,
                            [](const auto& x, const auto& y) { return x == y || *x == *y; });
}

ProgramSetPtr ProgramSets::share(Programs programs) {
  Shelf& shelf = shelves_[look_of(programs)];
  auto set = std::make_shared<const ProgramSet>(std::move(programs));
  for (auto& one : shelf.sets)
    if (const auto known = one.lock(); known && *known == *set) return known;
  std::erase_if(shelf.sets, [](const auto& one) { return one.expired(); });
  if (shelf.sets.size() < kMost) {
    shelf.sets.push_back(set);
  } else {
    shelf.sets[shelf.next] = set;
    shelf.next = (shelf.next + 1) % kMost;
  }
  return set;
}

}  // namespace kernbench::runtime
