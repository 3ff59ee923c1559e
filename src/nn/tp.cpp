#include "kernbench/tp.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dist/state.hpp"
#include "nn/embedding.hpp"
#include "nn/pieces.hpp"
#include "nn/reshard.hpp"

namespace kernbench::nn::tp {
namespace {

/// What the layer keeps with a context.
struct ModelParallel final : runtime::Engine::Extension {
  int size = 0;
};

int size_of(const Torch& torch) {
  const auto* state = dynamic_cast<const ModelParallel*>(torch.engine().model_extension.get());
  if (state == nullptr)
    throw InputError({"tp.not-initialized", "", "the tensor parallel groups are not there yet",
                      "call initialize_model_parallel(torch, n) first"});
  return state->size;
}

std::int64_t divided(const char* what, std::int64_t features, const Torch& torch) {
  const int ranks = size_of(torch);
  if (features < 1 || features % ranks != 0)
    throw InputError({"tp.divisible", "",
                      fmt::format("{} ({}) must be divisible by TP world size ({})", what, features, ranks),
                      ""});
  return features / ranks;
}

bool is_alone(const Torch& torch) { return size_of(torch) == 1; }

/// A copy of the vector wherever a result's columns are, added to each row.
Tensor with_bias(const Tensor& y, const Tensor& bias) {
  if (!bias) return y;
  const Placed placed(y);
  DPPolicy dp = DPPolicy::whole_on(placed.pes().front());
  if (const auto r = placed.rectangle())
    dp = DPPolicy{}.on({r->first.cube, r->first.cube + r->cubes}, {r->first.pe, r->first.pe + r->pes});
  return add(y, redistribute(bias, dp, {.name = "bias"}), {.name = y.name()});
}

}  // namespace

void initialize_model_parallel(Torch& torch, int n) {
  const int world = dist::get_world_size(torch);
  if (n < 1 || world % n != 0)
    throw InputError({"tp.size", "", fmt::format("groups of {} ranks in a world of {}", n, world),
                      "their size divides the world size"});
  auto state = std::make_unique<ModelParallel>();
  state->size = n;
  torch.engine().model_extension = std::move(state);
}

int get_tensor_model_parallel_world_size(const Torch& torch) { return size_of(torch); }
int get_tensor_model_parallel_rank(const Torch& torch) { return dist::get_rank(torch) % size_of(torch); }

dist::Group get_tensor_model_parallel_group(const Torch& torch) {
  const int n = size_of(torch), first = dist::get_rank(torch) / n * n;
  if (n == dist::get_world_size(torch)) return {};
  std::vector<int> ranks;
  for (int i = 0; i < n; ++i) ranks.push_back(first + i);
  return dist::Group::of(ranks);
}

ColumnParallelLinear::ColumnParallelLinear(Torch& torch, std::int64_t in, std::int64_t out,
                                           const LinearOptions& options)
    : in_features(in),
      out_features(out),
      n_local(divided("out_features", out, torch)),
      dtype(options.dtype),
      torch_(torch),
      gather_output_(options.gather_output) {
  const DPPolicy dp = options.dp.value_or(spread(torch, Split::column_wise, n_local));
  weight = torch.zeros({in, n_local}, dtype, dp, "col_parallel_w");
  if (options.bias) bias = torch.zeros({n_local}, dtype, dp, "col_parallel_b");
}

Tensor ColumnParallelLinear::forward(const Tensor& x) const {
  const Tensor input = copied_to(mappings::copy_to_tp_region(x), Placed(weight));
  MatmulOptions options{.name = "col_parallel_gemm", .result_name = "col_parallel_out"};
  if (bias) options.epilogue = {{"add", bias}};
  const Tensor y = matmul(input, weight, options);
  return gather_output_ ? mappings::gather_from_tp_region(y, torch_) : y;
}

RowParallelLinear::RowParallelLinear(Torch& torch, std::int64_t in, std::int64_t out,
                                     const LinearOptions& options)
    : in_features(in),
      out_features(out),
      k_local(divided("in_features", in, torch)),
      dtype(options.dtype),
      torch_(torch),
      input_is_parallel_(options.input_is_parallel) {
  weight = torch.zeros({k_local, out}, dtype, options.dp.value_or(spread(torch, Split::column_wise, out)),
                       "row_parallel_w");
  if (options.bias) bias = torch.zeros({out}, dtype, {}, "row_parallel_b");
}

/// Inside the SIP every PE has columns of the weight and gets all of x: that moves x once, where parts of K on every PE would
/// move partial products in f32. A weight that the user has placed row-wise is multiplied as it lies.
Tensor RowParallelLinear::forward(const Tensor& x) const {
  const Tensor mine = input_is_parallel_ ? x : mappings::scatter_to_tp_region(x, torch_);
  const Placed placed(weight);
  const Tensor input =
      placed.kind() == PlacedKind::rows ? columns_like_rows(mine, weight) : copied_to(mine, placed);
  const Tensor y = matmul(
      input, weight,
      {.name = "row_parallel_gemm", .result = Split::column_wise, .result_name = "row_parallel_partial"});
  return with_bias(mappings::reduce_from_tp_region(y, torch_), bias);
}

VocabParallelEmbedding::VocabParallelEmbedding(Torch& torch, std::int64_t n, std::int64_t width,
                                               const LinearOptions& options)
    : num_embeddings(n),
      embedding_dim(width),
      rows_local(divided("num_embeddings", n, torch)),
      torch_(torch) {
  weight = torch.zeros({rows_local, width}, options.dtype,
                       options.dp.value_or(spread(torch, Split::column_wise, width)), "vocab_parallel_w");
}

Tensor VocabParallelEmbedding::forward(const Tensor& ids) const {
  const std::int64_t first = get_tensor_model_parallel_rank(torch_) * rows_local;
  const Tensor mine = embedding_part(ids, weight, first, {.name = "vocab_parallel_embedding"});
  return mappings::reduce_from_tp_region(mine, torch_);
}

namespace mappings {

Tensor copy_to_tp_region(const Tensor& x) { return x; }

Tensor reduce_from_tp_region(const Tensor& x, Torch& torch) {
  if (is_alone(torch)) return x;
  all_reduce_alike(x, get_tensor_model_parallel_group(torch));
  return x;
}

Tensor scatter_to_tp_region(const Tensor& x, Torch& torch) {
  const std::int64_t cols = x.shape()[x.shape().rank() - 1];
  const std::int64_t mine = divided("columns", cols, torch);
  if (is_alone(torch)) return x;
  return column_part(x, get_tensor_model_parallel_rank(torch) * mine, mine, "scattered");
}

Tensor gather_from_tp_region(const Tensor& x, Torch& torch) {
  if (is_alone(torch)) return x;
  const Tensor gathered =
      gather_columns(x, get_tensor_model_parallel_group(torch), size_of(torch), torch, "gathered");
  return gathered;
}

}  // namespace mappings

}  // namespace kernbench::nn::tp
