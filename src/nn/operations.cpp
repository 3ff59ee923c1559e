// What operations are, for people.
#include "kernbench/nn.hpp"

namespace kernbench::nn {
namespace {

constexpr const char* kAnyLayout = "x any layout but interleaved → the same layout";
constexpr const char* kWholeRows =
    "x whole, replicated, row-wise, or tiles as wide as the tensor → the same layout; vectors have a copy "
    "wherever x lies";
constexpr const char* kElementCost =
    "(bytes of x + bytes of the result) on the fullest PE ÷ HBM bandwidth of a slice";
constexpr const char* kTwoCost =
    "(bytes of a, b and the result) on the fullest PE ÷ HBM bandwidth of a slice";

const std::vector<std::string> kTwoLayouts = {
    "a and b laid out alike → the same layout",
    "b a vector as long as a row of a, its columns wherever a's are → as a"};

}  // namespace

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = {
      {"matmul",
       "a[…, M, K] · b[K, N], sums in f32; with an epilogue of elementwise operations",
       {"a replicated, b column-wise → column-wise: each PE its columns",
        "a row-wise, b replicated → row-wise: each PE its rows",
        "a row-wise over cubes and replicated in each, b replicated over cubes and column-wise in each → "
        "row-wise over cubes, column-wise in each: each PE its rows and columns",
        "a column-wise, b row-wise over the same PEs → replicated, or column-wise if asked: each PE a "
        "partial product over "
        "its part of K, added up over queues in the order of PEs, then of cubes",
        "a whole on a PE, b whole on the same PE → there"},
       "max(MACs of a PE ÷ peak of a PE, (bytes of a, b and the result) on the fullest PE ÷ HBM bandwidth of "
       "a slice)"},
      {"add", "a + b", kTwoLayouts, kTwoCost},
      {"mul", "a · b, element by element", kTwoLayouts, kTwoCost},
      {"relu", "max(x, 0)", {kAnyLayout}, kElementCost},
      {"gelu", "x · ½ (1 + erf(x / √2)), in f32", {kAnyLayout}, kElementCost},
      {"silu", "x · sigmoid(x)", {kAnyLayout}, kElementCost},
      {"softmax", "exp(x − max) / sum over the last axis, in f32", {kWholeRows}, kElementCost},
      {"rms_norm",
       "x / √(mean(x²) + eps) · weight over the last axis, in f32",
       {kWholeRows,
        "x column-wise over a rectangle, or row-wise over its cubes and column-wise over their PEs → the "
        "same layout; every PE has its columns of the weight, and sums of squares go over queues"},
       kElementCost},
      {"layer_norm",
       "(x − mean) / √(var + eps) · weight + bias over the last axis, in f32",
       {kWholeRows},
       kElementCost},
      {"rope",
       "rotary positions: pairs (i, i + d/2) of each row turned by the angle of its position, in f32",
       {"x (…, S, d) whole, replicated, row-wise, by head, or tiles as wide as the tensor → the same layout; "
        "the tables cos "
        "and sin (S, d / 2) have a copy wherever x lies"},
       "(bytes of x, the tables and the result) on the fullest PE ÷ HBM bandwidth of a slice"},
      {"embedding",
       "row ids[i] of a table for every i",
       {"table column-wise → column-wise: each PE its columns", "table replicated → replicated",
        "table whole on a PE → there"},
       "(bytes of the table and the result) on the fullest PE ÷ HBM bandwidth of a slice; only the rows "
       "named are read"},
      {"redistribute",
       "the same tensor in another place of its SIP, without a trip to the host",
       {"any layout but interleaved → replicated over a rectangle: every PE fetches a part, then an "
        "all-gather over queues",
        "any layout but interleaved → any other: every PE fetches what it will hold"},
       "(bytes of x + bytes of the result) on the fullest PE ÷ HBM bandwidth of a slice"},
  };
  return all;
}

}  // namespace kernbench::nn
