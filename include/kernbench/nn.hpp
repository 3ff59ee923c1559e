// Operations on tensors: what models are made of.
//
//   Tensor x = torch.from_numpy(activations, DPPolicy{}, "x");                                   // a copy on every PE
//   Tensor w = torch.from_numpy(weights, nn::spread(torch, Split::column_wise, 4096), "w");      // columns over the SIP
//   Tensor y = nn::silu(nn::matmul(x, w));                                                       // columns, as w
//   Tensor z = nn::redistribute(y, DPPolicy{});                                                  // a copy on every PE again
//
// Each is a launch on the SIP of its tensors and returns a new tensor, at once: the work is in the stream. A tensor of more
// than two dimensions is seen as a matrix, as in placement.hpp. The result has the dtype of the first operand unless
// `out_dtype` says otherwise. Which layouts an operation takes is in its description (`kernbench describe matmul`); anything
// else is an InputError (`nn.layout`) that lists them, and nothing is left behind then. Everything here is written with the
// public kernel language and host API: copy it to write your own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernbench/torch.hpp"

namespace kernbench::nn {

struct OpOptions {
  std::optional<DType> out_dtype;
  std::string name;  // of the launch and of the result; not given: the operation's
};

/// An elementwise operation on a product before it is stored: `{"maximum", {}, 0.0}`, `{"add", bias}`.
struct Epilogue {
  std::string op;  // `add`, `mul`, `maximum`, `sigmoid` …; see math_op.hpp
  Tensor operand =
      {};  // its second operand: a vector as long as a row of the result, laid out as its columns
  std::optional<double> number = {};  // or a number
};

struct MatmulOptions {
  std::optional<DType> out_dtype = {};
  std::vector<Epilogue> epilogue = {};
  std::string name = "matmul";
  /// Where K is split: a copy of the result on every PE, or (column_wise) every PE its columns.
  Split result = Split::replicate;
  std::string result_name = {};  // of the tensor; not given: as the launch
};

/// a[…, M, K] · b[K, N]. Float operands; sums in f32.
///
///   a            b            result
///   replicated   column-wise  column-wise    each PE its columns
///   row-wise     replicated   row-wise       each PE its rows
///   row-wise     replicated   row-wise over  each PE its rows and columns
///   over cubes,  over cubes,  cubes, column-
///   replicated   column-wise  wise in each
///   in each      in each
///   column-wise  row-wise     replicated     each PE a partial product over its part of K, added up over queues in the
///                             (column-wise)  order of PEs, then of cubes
///   whole        whole        whole          that PE alone
Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options = {});

// ── elementwise ── any layout; two operands lie alike, or the second is a vector as long as a row, on the same PEs
Tensor add(const Tensor& a, const Tensor& b, const OpOptions& options = {});
Tensor mul(const Tensor& a, const Tensor& b, const OpOptions& options = {});
Tensor relu(const Tensor& x, const OpOptions& options = {});
/// x · ½ (1 + erf(x / √2))
Tensor gelu(const Tensor& x, const OpOptions& options = {});
/// x · sigmoid(x)
Tensor silu(const Tensor& x, const OpOptions& options = {});

// ── rows ── every PE has whole rows of x: whole, replicated, row-wise, tiles as wide as the tensor. In f32.
/// Over the last axis.
Tensor softmax(const Tensor& x, const OpOptions& options = {});
/// x / √(mean(x²) + eps) · weight. `weight` is a vector with a copy wherever x lies. Also where rows are split over a
/// rectangle of PEs, or over the PEs of each cube: then every PE has its columns of the weight.
Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps = 1e-5, const OpOptions& options = {});
/// (x − mean) / √(var + eps) · weight + bias.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps = 1e-5,
                  const OpOptions& options = {});

/// Rotary positions: x (…, S, d), `cos` and `sin` (S, d / 2) in f32, copies wherever x lies. Element i of the first half of
/// a row and element i of the second are a pair that is turned by the angle of its position.
Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, const OpOptions& options = {});
struct RopeTables {
  Tensor cos, sin;
};
/// The tables for positions first … first + length − 1: angle p · base^(−2i/d).
RopeTables rope_tables(Torch& torch, std::int64_t length, std::int64_t d, const DPPolicy& dp = {},
                       double base = 10000, std::int64_t first = 0);

/// Row ids[i] of the table for every i; `ids` is i32 and read by every PE. The result is (…ids, width): column-wise if the
/// table is, replicated or whole if the table is. An id outside of the table is an InputError.
Tensor embedding(const Tensor& ids, const Tensor& table, const OpOptions& options = {});

/// The same tensor in another place of its SIP, moved on the device. To a copy on every PE of a rectangle it is an
/// all-gather over queues (parts of a tensor that lies whole are fetched first); all else is fetched from where it lies.
Tensor redistribute(const Tensor& x, const DPPolicy& dp, const OpOptions& options = {});

// ── helpers ──

/// The split over the largest grid of PEs of a SIP whose number divides `extent`, down to one PE.
DPPolicy spread(const Torch& torch, Split split, std::int64_t extent);

/// What an operation is, for `kernbench describe`.
struct Operation {
  std::string name, doc;
  std::vector<std::string> layouts;  // one line each
  std::string cost;                  // the compulsory bound in words
};
const std::vector<Operation>& operations();

}  // namespace kernbench::nn
