#include "python/models.hpp"
#include <pybind11/stl.h>

#include "kernbench/attention.hpp"
#include "python/host.hpp"
#include "python/recording.hpp"

namespace kernbench::python {
namespace {

using Attention = void (*)(tl::Context&, tl::Ptr, tl::Ptr, tl::Ptr, tl::Ptr, int, int, int, int, int, int,
                           int, int);

/// Plain numbers as pointers: each is the block of the PE that records.
void know_blocks(Recording& recording, std::initializer_list<tl::Ptr> pointers) {
  std::vector<tl::Shard> blocks;
  for (const tl::Ptr ptr : pointers)
    blocks.push_back(
        {.tensor = ptr, .ptr = ptr, .shape = {}, .origin = {}, .dtype = DType::f16, .name = "block"});
  recording.know_shards(std::move(blocks));
}

/// The commands have the lines of the C++ file.
void bind_attention(py::module_& m, const char* name, Attention kernel) {
  m.def(
      name,
      [kernel](const PyTl& tl, py::handle q, py::handle k, py::handle v, py::handle o, int S_q,
               int S_kv_per_rank, int h_q, int h_kv, int d_head, int n_ranks, int rank_axis, int mesh_width) {
        know_blocks(*tl.recording, {ptr_of(q), ptr_of(k), ptr_of(v), ptr_of(o)});
        tl::Context& context = tl.recording->context("tl");
        context.set_line(nullptr, 0);
        kernel(context, ptr_of(q), ptr_of(k), ptr_of(v), ptr_of(o), S_q, S_kv_per_rank, h_q, h_kv, d_head,
               n_ranks, rank_axis, mesh_width);
      },
      py::arg("tl"), py::arg("q"), py::arg("k"), py::arg("v"), py::arg("o"), py::arg("S_q"),
      py::arg("S_kv_per_rank"), py::arg("h_q"), py::arg("h_kv"), py::arg("d_head"), py::arg("n_ranks"),
      py::arg("rank_axis") = 0, py::arg("mesh_width") = 0);
}

}  // namespace

void bind_models(py::module_& m) {
  bind_attention(m, "attention_mesh_kv_kernel", nn::attention_mesh_kv_kernel);
  bind_attention(m, "attention_mesh_mlo_kernel", nn::attention_mesh_mlo_kernel);
}

}  // namespace kernbench::python
