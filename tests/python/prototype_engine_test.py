"""What programs of the prototype ask of the engine and the context beyond launches."""
import os
import pathlib
import warnings

import numpy as np
import pytest

import kernbench as kb
from kernbench.policy.placement.dp import DPPolicy
from kernbench.runtime_api.context import RuntimeContext
from kernbench.sim_engine.engine import GraphEngine
from kernbench.topology.builder import resolve_topology

ROOT = pathlib.Path(os.environ["KERNBENCH_SOURCE"])
ROWS = DPPolicy(pe="row_wise", num_cubes=1)


@pytest.fixture(autouse=True)
def in_the_source_tree(monkeypatch):
    monkeypatch.chdir(ROOT)


def engine_of(enable_data=True):
    return GraphEngine(resolve_topology("topology.yaml").topology_obj, enable_data=enable_data)


def context_of(engine):
    return RuntimeContext(engine=engine, target_device=None, correlation_id="t", spec=engine.spec)


def double(t, n, tl):
    at = t + tl.program_id(0) * n * 2
    tl.store(at, tl.load(at, (n,)) * 2)


# ── memory ──

def test_the_example_of_a_kernel_between_writes_and_reads_of_memory():
    from kernbench.ccl.algorithms import hello_send
    from kernbench.ccl.sfr_config import configure_sfr_intracube_pe_ring
    engine, n = engine_of(), 32
    nbytes = 2 * n
    configure_sfr_intracube_pe_ring(engine, engine.spec, {})
    torch = context_of(engine)
    a = torch.zeros((8, n), dtype="f16", dp=ROWS)
    base = a._handle.va_base or a._handle.shards[0].pa
    for r in range(8): engine.memory_store.write("hbm", base + r * nbytes, np.full((n,), float(r + 1), np.float16))
    torch.launch("hello_send", hello_send.kernel, a, n)
    assert engine.memory_store.read("hbm", base, shape=(n,), dtype="f16")[0] == 8.0       # what rank 7 sent
    assert any(t["pe_exec_ns"] > 0 for _, (_, t) in engine._results.items() if isinstance(t, dict))


def test_memory_is_written_and_read_without_time_after_what_is_under_way():
    engine = engine_of()
    torch = context_of(engine)
    x = torch.zeros((8, 64), dtype="f16", dp=ROWS)
    x.copy_(np.ones((8, 64), np.float16))
    torch.launch("double", double, x, 64, _defer_wait=True)
    assert (engine.memory_store.read("hbm", x.va, shape=(8, 64), dtype="f16") == 2).all()
    now = engine._env.now
    engine.memory_store.write("hbm", x.shards[3].pa, np.full((64,), 5, np.float16))
    assert engine.memory_store.read("hbm", x.va + 3 * 128, shape=(64,), dtype="f16")[0] == 5 and engine._env.now == now
    assert x.numpy()[3, 0] == 5 and x.numpy()[2, 0] == 2


def test_a_write_reaches_every_copy_and_numbers_that_kernels_ask_for():
    engine = engine_of()
    torch = context_of(engine)
    x = torch.zeros((8,), dtype="i32", dp=DPPolicy(pe="replicate", num_cubes=1))
    y = torch.zeros((8,), dtype="i32", dp=DPPolicy(pe="row_wise", num_cubes=1))
    engine.memory_store.write("hbm", x.va, np.full((8,), 7, np.int32))
    assert (x.numpy() == 7).all()

    def take(x, y, tl):
        tl.store(y + 4 * tl.program_id(0), tl.full((1,), tl.load_scalar(x, "i32"), "i32"))

    torch.launch("take", take, x, y)
    assert (y.numpy() == 7).all()


@pytest.mark.parametrize("space, make", [("tcm", "pe_tcm_addr"), ("sram", "cube_sram_addr"), ("hbm", "hbm_addr")])
def test_memory_that_no_tensor_holds_is_physical(space, make):
    from kernbench.policy.address.phyaddr import PhysAddr
    engine = engine_of()
    at = getattr(PhysAddr, make)(0, 1, 2, *([3] if space == "tcm" else []), 0x1000).encode()
    engine.memory_store.write(space, at, np.arange(6, dtype=np.float32))
    assert (engine.memory_store.read(space, at, shape=(2, 3), dtype="f32") == [[0, 1, 2], [3, 4, 5]]).all()
    with pytest.raises(kb.Error):
        engine.memory_store.read({"tcm": "hbm"}.get(space, "tcm"), at, shape=(6,), dtype="f32")


def test_without_data_memory_holds_nothing():
    engine = engine_of(enable_data=False)
    x = context_of(engine).zeros((4,))
    with pytest.raises(kb.NoData):
        engine.memory_store.read("hbm", x.va, shape=(4,), dtype="f16")
    with pytest.raises(kb.NoData):
        engine.memory_store.write("hbm", x.va, np.zeros(4, np.float16))


# ── results ──

def test_results_are_pairs_of_completion_and_trace():
    engine = engine_of()
    torch = context_of(engine)
    x = torch.zeros((8, 64), dtype="f16", dp=ROWS)
    handle = torch.launch("double", double, x, 64)
    pairs = dict(engine._results)
    assert list(pairs) == [0, 1, 2]  # map, write, launch
    completion, trace = pairs[2]
    assert completion.ok and (trace["phase"], trace["name"], trace["sip"]) == ("kernel", "double", 0)
    assert trace["total_ns"] >= trace["pe_exec_ns"] > 0
    assert engine.get_completion(handle) == (completion, trace)


def test_the_op_log_is_a_sequence_of_rows():
    engine = engine_of()
    torch = context_of(engine)
    x = torch.zeros((8, 64), dtype="f16", dp=ROWS)
    torch.launch("double", double, x, 64)
    log = engine.op_log
    rows = list(log)
    assert len(rows) == len(log) > 0
    first, last = log[0], log[-1]
    assert vars(first) == vars(rows[0]) and vars(last) == vars(rows[-1])
    assert isinstance(first.kind, str) and isinstance(first.name, str) and isinstance(first.reason, str) and isinstance(first.sip, int)
    assert first.end_ns >= first.start_ns >= 0 and first.start_ns == first.start_ps / 1000
    assert [r.id for r in log[2:5]] == [r.id for r in rows[2:5]]
    assert {row.kind for row in log} == set(log.kinds) and sum(row.kind == "dma_read" for row in log) == len(log.where(kind="dma_read"))
    with pytest.raises(IndexError):
        log[len(log)]


# ── contexts ──

def test_cleanup_gives_memory_back_and_what_was_in_it_can_still_be_read():
    engine = engine_of()
    with context_of(engine) as torch:
        big = torch.empty((3 << 30,), dtype="f16")  # 6 GiB: all of PE 0's slice
        with pytest.raises(kb.AllocationError):
            torch.zeros((4,))
        small = torch.full((4,), 3, dtype="f16", dp=DPPolicy(pe="row_wise", num_cubes=1, num_pes=4).on((1, 2), (0, 4)))
    torch.cleanup()
    assert small.numpy().tolist() == [3, 3, 3, 3] and small.shape == (4,)
    again = context_of(engine).empty((3 << 30,), dtype="f16")
    assert again.shape == big.shape
    with pytest.raises(kb.Error, match="memory was given back"):
        torch.launch("double", double, small, 1)


def test_the_machine_file_of_a_context():
    with kb.Torch("default") as torch:
        spec = torch.spec or {}
        assert spec["system"]["sips"]["count"] == 2 and spec["cube"]["pe_layout"]["pe_per_corner"] == 2
    engine = engine_of()
    assert context_of(engine).spec["system"]["sips"]["count"] == 2


def test_no_device_is_current_before_one_was_set():
    torch = context_of(engine_of())
    assert torch.ahbm.current_device() is None and torch.accelerator.current_device_index() is None
    x = torch.zeros((8, 64), dtype="f16", dp=ROWS)
    torch.launch("double", double, x, 64)
    assert torch.ahbm.current_device() is None
    seen = {}

    def rank(r):
        before = torch.ahbm.current_device()
        if r == 1:
            torch.ahbm.set_device(1)
        seen[r] = (before, torch.ahbm.current_device())

    torch.multiprocessing.spawn(rank, nprocs=2)
    assert seen == {0: (None, None), 1: (None, 1)}
    torch.ahbm.set_device(1)
    assert torch.ahbm.current_device() == 1 == torch.accelerator.current_device_index()


def test_a_rank_that_yields_lets_others_run():
    torch = context_of(engine_of())
    seen = []
    torch.distributed.cooperative_yield()  # outside of a rank: nothing

    def rank(r):
        for step in range(2):
            seen.append((r, step))
            torch.distributed.cooperative_yield()

    torch.multiprocessing.spawn(rank, nprocs=2)
    assert seen == [(0, 0), (1, 0), (0, 1), (1, 1)]


def test_a_rank_that_yields_until_another_has_read_comes_to_its_end():
    torch = context_of(engine_of())
    done = []

    def rank(r):
        torch.ahbm.set_device(r)
        if r == 0:
            while not done:
                torch.distributed.cooperative_yield()
        else:
            done.append(torch.full((4,), 5, "f16").numpy()[0])

    torch.multiprocessing.spawn(rank, nprocs=2)
    assert done == [5]


def test_a_rank_that_yields_while_the_others_wait_for_it_goes_on():
    torch = context_of(engine_of())
    torch.distributed.init_process_group(backend="ahbm")
    seen = {}

    def rank(r):
        torch.ahbm.set_device(r)
        x = torch.full((16, 32), r + 1, dtype="f16", dp=DPPolicy(cube="row_wise", num_pes=1))
        if r == 0:
            for _ in range(3):
                torch.distributed.cooperative_yield()
        torch.distributed.all_reduce(x)
        seen[r] = x.numpy()[0, 0]

    torch.multiprocessing.spawn(rank, nprocs=2)
    assert seen == {0: 3, 1: 3}


def test_a_rank_that_yields_without_end_while_the_others_wait_for_it_is_a_deadlock():
    torch = context_of(engine_of())
    torch.distributed.init_process_group(backend="ahbm")

    def rank(r):
        torch.ahbm.set_device(r)
        if r == 0:
            while True:
                torch.distributed.cooperative_yield()
        torch.distributed.all_reduce(torch.zeros((16, 32), dtype="f16", dp=DPPolicy(cube="row_wise", num_pes=1)))

    with pytest.raises(kb.SpawnException, match="not all members have joined"):
        torch.multiprocessing.spawn(rank, nprocs=2)


@pytest.mark.parametrize("make", [lambda: context_of(engine_of()), lambda: kb.Torch("default")])
def test_a_failed_spawn_names_the_ranks_that_raised(make):
    from kernbench.runtime_api.multiprocessing import SpawnException
    torch = make()

    def rank(r):
        if r == 1:
            raise ValueError("x")

    with pytest.raises(SpawnException) as caught:
        torch.multiprocessing.spawn(rank, nprocs=2)
    assert type(caught.value) is SpawnException is kb.SpawnException and isinstance(caught.value, RuntimeError)
    assert str(caught.value) == "spawn failed on ranks [1]: rank 1 raised ValueError('x')"
    assert list(caught.value.errors) == [1] and isinstance(caught.value.errors[1], ValueError)


def test_suspicious_use_is_a_warning(monkeypatch):
    monkeypatch.setenv("KERNBENCH_DEBUG", "1")
    torch = context_of(engine_of())
    with pytest.warns(UserWarning, match="get_rank.. outside of spawn") as caught:
        torch.distributed.get_rank()
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="rank 0 never set a device"):
        torch.multiprocessing.spawn(lambda r: torch.zeros((4,)), nprocs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.ahbm.set_device(0)
        monkeypatch.setenv("KERNBENCH_DEBUG", "0")
        torch.distributed.get_rank()


def test_ranks_on_other_sips():
    torch = context_of(engine_of())
    torch.distributed.init_process_group(backend="ahbm", rank_to_sip=[1, 0])
    seen = {}

    def rank(r):
        torch.ahbm.set_device(r)
        x = torch.full((16, 32), r + 1, dtype="f16", dp=DPPolicy(cube="row_wise", num_pes=1))
        torch.distributed.all_reduce(x)
        y = torch.zeros((4,), dtype="f16")
        if r == 0:
            torch.distributed.send(torch.full((4,), 9, dtype="f16"), 1)
        else:
            torch.distributed.recv(y, 0)
        seen[r] = (x.sip, x.numpy()[0, 0], y.numpy()[0])

    torch.multiprocessing.spawn(rank, nprocs=2)
    assert seen == {0: (1, 3, 0), 1: (0, 3, 9)}
    with pytest.raises(kb.InputError, match=r"rank_to_sip is \[1, 1\], but it must name each of the SIPs 0, 1 exactly once"):
        context_of(engine_of()).distributed.init_process_group(rank_to_sip=[1, 1])
