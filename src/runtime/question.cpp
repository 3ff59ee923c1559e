#include "runtime/question.hpp"

#include <algorithm>

#include "trace/hash.hpp"

namespace kernbench::runtime {
namespace {

/// Null is like null.
template <class T, class Same>
bool alike(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b, const Same& same) {
  return a == b || (a && b && same(*a, *b));
}

}  // namespace

bool in_same_place(const Storage& a, const Storage& b) {
  const auto same_block = [](const LayoutBlock& x, const LayoutBlock& y) {
    return x.offset == y.offset && x.bytes == y.bytes;
  };
  const auto same_holder = [](const Holder& x, const Holder& y) {
    return x.cube == y.cube && x.pe == y.pe && x.block == y.block;
  };
  return a.sip == b.sip && a.base == b.base && a.mem == b.mem && a.size() == b.size() &&
         a.copies == b.copies && std::ranges::equal(a.layout.blocks(), b.layout.blocks(), same_block) &&
         std::ranges::equal(a.layout.holders(), b.layout.holders(), same_holder);
}

bool operator==(const Question& a, const Question& b) {
  const auto same_programs = [](const ProgramSet& x, const ProgramSet& y) { return x == y; };
  return a.comes_again && b.comes_again && a.phase == b.phase && a.stream == b.stream && a.rows == b.rows &&
         a.wiring == b.wiring && alike(a.storage, b.storage, in_same_place) &&
         alike(a.programs, b.programs, same_programs);
}

std::uint64_t Question::digest() const {
  trace::Hash hash;
  hash.add(static_cast<std::uint64_t>(phase));
  hash.add(static_cast<std::uint64_t>(stream));
  if (storage) hash.add(storage->base.raw());
  for (const Rows& r : rows) hash.add(r.address.raw()), hash.add(static_cast<std::uint64_t>(r.row_bytes));
  hash.add(programs ? programs->programs().size() : 0);
  if (comes_again && programs && !programs->programs().empty()) hash.add(programs->fingerprint(0));
  return hash.value();
}

}  // namespace kernbench::runtime
