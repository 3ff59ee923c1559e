// Operators on distributed tensors: local work and collectives, chosen from placements by a table.
#include <fmt/format.h>

#include <algorithm>

#include "kernbench/dtensor.hpp"
#include "nn/reshard.hpp"

namespace kernbench::nn {
namespace {

const Placement R = Replicate(), S0 = Shard(0), S1 = Shard(1), P = Partial();

}  // namespace

const std::vector<Rule>& matmul_rules() {
  static const std::vector<Rule> rules = {
      {R, R, R, R, R},    {R, S0, S1, S0, P},  {R, S1, R, S1, S1},  {R, P, R, P, P},
      {S0, R, S0, R, S0}, {S0, S0, S0, R, S0}, {S0, S1, S0, R, S0}, {S0, P, S0, R, S0},
      {S1, R, S1, S0, P}, {S1, S0, S1, S0, P}, {S1, S1, R, S1, S1}, {S1, P, S1, S0, P},
      {P, R, P, R, P},    {P, S0, S1, S0, P},  {P, S1, R, S1, S1},  {P, P, R, P, P},
  };
  return rules;
}

const std::vector<Rule>& add_rules() {
  static const std::vector<Rule> rules = {
      {R, R, R, R, R},     {R, S0, S0, S0, S0},  {R, S1, S1, S1, S1},  {R, P, R, R, R},
      {S0, R, S0, S0, S0}, {S0, S0, S0, S0, S0}, {S0, S1, S0, S0, S0}, {S0, P, S0, S0, S0},
      {S1, R, S1, S1, S1}, {S1, S0, S1, S1, S1}, {S1, S1, S1, S1, S1}, {S1, P, S1, S1, S1},
      {P, R, R, R, R},     {P, S0, S0, S0, S0},  {P, S1, S1, S1, S1},  {P, P, P, P, P},
  };
  return rules;
}

const std::vector<Rule>& mul_rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> same = add_rules();
    same.back() = {P, P, R, R, R};  // a product of sums is no sum of products
    return same;
  }();
  return rules;
}

namespace {

struct Aligned {
  DTensor a, b;
  Placements result;
};

/// Partials of other operations than the sum are combined first.
DTensor without_odd_partials(const DTensor& x) {
  Placements to = x.placements();
  for (Placement& p : to)
    if (p.is_partial() && p.op != dist::ReduceOp::SUM) p = R;
  return to == x.placements() ? x : x.redistribute(to);
}

Aligned aligned(const char* operation, const DTensor& left, const DTensor& right,
                const std::vector<Rule>& rules) {
  if (!(left.device_mesh() == right.device_mesh()))
    throw InputError(
        {"dtensor.mesh", operation, "operands of different meshes", "distribute both over one mesh"});
  const DTensor a = without_odd_partials(left), b = without_odd_partials(right);
  Placements a_as, b_as, result;
  for (std::size_t d = 0; d < a.placements().size(); ++d) {
    const auto matches = [&](const Rule& r) { return r.a == a.placements()[d] && r.b == b.placements()[d]; };
    const auto rule = std::ranges::find_if(rules, matches);
    KB_ASSERT(rule != rules.end(), "no rule for {} and {}", to_string(a.placements()[d]),
              to_string(b.placements()[d]));
    a_as.push_back(rule->a_as), b_as.push_back(rule->b_as), result.push_back(rule->result);
  }
  return {a.redistribute(a_as), b.redistribute(b_as), result};
}

Tensor local_matmul(const Tensor& a, const Tensor& b, Torch& torch) {
  const DPPolicy columns = spread(torch, Split::column_wise, b.shape()[1]);
  const Tensor right = b.dp() == columns ? b : redistribute(b, columns, {.name = b.name()});
  return matmul(copied_to(a, Placed(right)), right);
}

Tensor like(const Tensor& x, const Tensor& other) {
  return Placed(x).lies_like(Placed(other)) ? x : redistribute(x, other.dp(), {.name = x.name()});
}

void check_shapes(const char* operation, const DTensor& a, const DTensor& b, bool fit) {
  if (!fit)
    throw InputError({"dtensor.shape", operation,
                      fmt::format("{} and {}", to_string(a.shape()), to_string(b.shape())),
                      "[M, K] · [K, N], or two of one shape"});
}

/// What needs the whole sum gets it.
DTensor summed(const DTensor& x) {
  Placements to = x.placements();
  for (Placement& p : to)
    if (p.is_partial()) p = R;
  return to == x.placements() ? x : x.redistribute(to);
}

template <class Fn>
DTensor unary(const DTensor& x, Fn fn) {
  const DTensor whole = summed(x);
  return DTensor::from_local(fn(whole.to_local()), whole.device_mesh(), whole.placements());
}

}  // namespace

DTensor matmul(const DTensor& a, const DTensor& b) {
  check_shapes("matmul", a, b, a.shape()[1] == b.shape()[0]);
  const Aligned both = aligned("matmul", a, b, matmul_rules());
  Torch& torch = a.device_mesh().torch();
  return DTensor::from_local(local_matmul(both.a.to_local(), both.b.to_local(), torch), a.device_mesh(),
                             both.result);
}

DTensor add(const DTensor& a, const DTensor& b) {
  check_shapes("add", a, b, a.shape() == b.shape());
  const Aligned both = aligned("add", a, b, add_rules());
  const Tensor left = both.a.to_local();
  return DTensor::from_local(add(left, like(both.b.to_local(), left)), a.device_mesh(), both.result);
}

DTensor mul(const DTensor& a, const DTensor& b) {
  check_shapes("mul", a, b, a.shape() == b.shape());
  const Aligned both = aligned("mul", a, b, mul_rules());
  const Tensor left = both.a.to_local();
  return DTensor::from_local(mul(left, like(both.b.to_local(), left)), a.device_mesh(), both.result);
}

DTensor relu(const DTensor& x) {
  return unary(x, [](const Tensor& t) { return relu(t); });
}
DTensor gelu(const DTensor& x) {
  return unary(x, [](const Tensor& t) { return gelu(t); });
}
DTensor silu(const DTensor& x) {
  return unary(x, [](const Tensor& t) { return silu(t); });
}

DTensor softmax(const DTensor& x) {
  for (const Placement& p : x.placements())
    if (p.is_shard(1))
      throw InputError({"dtensor.softmax", "softmax", "the last axis, over which it goes, is Shard(1)",
                        "redistribute to Shard(0) or Replicate() first"});
  Torch& torch = x.device_mesh().torch();
  return unary(x, [&](const Tensor& t) {
    const bool rows = Placed(t).has_whole_rows();
    return softmax(rows ? t
                        : redistribute(t, spread(torch, Split::row_wise, t.shape()[0]), {.name = t.name()}));
  });
}

}  // namespace kernbench::nn
