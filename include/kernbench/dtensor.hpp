// Distributed tensors in the manner of PyTorch: one logical matrix over a mesh of SIPs, and operators that choose local work
// and collectives from where their operands lie.
//
//   spawn(torch, [&](int rank) {
//     torch.ahbm.set_device(rank);
//     dist::init_process_group(torch);
//     nn::DeviceMesh mesh(torch, {2, 2}, {"dp", "tp"});
//     auto x = nn::distribute_tensor(x_here, mesh, {nn::Shard(0), nn::Replicate()});
//     auto w = nn::distribute_tensor(w_here, mesh, {nn::Replicate(), nn::Shard(1)});
//     auto y = nn::relu(nn::matmul(x, w));                       // Shard(0), Shard(1): nothing was sent
//     NdArray all = y.full_tensor().numpy();
//   }, 4);
//
// A mesh has one or two dimensions; rank r sits at (r / columns, r % columns). For each dimension of the mesh a tensor has a
// placement: `Shard(d)`, each member an equal part of axis d; `Replicate()`, each member all of it; `Partial()`, the
// members' tensors added up are it. Tensors are matrices. Inside each SIP a local tensor keeps its DPPolicy where that fits.
// Every rank of the mesh makes the same calls.
#pragma once

#include <string>
#include <vector>

#include "kernbench/distributed.hpp"
#include "kernbench/nn.hpp"

namespace kernbench::nn {

class Placement {
 public:
  enum class Kind { replicate, shard, partial };
  Kind kind = Kind::replicate;
  int dim = 0;                              // of a shard
  dist::ReduceOp op = dist::ReduceOp::SUM;  // of a partial

  bool is_replicate() const { return kind == Kind::replicate; }
  bool is_partial() const { return kind == Kind::partial; }
  bool is_shard() const { return kind == Kind::shard; }
  bool is_shard(int of_dim) const { return is_shard() && dim == of_dim; }
  friend bool operator==(const Placement&, const Placement&) = default;
};
inline Placement Replicate() { return {}; }
inline Placement Shard(int dim) { return {.kind = Placement::Kind::shard, .dim = dim}; }
inline Placement Partial(dist::ReduceOp op = dist::ReduceOp::SUM) {
  return {.kind = Placement::Kind::partial, .op = op};
}
/// `Shard(0)`, `Replicate()`, `Partial(sum)`
std::string to_string(const Placement& placement);
using Placements = std::vector<Placement>;

class DeviceMesh {
 public:
  /// InputError (`mesh.…`) unless it has one or two dimensions with a name each (or none) and all ranks of the world.
  DeviceMesh(Torch& torch, std::vector<int> shape, std::vector<std::string> names = {});
  Torch& torch() const { return *torch_; }
  int ndim() const { return static_cast<int>(shape_.size()); }
  int size(int dim) const { return shape_[static_cast<std::size_t>(dim)]; }
  /// The number of a dimension by its name.
  int dim(const std::string& name) const;
  /// The calling rank's place along a dimension.
  int coordinate(int dim) const;
  /// The ranks along a dimension that the calling rank is one of.
  std::vector<int> members(int dim) const;
  dist::Group group(int dim) const;
  friend bool operator==(const DeviceMesh& a, const DeviceMesh& b) {
    return a.torch_ == b.torch_ && a.shape_ == b.shape_;
  }

 private:
  Torch* torch_;
  std::vector<int> shape_;
  std::vector<std::string> names_;
};

class DTensor {
 public:
  /// What this rank has, as it is.
  static DTensor from_local(const Tensor& local, const DeviceMesh& mesh, const Placements& placements);

  const Shape& shape() const { return shape_; }  // of the whole
  const DeviceMesh& device_mesh() const { return mesh_; }
  const Placements& placements() const { return placements_; }
  const Tensor& to_local() const { return local_; }
  /// All of it, on every rank.
  Tensor full_tensor() const;
  /// Shard → Replicate is an all-gather, Shard(i) → Shard(j) an all-to-all, Replicate → Shard local, Partial → Replicate an
  /// all-reduce, Partial → Shard a reduce-scatter. Replicate → Partial is an InputError.
  DTensor redistribute(const Placements& placements) const;

 private:
  DTensor(Tensor local, DeviceMesh mesh, Placements placements, Shape shape)
      : local_(std::move(local)),
        mesh_(std::move(mesh)),
        placements_(std::move(placements)),
        shape_(std::move(shape)) {}
  DTensor step(int dim, const Placement& to) const;

  Tensor local_;
  DeviceMesh mesh_;
  Placements placements_;
  Shape shape_;
};

/// A tensor that every rank has, as one distributed over the mesh.
DTensor distribute_tensor(const Tensor& tensor, const DeviceMesh& mesh, const Placements& placements);

// The rule tables are in docs/models.md. Operands of one mesh; anything else is an InputError (`dtensor.…`).
DTensor matmul(const DTensor& a, const DTensor& b);
DTensor add(const DTensor& a, const DTensor& b);
DTensor mul(const DTensor& a, const DTensor& b);
DTensor relu(const DTensor& x);
DTensor gelu(const DTensor& x);
DTensor silu(const DTensor& x);
/// Over the last axis, which must not be sharded.
DTensor softmax(const DTensor& x);
inline DTensor operator+(const DTensor& a, const DTensor& b) { return add(a, b); }
inline DTensor operator*(const DTensor& a, const DTensor& b) { return mul(a, b); }

/// What becomes of operands along one dimension of a mesh, and of the result: the rows of the rule tables.
struct Rule {
  Placement a, b;        // as they come
  Placement a_as, b_as;  // what they are redistributed to
  Placement result;
};
const std::vector<Rule>& matmul_rules();
const std::vector<Rule>& add_rules();
const std::vector<Rule>& mul_rules();

}  // namespace kernbench::nn
