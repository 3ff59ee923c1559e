// Runs kernels that tests/python/same_test.py has too, and prints `name hash` of each op log. A hash counts source lines,
// which cannot be the same in two languages; so both sides say that every command is at line 1 of `same`.
#include <fmt/format.h>

#include <functional>
#include <vector>

#include "kernbench/bench.hpp"
#include "kernbench/distributed.hpp"

namespace {

using namespace kernbench;
using namespace kernbench::dtypes;

const DPPolicy kColumns{.cube = Split::column_wise, .pe = Split::column_wise};

NdArray ramp(const Shape& shape) {
  NdArray array(f32, shape);
  float next = 0;
  for (float& x : array.view<float>()) x = next++;
  return array;
}

void axpy(tl::Context& tl, tl::Ptr x, tl::Ptr y, double a, int piece) {
  tl.set_line("same", 1);
  const auto xs = tl.shard(x), ys = tl.shard(y);
  for (std::int64_t i = 0; i < xs.shape[0]; i += piece) {
    const auto mine = tl.load(ys.ptr + 4 * i, {piece}, f32);
    const auto other = tl.load(xs.ptr + 4 * i, {piece}, f32);
    tl.store(ys.ptr + 4 * i, mine + a * other);
  }
}

void softmax_rows(tl::Context& tl, tl::Ptr x) {
  tl.set_line("same", 1);
  const auto mine = tl.shard(x);
  tl.store(mine.ptr, tl.softmax(tl.load(mine.ptr, mine.shape, f32)));
}

void ring(tl::Context& tl, tl::Ptr x, int size) {
  tl.set_line("same", 1);
  const auto mine = tl.shard(x);
  auto passing = tl.load(mine.ptr, mine.shape, f32);
  auto total = passing;
  for (int round = 1; round < size; ++round) {
    tl.send("E", passing);
    passing = tl.recv("W", mine.shape, f32);
    total = total + passing;
  }
  tl.store(mine.ptr, total);
}

/// One head: softmax(q · kᵀ) · v, the keys in two pieces, with a running maximum and sum.
void attention(tl::Context& tl, tl::Ptr q, tl::Ptr k, tl::Ptr v, tl::Ptr out, int n, int d) {
  tl.set_line("same", 1);
  const auto query = tl.load(q, {n, d}, f32);
  auto most = tl.full({n, 1}, -1e30, f32);
  auto sum = tl.zeros({n, 1}, f32);
  auto acc = tl.zeros({n, d}, f32);
  for (int piece = 0; piece < 2; ++piece) {
    const auto keys = tl.load(k + piece * n * d * 4, {n, d}, f32);
    const auto values = tl.load(v + piece * n * d * 4, {n, d}, f32);
    const auto scores = tl.dot(query, tl.trans(keys));
    const auto next = tl.maximum(most, tl.max(scores, 1, true));
    const auto scale = tl.exp(most - next);
    const auto weights = tl.exp(scores - next);
    const auto weighed = tl.sum(weights, 1, true);
    sum = sum * scale + weighed;
    const auto scaled = acc * scale;
    const auto product = tl.dot(weights, values);
    acc = scaled + product;
    most = next;
  }
  tl.store(out, acc / sum);
}

/// `host` returns its tensors, which stay until the end: in which order they are dropped is each language's own.
using Tensors = std::vector<Tensor>;
void show(const char* name, const std::function<Tensors(Torch&)>& host) {
  Torch torch(topology::load_machine("small", {}, topology::builtin_registry()));
  const Tensors tensors = host(torch);
  torch.synchronize();
  fmt::print("{} {:016x}\n", name, torch.log().hash());
}

}  // namespace

int main() {
  show("axpy", [](Torch& torch) -> Tensors {
    const Tensor x = torch.from_numpy(ramp({4096}), kColumns, "x"),
                 y = torch.from_numpy(ramp({4096}), kColumns, "y");
    torch.launch("axpy", axpy, x, y, 0.5, 32);
    return {x, y};
  });
  show("softmax", [](Torch& torch) -> Tensors {
    const Tensor x =
        torch.from_numpy(ramp({32, 64}), DPPolicy{.cube = Split::row_wise, .pe = Split::row_wise}, "x");
    torch.launch("softmax", softmax_rows, x);
    return {x};
  });
  show("ring", [](Torch& torch) -> Tensors {
    const Tensor x = torch.from_numpy(ramp({8, 64}), DPPolicy{.pe = Split::row_wise, .num_cubes = 1}, "x");
    dist::launch(torch, {.name = "ring", .topology = "intracube_ring"}, ring, x, 8);
    return {x};
  });
  show("attention", [](Torch& torch) -> Tensors {
    const Tensor q = torch.from_numpy(ramp({16, 32}), {}, "q"), k = torch.from_numpy(ramp({32, 32}), {}, "k"),
                 v = torch.from_numpy(ramp({32, 32}), {}, "v"), out = torch.empty({16, 32}, f32, {}, "out");
    torch.launch("attention", attention, q, k, v, out, 16, 32);
    return {q, k, v, out};
  });
}
