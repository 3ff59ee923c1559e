#include "kernbench/shape.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench {
namespace {

std::string text_of(std::span<const std::int64_t> extents) { return fmt::format("[{}]", join(extents)); }

[[noreturn]] void reject(const char* id, std::string what, std::string hint) {
  throw InputError({.id = id, .where = "", .what = std::move(what), .hint = std::move(hint)});
}

}  // namespace

Shape::Shape(std::span<const std::int64_t> extents) {
  if (extents.size() > kMaxRank)
    reject("shape.rank", fmt::format("shape {} has {} axes", text_of(extents), extents.size()),
           fmt::format("at most {} are possible", kMaxRank));
  std::int64_t product = 1;  // of all but 0
  for (const auto extent : extents) {
    if (extent < 0)
      reject("shape.negative", fmt::format("shape {} has a negative extent", text_of(extents)),
             "extents are 0 or more");
    elements_ = extent == 0 ? 0 : elements_;
    if (__builtin_mul_overflow(product, std::max<std::int64_t>(extent, 1), &product) ||
        product > kMaxElements)
      reject("shape.size", fmt::format("shape {} has too many elements", text_of(extents)),
             "at most 2⁶⁰ are possible");
  }
  elements_ *= product;
  std::ranges::copy(extents, extents_.begin());
  rank_ = static_cast<int>(extents.size());
}

int Shape::axis(int axis) const {
  if (axis < -rank_ || axis >= rank_)
    reject("shape.axis", fmt::format("axis {} of shape {}", axis, to_string(*this)),
           rank_ == 0 ? std::string("a scalar has no axes")
                      : fmt::format("axes are {} … {}, or {} … -1 from the back", 0, rank_ - 1, -rank_));
  return axis < 0 ? axis + rank_ : axis;
}

Shape Shape::without(int axis) const {
  std::array<std::int64_t, kMaxRank> rest{};
  const int gone = this->axis(axis);
  for (int i = 0, to = 0; i < rank_; ++i)
    if (i != gone) rest[static_cast<std::size_t>(to++)] = (*this)[i];
  return Shape(std::span(rest).first(static_cast<std::size_t>(rank_ - 1)));
}

Shape broadcast(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::array<std::int64_t, Shape::kMaxRank> extents{};
  for (int back = 1; back <= rank; ++back) {
    const auto x = back <= a.rank() ? a[a.rank() - back] : 1;
    const auto y = back <= b.rank() ? b[b.rank() - back] : 1;
    if (x != y && x != 1 && y != 1)
      reject(
          "shape.broadcast",
          fmt::format("shapes {} and {} do not broadcast: {} against {}", to_string(a), to_string(b), x, y),
          "aligned at the last axis, extents must be equal or one of them 1");
    extents[static_cast<std::size_t>(rank - back)] = x == 1 ? y : x;
  }
  return Shape(std::span(extents).first(static_cast<std::size_t>(rank)));
}

std::string to_string(const Shape& s) { return text_of({s.begin(), s.end()}); }

}  // namespace kernbench
