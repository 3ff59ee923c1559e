"""Tensor parallel layers by the names of the prototype, and the attention kernels."""
import os
import pathlib

import numpy as np
import pytest

from kernbench.runtime_api.context import RuntimeContext
from kernbench.sim_engine.engine import GraphEngine
from kernbench.topology.builder import resolve_topology

ROOT = pathlib.Path(os.environ["KERNBENCH_SOURCE"])


@pytest.fixture
def torch(monkeypatch):
    from kernbench.tp import parallel_state
    monkeypatch.chdir(ROOT)
    parallel_state._reset_for_tests()
    engine = GraphEngine(resolve_topology("topology.yaml").topology_obj, enable_data=True)
    with RuntimeContext(engine=engine, target_device=None, correlation_id="tp", spec=engine.spec) as context:
        yield context
    parallel_state._reset_for_tests()


@pytest.mark.parametrize("m", [1, 2, 4])
def test_column_then_row_is_the_product_of_both(torch, m):
    from kernbench import tp
    random = np.random.default_rng(m)
    x, w1, w2 = (random.normal(0, 0.3, shape).astype(np.float16) for shape in ((m, 16), (16, 32), (32, 16)))
    outputs = {}

    def worker(rank, torch):
        torch.ahbm.set_device(rank)
        column = tp.ColumnParallelLinear(16, 32, torch=torch)
        row = tp.RowParallelLinear(32, 16, torch=torch)
        local = slice(rank * column.n_local, (rank + 1) * column.n_local)
        assert (column.n_local, row.k_local) == (16, 16) and column.weight.shape == (16, 16) and column.bias is None
        column.weight.copy_(np.ascontiguousarray(w1[:, local]))
        row.weight.copy_(np.ascontiguousarray(w2[local]))
        here = torch.zeros((m, 16), dtype="f16", name="x")
        here.copy_(torch.from_numpy(x))
        outputs[rank] = row.forward(column.forward(here)).numpy()

    torch.distributed.init_process_group()
    tp.initialize_model_parallel(2)
    assert tp.get_tensor_model_parallel_world_size() == 2
    torch.multiprocessing.spawn(worker, args=(torch,), nprocs=2)
    expected = x.astype(np.float32) @ w1.astype(np.float32) @ w2.astype(np.float32)
    assert np.allclose(outputs[0], expected, rtol=1e-2, atol=1e-2) and (outputs[0] == outputs[1]).all()


def test_sizes_and_order_are_checked(torch):
    from kernbench import tp
    with pytest.raises(RuntimeError):
        tp.get_tensor_model_parallel_world_size()
    with pytest.raises(NotImplementedError):
        tp.initialize_model_parallel(3)
    tp.initialize_model_parallel(2)
    with pytest.raises(ValueError, match=r"out_features \(15\) must be divisible by TP world size \(2\)"):
        tp.ColumnParallelLinear(16, 15, torch=torch)
    with pytest.raises(ValueError, match=r"in_features \(15\) must be divisible by TP world size \(2\)"):
        tp.RowParallelLinear(15, 16, torch=torch)


def test_an_embedding_and_regions(torch):
    from kernbench import tp
    from kernbench.tp import mappings
    table = np.arange(64, dtype=np.float16).reshape(8, 8)
    seen = {}

    def worker(rank, torch):
        torch.ahbm.set_device(rank)
        layer = tp.VocabParallelEmbedding(8, 8, torch=torch)
        layer.weight.copy_(table[4 * rank: 4 * rank + 4])
        ids = torch.zeros((3,), dtype="i32")
        ids.copy_(np.array([5, 0, 7], np.int32))
        out = layer.forward(ids)
        part = mappings.scatter_to_tp_region(out, torch)
        seen[rank] = (out.numpy(), part.numpy(), mappings.gather_from_tp_region(part, torch).numpy())

    torch.distributed.init_process_group()
    tp.initialize_model_parallel(2)
    torch.multiprocessing.spawn(worker, args=(torch,), nprocs=2)
    expected = table[[5, 0, 7]]
    for rank in range(2):
        out, part, whole = seen[rank]
        assert (out == expected).all() and (part == expected[:, 4 * rank: 4 * rank + 4]).all() and (whole == expected).all()


def test_attention_kernels_take_any_tl():
    from kernbench.benches._attention_mesh_kv import attention_mesh_kv_kernel
    from kernbench.benches._attention_mesh_mlo import attention_mesh_mlo_kernel
    from kernbench.common.ipcq_types import IpcqSendCmd
    from kernbench.common.pe_commands import GemmCmd
    from kernbench.triton_emu.tl_context import TLContext, run_kernel
    for rank, directions in ((0, {"E"}), (1, {"E", "W"}), (3, {"W"})):
        tl = TLContext(pe_id=rank, num_programs=4)
        run_kernel(attention_mesh_kv_kernel, tl, 0x10000, 0x20000, 0x30000, 0x40000, 16, 16, 1, 1, 64, 4)
        assert {c.direction for c in tl.commands if isinstance(c, IpcqSendCmd)} == directions
        assert sum(isinstance(c, GemmCmd) for c in tl.commands) == 2 * 4  # 2 · h_kv · n_ranks of the 2 · h_kv · n_ranks²
    tl = TLContext(pe_id=1, num_programs=8, cube_id=0, num_cubes=4)
    run_kernel(attention_mesh_mlo_kernel, tl, 0x10000, 0x20000, 0x30000, 0x40000, 1, 16, 1, 1, 64, 4, rank_axis=1)
    assert tl.commands == []


def test_where_the_milestone_writes():
    from kernbench.benches.milestone_gqa_llama70b import _OUTPUT_DIR
    assert _OUTPUT_DIR == pathlib.Path("benches/1H_milestone_output/gqa")
