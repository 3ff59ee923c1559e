// Tensors moved to where an operation wants them, inside a SIP and between ranks.
#pragma once

#include <string>

#include "kernbench/distributed.hpp"
#include "nn/operation.hpp"

namespace kernbench::nn {

/// A copy on every PE of a rectangle.
DPPolicy everywhere_in(const Placed::Rectangle& where);
/// x with all of it on each of the PEs: x itself if it is so already.
Tensor copied_to(const Tensor& x, const Placed& pes);
/// x with the columns that its PE has rows of `like`.
Tensor columns_like_rows(const Tensor& x, const Tensor& like);
/// Columns first … first + count − 1 of x, on its PEs: split over the largest grid, or whole where x is.
Tensor column_part(const Tensor& x, std::int64_t first, std::int64_t count, const std::string& name);

/// A matrix made of parts of another: `part(i)` of the target is rows i · M … of the source, or the other way round.
///
/// Parts that stand below each other come to stand beside each other: (n · M, N) → (M, n · N).
Tensor beside_each_other(const Tensor& x, std::int64_t n, const Shape& shape, const DPPolicy& dp,
                         const std::string& name);
/// The other way round: (M, n · N) → (n · M, N).
Tensor below_each_other(const Tensor& x, std::int64_t n, const DPPolicy& dp, const std::string& name);

/// Adds up over the group, in place, to the same bits everywhere.
dist::Work all_reduce_alike(const Tensor& x, const dist::Group& group);
/// The columns of all members beside each other; replicated where x lay on several PEs.
Tensor gather_columns(const Tensor& x, const dist::Group& group, int members, Torch& torch,
                      const std::string& name);

}  // namespace kernbench::nn
