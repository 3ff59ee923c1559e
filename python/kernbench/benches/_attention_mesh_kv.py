"""Prefill: blocks of K and V travel to all ranks and are folded into a running softmax. Written in C++."""
from .. import _core


def attention_mesh_kv_kernel(q, k, v, o, S_q, S_kv_per_rank, h_q, h_kv, d_head, n_ranks, rank_axis=0, mesh_width=0, *, tl):
    _core.attention_mesh_kv_kernel(tl, q, k, v, o, S_q, S_kv_per_rank, h_q, h_kv, d_head, n_ranks, rank_axis, mesh_width)
