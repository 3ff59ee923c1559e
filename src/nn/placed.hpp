// What operations ask about a tensor's layout.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernbench/nn.hpp"
#include "runtime/layout.hpp"

namespace kernbench::nn {

using runtime::LayoutTile;
using runtime::PePlace;
using runtime::Rect;

enum class PlacedKind {
  whole,       // all of it on one PE
  replicated,  // all of it on each of several PEs
  columns,     // every PE one rectangle with all rows
  rows,        // every PE one rectangle with all columns
  row_tiles,   // every PE tiles with all columns
  other,
};

/// A layout by PE. The vector form of a PE's tiles is in the order of its shards.
class Placed {
 public:
  explicit Placed(const Tensor& tensor);

  PlacedKind kind() const { return kind_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  /// Those that hold something, by cube and PE.
  const std::vector<PePlace>& pes() const { return pes_; }
  /// What a PE holds; empty if nothing.
  std::vector<Rect> at(PePlace pe) const;
  /// Whether the PE has all of it.
  bool is_whole_at(PePlace pe) const;
  bool has_whole_rows() const;
  /// The same PEs hold the same rectangles.
  bool lies_like(const Placed& other) const;
  /// C cubes × P PEs.
  struct Rectangle {
    PePlace first;
    int cubes, pes;
  };
  std::optional<Rectangle> rectangle() const;

 private:
  PlacedKind kind_of() const;
  const runtime::Layout& layout_;
  std::int64_t rows_, cols_;
  std::vector<PePlace> pes_;
  PlacedKind kind_;
};

/// `'x' f16[4, 8] column-wise over 8 PEs`
std::string text_of(const Tensor& tensor);

/// The policy of a matrix with other rows, or other columns, whose PEs hold the same columns, or rows: for results.
DPPolicy same_columns(const Tensor& like, std::int64_t rows);
DPPolicy same_rows(const Tensor& like, std::int64_t cols, DType dtype);
DPPolicy spread(const topology::Machine& machine, Split split, std::int64_t extent);

}  // namespace kernbench::nn
