#include <random>

#include "tl/recording.hpp"

namespace kernbench::tl::shape_test {
namespace {

isa::Layout layout_of(const Context& tl, const Tile& t) { return tl.program().layout(t.id()); }

TEST(Views, RecordNoCommand) {
  EXPECT_THAT(recorded([](Context& tl) {
                const auto x = tl.load(kA, {4, 6}, f16);
                tl.trans(x);
                tl.reshape(x, {2, 12});
                tl.expand_dims(x, 1);
                tl.broadcast_to(x, {5, 4, 6});
                x.slice({{1, 3}, all});
              }),
              ElementsAre("%0:f16[4, 6] = dma_read 0x1000"));
}

TEST(Views, HaveTheShapesOfNumPy) {
  Context tl;
  const auto x = tl.load(kA, {4, 6}, f16);
  EXPECT_EQ(tl.trans(x).shape(), (Shape{6, 4}));
  EXPECT_EQ(tl.trans(tl.load(kA, {2, 3, 4}, f16), {2, 0, 1}).shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(tl.reshape(x, {2, 12}).shape(), (Shape{2, 12}));
  EXPECT_EQ(tl.reshape(x, {3, -1}).shape(), (Shape{3, 8}));
  EXPECT_EQ(tl.expand_dims(x, 0).shape(), (Shape{1, 4, 6}));
  EXPECT_EQ(tl.expand_dims(x, -1).shape(), (Shape{4, 6, 1}));
  EXPECT_EQ(tl.broadcast_to(tl.load(kA, {6}, f16), {4, 6}).shape(), (Shape{4, 6}));
  EXPECT_EQ(x.slice({{1, 3}}).shape(), (Shape{2, 6}));
  EXPECT_EQ(x.slice({all, {0, 6, 4}}).shape(), (Shape{4, 2}));
  EXPECT_EQ(x.slice({index(2)}).shape(), Shape{6});
  EXPECT_EQ(x.slice({index(-1), {-2, Slice::kEnd}}).shape(), Shape{2});
  EXPECT_EQ(x.shape(), (Shape{4, 6}));  // a tile never changes
}

TEST(Views, PointIntoTheirBase) {
  Context tl;
  const auto x = tl.load(kA, {4, 6}, f16);
  const auto part = tl.trans(x.slice({{1, 3}, {2, 6}}));  // [4, 2]
  const auto layout = layout_of(tl, part);
  EXPECT_EQ(layout.base, x.id());
  EXPECT_EQ(layout.offset, 1 * 6 + 2);
  EXPECT_EQ(layout.strides[0], 1);
  EXPECT_EQ(layout.strides[1], 6);
  EXPECT_EQ(tl.program().value(part.id()).producer, 0u);
  EXPECT_EQ(tl.program().value(part.id()).granules, 0u);
}

TEST(Views, DistinctBytesLeaveOutRepeatedElements) {
  Context tl;
  const auto row = tl.broadcast_to(tl.load(kA, {6}, f16), {4, 6});
  EXPECT_EQ(tl.program().bytes(row.id()), Bytes(4 * 6 * 2));
  EXPECT_EQ(tl.program().distinct_bytes(row.id()), Bytes(6 * 2));
}

TEST(Reshape, CopiesWhatIsNotInRowMajorOrder) {
  EXPECT_THAT(recorded([](Context& tl) {
                tl.reshape(tl.trans(tl.load(kA, {4, 6}, f16)), {24});
              }),
              ElementsAre("%0:f16[4, 6] = dma_read 0x1000", "%2:f16[6, 4] = copy %1:f16[6, 4]"));
  EXPECT_THAT(recorded([](Context& tl) {
                tl.reshape(tl.load(kA, {4, 6}, f16).slice({{1, 3}}), {12});
              }),
              ElementsAre("%0:f16[4, 6] = dma_read 0x1000"));  // whole rows stay in order
}

TEST(Views, OfAReferenceAreReferencesFurtherOn) {
  Context tl;
  const auto r = tl.ref(kA, {64, 32}, f16);
  const auto part = r.slice({{16, 32}, {8, 16}});
  const auto& program = tl.program();
  EXPECT_EQ(program.value(part.id()).kind, isa::ValueKind::reference);
  EXPECT_EQ(program.address(part.id()), 0x1000u + (16 * 32 + 8) * 2);
  EXPECT_EQ(layout_of(tl, part).strides[0], 32);
  EXPECT_EQ(part.shape(), (Shape{16, 8}));
}

// A random chain of views against the same chain on an array of element numbers, computed the slow way.
struct Model {
  Shape shape;
  std::vector<std::int64_t> elements;  // which element of the base each one is
  std::int64_t at(std::span<const std::int64_t> index) const {
    std::int64_t flat = 0;
    for (int i = 0; i < shape.rank(); ++i) flat = flat * shape[i] + index[static_cast<std::size_t>(i)];
    return elements[static_cast<std::size_t>(flat)];
  }
};

template <class Fn>
Model model_of(const Shape& shape, Fn element) {
  Model m{shape, {}};
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()), 0);
  for (std::int64_t flat = 0; flat < shape.elements(); ++flat) {
    auto rest = flat;
    for (int i = shape.rank() - 1; i >= 0; --i) {
      index[static_cast<std::size_t>(i)] = rest % shape[i];
      rest /= shape[i];
    }
    m.elements.push_back(element(std::span<const std::int64_t>(index)));
  }
  return m;
}

TEST(Views, OfViewsReachTheElementsTheyShould) {
  std::mt19937 random(1);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 300; ++round) {
    Context tl;
    const Shape start{1 + pick(4), 1 + pick(5), 1 + pick(6)};
    auto tile = tl.load(kA, start, f16);
    std::int64_t next = 0;
    auto model = model_of(start, [&](auto) { return next++; });
    for (int step = 0; step < 5; ++step) {
      const auto old = model;
      const int rank = old.shape.rank();
      switch (pick(4)) {
        case 0: {
          if (rank < 2) break;
          tile = tl.trans(tile);
          std::vector<std::int64_t> extents(old.shape.begin(), old.shape.end());
          std::swap(extents[extents.size() - 1], extents[extents.size() - 2]);
          model = model_of(Shape(std::span<const std::int64_t>(extents)), [&](auto index) {
            std::vector<std::int64_t> from(index.begin(), index.end());
            std::swap(from[from.size() - 1], from[from.size() - 2]);
            return old.at(from);
          });
          break;
        }
        case 1: {
          if (rank > 5) break;
          const int axis = pick(rank + 1);
          tile = tl.expand_dims(tile, axis);
          std::vector<std::int64_t> extents(old.shape.begin(), old.shape.end());
          extents.insert(extents.begin() + axis, 1);
          model = {Shape(std::span<const std::int64_t>(extents)), old.elements};
          break;
        }
        case 2: {
          const auto first = old.shape[0];
          const auto begin = pick(static_cast<int>(first)), step_by = 1 + pick(2);
          tile = tile.slice({{begin, first, step_by}});
          std::vector<std::int64_t> extents(old.shape.begin(), old.shape.end());
          extents[0] = (first - begin + step_by - 1) / step_by;
          model = model_of(Shape(std::span<const std::int64_t>(extents)), [&](auto index) {
            std::vector<std::int64_t> from(index.begin(), index.end());
            from[0] = begin + from[0] * step_by;
            return old.at(from);
          });
          break;
        }
        case 3: {
          if (rank > 5) break;
          std::vector<std::int64_t> extents(old.shape.begin(), old.shape.end());
          extents.insert(extents.begin(), 2);
          tile = tl.broadcast_to(tile, Dims(extents));
          model = model_of(Shape(std::span<const std::int64_t>(extents)),
                           [&](auto index) { return old.at(index.subspan(1)); });
          break;
        }
      }
    }
    ASSERT_EQ(tile.shape(), model.shape);
    const auto layout = layout_of(tl, tile);
    const auto reached = model_of(tile.shape(), [&](auto index) {
      auto at = layout.offset;
      for (std::size_t i = 0; i < index.size(); ++i) at += index[i] * layout.strides[i];
      return at;
    });
    ASSERT_EQ(reached.elements, model.elements) << "round " << round;
  }
}

}  // namespace
}  // namespace kernbench::tl::shape_test
