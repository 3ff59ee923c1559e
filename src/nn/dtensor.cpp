#include "kernbench/dtensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "nn/pieces.hpp"
#include "nn/reshard.hpp"

namespace kernbench::nn {
namespace {

[[noreturn]] void refuse_mesh(const char* id, std::string what, std::string hint) {
  throw InputError({id, "", std::move(what), std::move(hint)});
}

std::string names_of(const Placements& placements) {
  std::vector<std::string> words;
  for (const Placement& p : placements) words.push_back(to_string(p));
  return join(words);
}

}  // namespace

std::string to_string(const Placement& placement) {
  switch (placement.kind) {
    case Placement::Kind::replicate:
      return "Replicate()";
    case Placement::Kind::shard:
      return fmt::format("Shard({})", placement.dim);
    case Placement::Kind::partial:
      return fmt::format("Partial({})", ccl::to_string(placement.op));
  }
  KB_ASSERT(false, "a placement without a name");
  return {};
}

// ── meshes ──

DeviceMesh::DeviceMesh(Torch& torch, std::vector<int> shape, std::vector<std::string> names)
    : torch_(&torch), shape_(std::move(shape)), names_(std::move(names)) {
  if (shape_.empty() || shape_.size() > 2)
    refuse_mesh("mesh.shape", fmt::format("a mesh of {} dimensions", shape_.size()), "one or two");
  int ranks = 1;
  for (const int n : shape_) ranks *= n;
  if (ranks != dist::get_world_size(torch) || std::ranges::any_of(shape_, [](int n) { return n < 1; }))
    refuse_mesh("mesh.shape",
                fmt::format("a mesh of {} ranks in a world of {}", ranks, dist::get_world_size(torch)),
                "a mesh has all ranks of the world");
  const bool twice = names_.size() == 2 && names_.front() == names_.back();
  if (!names_.empty() && (names_.size() != shape_.size() || twice))
    refuse_mesh("mesh.names", fmt::format("{} names for {} dimensions", names_.size(), shape_.size()),
                "one for each, all different, or none");
}

int DeviceMesh::dim(const std::string& name) const {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end())
    refuse_mesh("mesh.names", fmt::format("no dimension is called {}", quote(name)),
                fmt::format("dimensions: {}", join(names_)));
  return static_cast<int>(found - names_.begin());
}

int DeviceMesh::coordinate(int dim) const {
  const int rank = dist::get_rank(*torch_), columns = shape_.back();
  if (ndim() == 1) return rank;
  return dim == 0 ? rank / columns : rank % columns;
}

std::vector<int> DeviceMesh::members(int dim) const {
  const int columns = shape_.back(), rank = dist::get_rank(*torch_);
  std::vector<int> ranks;
  for (int i = 0; i < size(dim); ++i)
    ranks.push_back(ndim() == 1 ? i : dim == 0 ? i * columns + rank % columns : rank / columns * columns + i);
  return ranks;
}

dist::Group DeviceMesh::group(int dim) const {
  const auto ranks = members(dim);
  if (static_cast<int>(ranks.size()) == dist::get_world_size(*torch_)) return {};
  return dist::Group::of(ranks);
}

// ── tensors ──

namespace {

void check_placements(const DeviceMesh& mesh, const Placements& placements) {
  if (static_cast<int>(placements.size()) != mesh.ndim())
    refuse_mesh("dtensor.placements",
                fmt::format("{} placements for a mesh of {} dimensions", placements.size(), mesh.ndim()),
                "one for each dimension of the mesh");
  for (const Placement& p : placements)
    if (p.is_shard() && p.dim != 0 && p.dim != 1)
      refuse_mesh("dtensor.placements", fmt::format("{} of a matrix", to_string(p)),
                  "a matrix has the axes 0 and 1: Shard(0), Shard(1), Replicate(), Partial()");
}

void check_matrix(const Tensor& tensor) {
  if (tensor.shape().rank() != 2)
    refuse_mesh("dtensor.shape", fmt::format("{} {}", tensor.name(), to_string(tensor.shape())),
                "a distributed tensor is a matrix: two axes");
}

/// The policy if it fits a shape, else columns over the largest grid that divides them.
DPPolicy fitting(const Torch& torch, const DPPolicy& dp, const Shape& shape, DType dtype) {
  try {
    resolve_dp_policy(dp, shape, itemsize(dtype), torch.machine().pes(), torch.machine().cubes(), 0);
    return dp;
  } catch (const InputError&) {
    return spread(torch, Split::column_wise, shape[1]);
  }
}

std::int64_t part_of_axis(const Shape& shape, int axis, int members) {
  if (shape[axis] % members != 0)
    refuse_mesh("dtensor.uneven",
                fmt::format("axis {} of {} over {} members", axis, to_string(shape), members),
                "their number divides the axis");
  return shape[axis] / members;
}

/// Rows or columns of a tensor, on the same SIP.
Tensor part_of(const Tensor& x, int axis, std::int64_t first, std::int64_t count, Torch& torch) {
  const Call call("redistribute", {.name = x.name()}, {x});
  auto tiles = source_tiles(x);
  for (SourceTile& tile : tiles) (axis == 0 ? tile.rect.row : tile.rect.col) -= first;
  const Shape shape = axis == 0 ? Shape{count, x.shape()[1]} : Shape{x.shape()[0], count};
  Tensor y = call.empty(shape, x.dtype(), fitting(torch, x.dp(), shape, x.dtype()));
  move_into(call, x, y, std::move(tiles));
  return y;
}

/// One dimension of a mesh that a collective goes over, and the layout that collectives want: all rows of some columns.
class Along {
 public:
  Along(const DeviceMesh& mesh, int dim, const Tensor& local)
      : torch_(mesh.torch()), group_(mesh.group(dim)), n_(mesh.size(dim)), like_(local) {}

  Tensor gathered(int axis) const {
    const std::int64_t rows = like_.shape()[0], cols = like_.shape()[1];
    const Tensor mine = by_columns(like_);
    const Tensor all = empty({n_ * rows, cols}, mine);
    dist::all_gather_into_tensor(all, mine, group_);
    if (axis == 0) return laid_out(all);
    const Shape shape{rows, n_ * cols};
    return beside_each_other(all, n_, shape, policy(shape), like_.name());
  }

  Tensor reduced(dist::ReduceOp op) const {
    const Tensor copy = by_columns(like_, true);
    if (op == dist::ReduceOp::SUM)
      all_reduce_alike(copy, group_);
    else
      dist::all_reduce(copy, op, group_);
    return laid_out(copy);
  }

  Tensor reduce_scattered(int axis, dist::ReduceOp op) const {
    const std::int64_t part = part_of_axis(like_.shape(), axis, n_);
    const Tensor all =
        axis == 0 ? by_columns(like_) : below_each_other(like_, n_, columns(part), like_.name());
    const Tensor mine = empty(axis == 0 ? Shape{part, like_.shape()[1]} : Shape{like_.shape()[0], part}, all);
    dist::reduce_scatter_tensor(mine, all, op, group_);
    return laid_out(mine);
  }

  /// From a shard of one axis to a shard of the other.
  Tensor exchanged(int from) const {
    const int to = 1 - from;
    const std::int64_t part = part_of_axis(like_.shape(), to, n_);
    const Tensor sent =
        from == 0 ? below_each_other(like_, n_, columns(part), like_.name()) : by_columns(like_);
    const Tensor got = empty(sent.shape(), sent);
    dist::all_to_all_single(got, sent, group_);
    if (from == 0) return laid_out(got);
    const Shape shape{part, n_ * like_.shape()[1]};
    return beside_each_other(got, n_, shape, policy(shape), like_.name());
  }

 private:
  DPPolicy columns(std::int64_t cols) const { return spread(torch_, Split::column_wise, cols); }
  DPPolicy policy(const Shape& shape) const { return fitting(torch_, like_.dp(), shape, like_.dtype()); }
  Tensor by_columns(const Tensor& x, bool copy = false) const {
    const DPPolicy dp = columns(x.shape()[1]);
    return x.dp() == dp && !copy ? x : nn::redistribute(x, dp, {.name = x.name()});
  }
  Tensor empty(const Shape& shape, const Tensor& like) const {
    return torch_.empty(shape, like.dtype(), like.dp(), like_.name());
  }
  Tensor laid_out(const Tensor& x) const {
    const DPPolicy dp = policy(x.shape());
    return x.dp() == dp ? x : nn::redistribute(x, dp, {.name = x.name()});
  }

  Torch& torch_;
  const dist::Group group_;
  const int n_;
  const Tensor like_;
};

}  // namespace

DTensor DTensor::from_local(const Tensor& local, const DeviceMesh& mesh, const Placements& placements) {
  check_placements(mesh, placements);
  check_matrix(local);
  std::int64_t extents[2] = {local.shape()[0], local.shape()[1]};
  for (int d = 0; d < mesh.ndim(); ++d)
    if (const Placement& p = placements[static_cast<std::size_t>(d)]; p.is_shard())
      extents[p.dim] *= mesh.size(d);
  return {local, mesh, placements, {extents[0], extents[1]}};
}

DTensor DTensor::step(int dim, const Placement& to) const {
  const auto d = static_cast<std::size_t>(dim);
  const Placement from = placements_[d];
  const Along along(mesh_, dim, local_);
  Placements placements = placements_;
  placements[d] = to;
  const auto with = [&](Tensor local) { return DTensor(std::move(local), mesh_, placements, shape_); };
  if (from.is_shard()) return with(to.is_replicate() ? along.gathered(from.dim) : along.exchanged(from.dim));
  if (from.is_partial())
    return with(to.is_replicate() ? along.reduced(from.op) : along.reduce_scattered(to.dim, from.op));
  const std::int64_t part = part_of_axis(local_.shape(), to.dim, mesh_.size(dim));
  return with(part_of(local_, to.dim, mesh_.coordinate(dim) * part, part, mesh_.torch()));
}

/// Where two dimensions of the mesh shard one axis, the second one cuts what the first has left: it is undone before the
/// first changes, and done again behind it.
DTensor DTensor::redistribute(const Placements& to) const {
  check_placements(mesh_, to);
  DTensor now = *this;
  const auto at = [&](const Placements& p, int d) { return p[static_cast<std::size_t>(d)]; };
  for (int d = 0; d < mesh_.ndim(); ++d)
    if (at(to, d).is_partial() && at(placements_, d) != at(to, d))
      refuse_mesh("dtensor.redistribute", fmt::format("from {} to {}", names_of(placements_), names_of(to)),
                  "to Replicate() or Shard(): a Partial() comes from operators alone");
  if (mesh_.ndim() == 2 && at(to, 0) != at(placements_, 0) && at(placements_, 1).is_shard()) {
    const int axis = at(placements_, 1).dim;
    if (at(placements_, 0).is_shard(axis) || at(to, 0).is_shard(axis)) now = now.step(1, Replicate());
  }
  for (int d = 0; d < mesh_.ndim(); ++d)
    if (at(now.placements_, d) != at(to, d)) now = now.step(d, at(to, d));
  return now;
}

Tensor DTensor::full_tensor() const {
  return redistribute(Placements(placements_.size(), Replicate())).to_local();
}

DTensor distribute_tensor(const Tensor& tensor, const DeviceMesh& mesh, const Placements& placements) {
  return DTensor::from_local(tensor, mesh, Placements(static_cast<std::size_t>(mesh.ndim()), Replicate()))
      .redistribute(placements);
}

}  // namespace kernbench::nn
