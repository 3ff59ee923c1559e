// Tensor parallel layers in the manner of Megatron: a layer's weights are split over the ranks of a group.
//
//   spawn(torch, [&](int rank) {
//     torch.ahbm.set_device(rank);
//     dist::init_process_group(torch);
//     nn::tp::initialize_model_parallel(torch, dist::get_world_size(torch));
//     nn::tp::ColumnParallelLinear up(torch, 768, 3072);       // this rank has 3072 / ranks columns
//     nn::tp::RowParallelLinear down(torch, 3072, 768);        // and so many rows
//     up.weight.copy_(…), down.weight.copy_(…);
//     Tensor y = down.forward(nn::gelu(up.forward(x)));        // every rank has the sum, the same bits
//   }, dist::get_world_size(torch));
//
// Ranks form groups of n that follow each other. Inside a SIP weights lie over the largest grid of PEs that divides them,
// unless `dp` says otherwise; inputs are moved to where they are wanted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernbench/distributed.hpp"
#include "kernbench/nn.hpp"

namespace kernbench::nn::tp {

/// Before layers are made, once before `spawn` or once by each rank. InputError (`tp.size`) if n does not divide the world.
void initialize_model_parallel(Torch& torch, int n);
/// Ranks of a group. InputError (`tp.not-initialized`) before `initialize_model_parallel`.
int get_tensor_model_parallel_world_size(const Torch& torch);
/// The calling rank's number in its group.
int get_tensor_model_parallel_rank(const Torch& torch);
/// The calling rank's group.
dist::Group get_tensor_model_parallel_group(const Torch& torch);

struct LinearOptions {
  bool bias = false;
  DType dtype = DType::f16;
  bool gather_output = false;       // of a column layer: every rank gets all columns
  bool input_is_parallel = true;    // of a row layer: x has this rank's columns alone
  std::optional<DPPolicy> dp = {};  // of the weight inside the SIP
};

/// y = x · W (+ bias): each rank computes its columns of y.
class ColumnParallelLinear {
 public:
  /// InputError: `out_features (N) must be divisible by TP world size (W)`.
  ColumnParallelLinear(Torch& torch, std::int64_t in_features, std::int64_t out_features,
                       const LinearOptions& options = {});
  /// x (…, in_features) whole on a PE, or anywhere on the rank's SIP.
  Tensor forward(const Tensor& x) const;

  const std::int64_t in_features, out_features, n_local;
  const DType dtype;
  Tensor weight;  // (in_features, n_local), zero until it is written
  Tensor bias;    // none, or n_local elements

 private:
  Torch& torch_;
  const bool gather_output_;
};

/// y = x · W (+ bias): each rank multiplies its part of the features; the products are added up over the ranks.
class RowParallelLinear {
 public:
  /// InputError: `in_features (N) must be divisible by TP world size (W)`.
  RowParallelLinear(Torch& torch, std::int64_t in_features, std::int64_t out_features,
                    const LinearOptions& options = {});
  /// x (…, k_local), or (…, in_features) if the input is not parallel. All ranks of the group end with the same bits, which
  /// lie column-wise over the SIP.
  Tensor forward(const Tensor& x) const;

  const std::int64_t in_features, out_features, k_local;
  const DType dtype;
  Tensor weight;  // (k_local, out_features)
  Tensor bias;    // none, or out_features elements, added once, after the sum

 private:
  Torch& torch_;
  const bool input_is_parallel_;
};

/// Each rank has a range of the table's rows; ids outside of it give zeros, and the sum over the ranks is the result.
class VocabParallelEmbedding {
 public:
  /// InputError: `num_embeddings (N) must be divisible by TP world size (W)`.
  VocabParallelEmbedding(Torch& torch, std::int64_t num_embeddings, std::int64_t embedding_dim,
                         const LinearOptions& options = {});
  Tensor forward(const Tensor& ids) const;

  const std::int64_t num_embeddings, embedding_dim, rows_local;
  Tensor weight;  // (rows_local, embedding_dim)

 private:
  Torch& torch_;
};

/// Megatron's regions.
namespace mappings {
/// x itself: what a column layer's input goes through.
Tensor copy_to_tp_region(const Tensor& x);
/// Adds x up over the group, in place; returns x. All ranks end with the same bits.
Tensor reduce_from_tp_region(const Tensor& x, Torch& torch);
/// This rank's part of the columns of x.
Tensor scatter_to_tp_region(const Tensor& x, Torch& torch);
/// The columns of all ranks.
Tensor gather_from_tp_region(const Tensor& x, Torch& torch);

inline Tensor copy_to_tensor_model_parallel_region(const Tensor& x) { return copy_to_tp_region(x); }
inline Tensor reduce_from_tensor_model_parallel_region(const Tensor& x, Torch& torch) {
  return reduce_from_tp_region(x, torch);
}
inline Tensor scatter_to_tensor_model_parallel_region(const Tensor& x, Torch& torch) {
  return scatter_to_tp_region(x, torch);
}
inline Tensor gather_from_tensor_model_parallel_region(const Tensor& x, Torch& torch) {
  return gather_from_tp_region(x, torch);
}
}  // namespace mappings

}  // namespace kernbench::nn::tp
