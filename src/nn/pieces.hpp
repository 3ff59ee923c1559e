// Moving rectangles between tensors of a SIP.
#pragma once

#include <vector>

#include "nn/operation.hpp"
#include "nn/product.hpp"

namespace kernbench::nn {

/// Elements of a tensor in memory, and which rectangle of the result they are.
struct SourceTile {
  Rect rect;
  std::int64_t offset;  // of its first element in the tensor's storage, bytes
  std::int64_t stride;  // of its rows there, in elements
  PePlace at;           // who holds it; of copies the first
};
/// Every element where it is.
std::vector<SourceTile> source_tiles(const Tensor& tensor);

/// A part of a tile as it lies in memory; `part` is within its rectangle.
Matrix part_of(const SourceTile& tile, tl::Ptr tensor, DType dtype, const Rect& part);
/// What two rectangles have in common, with no rows or columns if nothing.
Rect common(const Rect& a, const Rect& b);
inline bool is_empty(const Rect& r) { return r.rows <= 0 || r.cols <= 0; }

/// A rectangle in blocks of at most so many elements, row by row.
std::vector<Rect> blocks_of(const Rect& rect, std::int64_t most_elements);

struct Fetch {
  std::vector<SourceTile> tiles;
  DType dtype;
};
/// The kernel: fills the running PE's shards of `to` with what lies in `from`, wherever that is.
void fetch(tl::Context& tl, const Fetch& what, tl::Ptr from, tl::Ptr to);

/// Fills `to` with elements of `from` that lie there like this.
void move_into(const Call& call, const Tensor& from, const Tensor& to, std::vector<SourceTile> tiles);

}  // namespace kernbench::nn
