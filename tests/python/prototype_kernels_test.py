"""Kernels, layers and benches by the names of the prototype."""
import os
import pathlib

import numpy as np
import pytest

import kernbench as kb
from kernbench.common.pe_commands import DmaReadCmd, DmaWriteCmd, GemmCmd, TensorHandle
from kernbench.policy.placement.dp import DPPolicy
from kernbench.runtime_api.context import RuntimeContext
from kernbench.sim_engine.engine import GraphEngine
from kernbench.topology.builder import resolve_topology
from kernbench.triton_emu.tl_context import TLContext, run_kernel

ROOT = pathlib.Path(os.environ["KERNBENCH_SOURCE"])


@pytest.fixture(autouse=True)
def in_the_source_tree(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture
def torch():
    engine = GraphEngine(resolve_topology("topology.yaml").topology_obj, enable_data=True)
    with RuntimeContext(engine=engine, target_device=None, correlation_id="t", spec=engine.spec) as context:
        yield context


def handle(addr, n=8, **more):
    return TensorHandle(id="loc", addr=addr, shape=(n,), dtype="f16", nbytes=2 * n, **more)


# ── tiles by address ──

def test_a_tensor_handle_has_its_fields():
    h = handle(0x1000, data=None, space="tcm")
    assert (h.id, h.addr, h.shape, h.dtype, h.nbytes, h.data, h.space) == ("loc", 0x1000, (8,), "f16", 16, None, "tcm")
    assert handle(0).space == "hbm"
    with pytest.raises(ValueError, match="16"):
        TensorHandle(id="x", addr=0, shape=(8,), dtype="f16", nbytes=8)


def test_the_example_of_a_ring_by_handles_in_simulation(torch):
    from kernbench.ccl.sfr_config import configure_sfr_intracube_pe_ring
    seen = []

    def kernel(t_ptr, n_elem, world_size, buf, tl):
        nbytes, rank = 2 * n_elem, tl.program_id(axis=0)
        mine = TensorHandle(id="loc", addr=t_ptr + rank * nbytes, shape=(n_elem,), dtype="f16", nbytes=nbytes, data=None, space="hbm")
        tl.send(dir="E", src=mine)
        got = tl.recv(dir="W", shape=(n_elem,), dst_addr=buf + rank * nbytes, dst_space="hbm")
        assert got.addr == buf + rank * nbytes and got.space == "hbm"
        seen.append(rank)

    configure_sfr_intracube_pe_ring(torch.engine, torch.spec, {})
    dp = DPPolicy(pe="row_wise", num_cubes=1)
    t, buf = torch.zeros((8, 16), dp=dp), torch.zeros((8, 16), dp=dp)
    t.copy_(np.repeat(np.arange(8, dtype=np.float16)[:, None], 16, 1))
    torch.launch("ring", kernel, t, 16, 8, buf)
    assert buf.numpy()[:, 0].tolist() == [7, 0, 1, 2, 3, 4, 5, 6] and sorted(seen) == list(range(8))


def test_handles_are_operands_and_can_be_stored():
    def kernel(a, out, tl):
        x = handle(a)
        tl.store(out, tl.load(a, (8,)) + x)
        tl.store(out, x)
        tl.store(out, handle=tl.exp(x))
        tl.store(out, tl.sum(x, keep_dims=True) * x)
        tl.store(out, 2 * tl.maximum(x, 0.0))

    tl = TLContext()
    run_kernel(kernel, tl, 0x1000, 0x2000)
    assert sum(isinstance(c, DmaWriteCmd) for c in tl.commands) == 5
    assert [c.src_addr for c in tl.commands if isinstance(c, DmaReadCmd)] == [0x1000] * 7


def test_tiles_know_where_they_came_from():
    def kernel(a, tl):
        x = tl.load(a, (4,))
        assert (x.addr, x.space, x.nbytes, x.data, x.dtype) == (0x1000, "hbm", 8, None, "f16")
        y = x + 1
        assert (y.addr, y.space, y.data) == (0, "tcm", None)
        got = tl.recv(dir="W", shape=(4,), dst_addr=0x3000, dst_space="sram")
        assert (got.addr, got.space) == (0x3000, "sram")

    run_kernel(kernel, TLContext(), 0x1000)


def test_dtypes_may_be_left_out():
    def kernel(a, tl):
        x = tl.load(a, (4,))
        y = tl.recv("W", (4,))
        z = tl.wait(tl.recv_async("E", (4,)))
        w = tl.recv(dir="N")
        assert {t.dtype for t in (x, y, z, w)} == {"f16"} and w.shape == ()

    run_kernel(kernel, TLContext(), 0x1000)


@pytest.mark.parametrize("call", [lambda tl, x, one: tl.clamp(x, min=-1.0, max=one), lambda tl, x, one: tl.clamp(x, -1.0, one),
                                  lambda tl, x, one: tl.clamp(x, least=-1.0, most=one)])
def test_clamp_takes_min_and_max(call):
    def kernel(t, tl):
        tl.store(t, call(tl, tl.load(t, (4,), "f32"), tl.full((4,), 1.0, "f32")))

    with kb.Torch("small") as torch:
        x = torch.from_numpy(np.array([-3, -1, 0, 2], np.float32))
        torch.launch("clamp", kernel, x)
        assert x.numpy().tolist() == [-1, -1, 0, 1]


def test_clamp_needs_both_bounds_once():
    def kernel(a, tl):
        tl.clamp(tl.load(a, (4,)), 1.0, 2.0, min=0.0)

    with pytest.raises(TypeError, match="twice"):
        run_kernel(kernel, TLContext(), 0x1000)
    with pytest.raises(TypeError, match="needs a largest value"):
        run_kernel(lambda a, tl: tl.clamp(tl.load(a, (4,)), min=0.0), TLContext(), 0x1000)


def test_recv_without_a_direction_takes_directions_in_turn_in_the_functional_runner():
    from kernbench.ccl.testing import run_kernel_in_mock

    def kernel(t, n, tl):
        rank, nbytes = tl.program_id(0), 2 * n
        mine = t + rank * nbytes
        if rank == 0:
            a, b = tl.recv(shape=(n,)), tl.recv(shape=(n,))
            tl.store(mine, 10 * a + b)
        else:
            tl.send("parent", tl.load(mine, (n,)))

    out = run_kernel_in_mock(kernel_fn=kernel, world_size=3, topology="tree_binary", inputs=[np.full(4, r, np.float16) for r in range(3)],
                             kernel_args=(4,))
    assert out[0].tolist() == [12] * 4  # child_left before child_right


def test_recv_without_a_direction_takes_what_comes_in_a_simulation(torch):
    from kernbench.ccl.sfr_config import configure_sfr_intracube_pe_ring

    def kernel(t, tl):
        pe = tl.program_id(0)
        tl.send("E", tl.load(t + 8 * pe, (4,)))
        tl.store(t + 8 * pe, tl.recv(shape=(4,)))

    configure_sfr_intracube_pe_ring(torch.engine, torch.spec, {})
    t = torch.zeros((8, 4), dp=DPPolicy(pe="row_wise", num_cubes=1))
    t.copy_(np.repeat(np.arange(8, dtype=np.float16)[:, None], 4, 1))
    torch.launch("any", kernel, t)
    assert t.numpy()[:, 0].tolist() == [7, 0, 1, 2, 3, 4, 5, 6]


# ── layers ──

def test_layers_know_their_parts_by_both_names_and_need_a_context(torch):
    from kernbench import tp
    tp.initialize_model_parallel(2)
    column, row = tp.ColumnParallelLinear(8, 32, torch=torch), tp.RowParallelLinear(32, 8, torch=torch)
    assert (column.k_local, column.n_local, row.k_local, row.n_local) == (16, 16, 16, 16)
    for layer in (tp.ColumnParallelLinear, tp.RowParallelLinear):
        with pytest.raises(TypeError) as caught:
            layer(8, 32)
        assert str(caught.value) == f"{layer.__name__} requires torch=<RuntimeContext>"


def test_the_kernel_of_a_product():
    from kernbench.tp.kernels import _gemm_kernel
    tl = TLContext()
    run_kernel(_gemm_kernel, tl, 0x1000, 0x2000, 0x3000, 4, 8, 2)
    assert [type(c) for c in tl.commands] == [DmaReadCmd, DmaReadCmd, GemmCmd, DmaWriteCmd] and tl.commands[-1].dtype == "f16"
    with kb.Torch("small") as torch:
        a, b = np.arange(32).reshape(4, 8), np.arange(16).reshape(8, 2)
        x, y, out = torch.from_numpy(a.astype(np.float32)), torch.from_numpy(b.astype(np.float32)), torch.zeros((4, 2), "f32")
        torch.launch("gemm", _gemm_kernel, x, y, out, 4, 8, 2, DTYPE="f32")
        assert (out.numpy() == a @ b).all()


def test_module_functions_inside_spawn_use_the_context_of_the_caller(torch):
    from kernbench import tp
    tp.initialize_model_parallel(2)
    seen = {}

    def rank(r):
        seen[r] = (tp.get_tensor_model_parallel_rank(), tp.get_tensor_model_parallel_world_size())

    torch.multiprocessing.spawn(rank, nprocs=2)
    assert seen == {0: (0, 2), 1: (1, 2)}


# ── benches ──

def copy(x, tl):
    tl.store(x, tl.load(x, (4,)))


def plain_program(torch):
    torch.launch("copy", copy, torch.zeros((4,)))


def test_a_plain_function_is_a_bench():
    result = kb.run_bench(plain_program, "small")
    assert result.ok and result.bench == "plain-program" and len(result.launches) == 1

    @kb.bench
    def without_brackets(torch):
        """Copies."""
        plain_program(torch)

    assert kb.describe_bench("without-brackets")["description"] == "Copies." and kb.run_bench("without_brackets", "small").ok
    assert kb.run_bench(lambda torch: plain_program(torch), "small").ok


def test_the_command_line_runs_a_plain_function(tmp_path, capsys):
    from kernbench.cli.main import main
    (tmp_path / "plain.py").write_text("def copy(x, tl):\n    tl.store(x, tl.load(x, (4,)))\n\n\ndef my_program(torch):\n"
                                       "    torch.launch('copy', copy, torch.zeros((4,)))\n")
    assert main(["run", "--bench", f"{tmp_path / 'plain.py'}:my_program", "--topology", "small"]) == 0
    assert "my-program" in capsys.readouterr().out


def test_a_shipped_bench_over_a_context_has_the_figures_of_the_command_line(torch, tmp_path):
    import json

    from kernbench.benches.registry import resolve
    options = dict(scale="validation")
    resolve("milestone-gqa-llama70b").run(torch, output=tmp_path / "over.json", **options)
    kb.run_bench("milestone-gqa-llama70b", str(ROOT / "topology.yaml"), output=tmp_path / "run.json", **options)
    over, run = (json.loads((tmp_path / f"{name}.json").read_text())["rows"] for name in ("over", "run"))
    assert over[0]["op_log_summary"]["gemm_count"] > 0 and over[0]["lower_bound_ns"] > 0
    for a, b in zip(over, run):
        assert {key: a[key] for key in ("lower_bound_ns", "bound_by", "work_ns", "pe_exec_ns")} == {
            key: b[key] for key in ("lower_bound_ns", "bound_by", "work_ns", "pe_exec_ns")}


def test_a_model_over_a_context_has_its_bounds():
    from kernbench.benches.registry import resolve
    engine = GraphEngine(resolve_topology("topology.yaml").topology_obj, enable_data=False)
    sizes = dict(model="custom", hidden=256, ffn=512, heads=8, kv_heads=8, head_dim=32)
    line = resolve("llama").run(RuntimeContext(engine=engine, target_device=None, correlation_id="t", spec=engine.spec), **sizes)
    assert line == kb.run_bench("llama", str(ROOT / "topology.yaml"), **sizes).line and "bound" in line


def test_the_functional_runner_gives_kernels_the_data_of_their_tiles():
    from kernbench.ccl.testing import run_kernel_in_mock
    seen = {}

    def kernel(t, n, tl):
        rank = tl.program_id(0)
        mine = t + rank * 2 * n
        x = tl.load(mine, (n,))
        assert (x.data == rank).all()
        tl.send("E", x)
        got = tl.recv("W", (n,))
        seen[rank] = int(got.data[0])
        tl.store(mine, got * float(got[1:3].data.sum()))

    out = run_kernel_in_mock(kernel_fn=kernel, world_size=4, topology="ring_1d", inputs=[np.full(4, r, np.float16) for r in range(4)],
                             kernel_args=(4,))
    assert seen == {0: 3, 1: 0, 2: 1, 3: 2} and [int(o[0]) for o in out] == [18, 0, 2, 8]  # x · 2 x
    with pytest.raises(kb.SimulationError, match="no rank can go on"):
        run_kernel_in_mock(kernel_fn=lambda t, tl: tl.recv("W", (4,)).data, world_size=2, topology="ring_1d",
                           inputs=[np.zeros(4, np.float16)] * 2)


def test_attention_of_the_last_tokens_of_a_sequence_is_checked_and_takes_less():
    def run(queries):
        return kb.run_bench("milestone-gqa-llama70b", "small", scale="headline", contexts="256", batches="1", panels="single_user_prefill",
                            output="", queries=queries, verify=True)

    whole, some, one = run(0), run(64), run(1)
    assert whole.ok and some.ok and one.ok and whole.results["time_ns"] > some.results["time_ns"] > one.results["time_ns"]
    assert whole.hash == run(256).hash
    with pytest.raises(kb.InputError, match="the last 512 tokens were asked for of a sequence that has 256"):
        run(512)
