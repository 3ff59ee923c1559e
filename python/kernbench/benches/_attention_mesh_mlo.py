"""Decode: partial results (m, l, O) travel to all ranks and are merged. Written in C++."""
from .. import _core


def attention_mesh_mlo_kernel(q, k, v, o, S_q, S_kv_per_rank, h_q, h_kv, d_head, n_ranks, rank_axis=0, mesh_width=0, *, tl):
    _core.attention_mesh_mlo_kernel(tl, q, k, v, o, S_q, S_kv_per_rank, h_q, h_kv, d_head, n_ranks, rank_axis, mesh_width)
