"""Every name of the prototype, used as its programs would."""
import os
import pathlib

import numpy as np
import pytest

ROOT = pathlib.Path(os.environ["KERNBENCH_SOURCE"])


@pytest.fixture(autouse=True)
def in_the_source_tree(monkeypatch):
    monkeypatch.chdir(ROOT)


def engine_of(enable_data=True, **changes):
    from kernbench.sim_engine.engine import GraphEngine
    from kernbench.topology.builder import resolve_topology
    topology = resolve_topology("topology.yaml")
    for path, value in changes.items():
        at = topology.topology_obj.spec
        *groups, last = path.split("__")
        for group in groups:
            at = at[group]
        at[last] = value
    return GraphEngine(topology.topology_obj, enable_data=enable_data)


def context_of(engine, device="all"):
    from kernbench.runtime_api.context import RuntimeContext
    from kernbench.runtime_api.types import resolve_device
    return RuntimeContext(engine=engine, target_device=resolve_device(device), correlation_id="test", spec=engine.topology_obj.spec)


def double(t, n, tl):
    pe = tl.program_id(0)
    at = t + pe * n * 2
    tl.store(at, tl.load(at, shape=(n,), dtype="f16") * 2)


# ── topology, engine ──

def test_a_topology_has_its_file_as_nested_dicts():
    from kernbench.topology.builder import resolve_topology
    spec = resolve_topology("topology.yaml").topology_obj.spec
    assert spec["system"]["sips"]["count"] == 2 and isinstance(spec["sip"]["cube_mesh"]["w"], int)


def test_a_spec_that_was_changed_makes_another_machine():
    engine = engine_of(system__sips__count=4)
    with context_of(engine) as torch:
        assert torch.ahbm.device_count() == 4


def test_an_engine_has_a_clock_a_log_and_results():
    engine = engine_of()
    assert engine._env.now == 0 and engine._results == {}
    with context_of(engine) as torch:
        x = torch.zeros((4,), dtype="f16", name="x")
    assert engine._env.now > 0 and len(engine.op_log) > 0 and len(engine._results) == 2


# ── contexts ──

@pytest.mark.parametrize("bare", [False, True])
def test_contexts_with_with_and_bare(bare):
    from kernbench.policy.placement.dp import DPPolicy
    torch = context_of(engine_of())
    x = torch.zeros((8, 64), dtype="f16", dp=DPPolicy(cube="replicate", pe="row_wise", num_cubes=1), name="x")
    x.copy_(torch.from_numpy(np.ones((8, 64), np.float16)))
    if bare:
        torch.launch("double", double, x, 64)
    else:
        with torch:
            torch.launch("double", double, x, 64)
    assert (x.numpy() == 2).all() and x.shape == (8, 64)


def test_host_tensors_have_no_placement_and_make_no_request():
    from kernbench.runtime_api.tensor import Tensor
    torch = context_of(engine_of())
    a = torch.from_numpy(np.arange(6, dtype=np.float16).reshape(2, 3))
    assert a._handle is None and isinstance(a, Tensor) and a.shape == (2, 3) and torch.traces == []
    b = Tensor(shape=(2, 3), dtype="f16", name="b")
    assert b._host_buffer is None or not b._host_buffer.any()
    b.copy_(a)
    assert (b._host_buffer == a.numpy()).all() and b.numpy().dtype == np.float16
    with pytest.raises(ValueError, match="copy_ shape mismatch"):
        b.copy_(np.zeros(4))
    placed = torch.zeros((2, 3), dtype="f16")
    assert isinstance(placed, Tensor) and (placed._handle.shards[0].sip, placed._handle.shards[0].cube, placed._handle.shards[0].pe) == (0, 0, 0)
    placed.copy_(b)
    assert (placed.numpy() == a.numpy()).all()
    with pytest.raises(ValueError, match="copy_ shape mismatch"):
        placed.copy_(np.zeros(4, np.float16))


def test_a_placed_tensor_goes_to_devices_and_not_to_other_dtypes():
    torch = context_of(engine_of())
    x = torch.full((4,), 2, dtype="f16")
    assert x.to("ahbm") is x and x.to("f16") is x and x.to(device="cuda") is x and x.cpu().numpy().tolist() == [2, 2, 2, 2]
    with pytest.raises(TypeError, match="converts nothing; use copy_"):
        x.to("f32")


def test_launches_that_defer_their_wait():
    from kernbench.policy.placement.dp import DPPolicy
    torch = context_of(engine_of())
    xs = []
    for sip in range(2):
        torch.ahbm.set_device(sip)
        x = torch.zeros((8, 64), dtype="f16", dp=DPPolicy(pe="row_wise", num_cubes=1))
        x.copy_(np.full((8, 64), sip + 1, np.float16))
        xs.append(x)
    torch.ahbm.set_device(0)
    pending = [p for x in xs for p in torch.launch("double", double, x, 64, _defer_wait=True)]
    assert [sip for _, sip, _ in pending] == [0, 1]
    for handle, sip, meta in pending:
        torch.wait(handle, _meta=meta)
    assert [x.numpy()[0, 0] for x in xs] == [2, 4]
    kernels = [t for t in torch.traces if t["phase"] == "kernel"]
    assert [(t["name"], t["sip"]) for t in kernels] == [("double", 0), ("double", 1)] and kernels[0]["pe_exec_ns"] > 0


# ── run_bench ──

def test_run_bench():
    from kernbench.runtime_api.bench_runner import run_bench
    from kernbench.runtime_api.types import DeviceSelector, resolve_device
    from kernbench.sim_engine.engine import GraphEngine
    from kernbench.topology.builder import resolve_topology

    def program(torch):
        x = torch.zeros((8, 64), dtype="f16", name="x")
        torch.launch("double", double, x, 64)

    result = run_bench(topology=resolve_topology("topology.yaml"), bench_fn=program, device=resolve_device(None),
                       engine_factory=lambda topology, device: GraphEngine(topology.topology_obj, enable_data=True))
    assert result.completion.ok and result.engine._env.now > 0
    trace = next(t for t in result.traces if t["phase"] == "kernel")
    assert trace["name"] == "double" and trace["sip"] == 0 and trace["total_ns"] >= trace["pe_exec_ns"] > 0

    def failing(torch):
        torch.zeros((4,))
        raise KeyError("mine")

    with pytest.raises(KeyError):
        run_bench(topology=resolve_topology("topology.yaml"), bench_fn=failing, device=DeviceSelector("sip:1"), engine_factory=None)
    with pytest.raises(ValueError, match="submitted nothing"):
        run_bench(topology=resolve_topology("topology.yaml"), bench_fn=lambda torch: None, device="all")
    with pytest.raises(ValueError):
        DeviceSelector("gpu")


def test_shipped_benches_run_over_a_context(capsys):
    from kernbench.benches.registry import resolve
    from kernbench.runtime_api.bench_runner import run_bench
    from kernbench.topology.builder import resolve_topology
    bench = resolve("ccl_allreduce")
    assert bench.name == "ccl-allreduce" and bench.description
    result = run_bench(topology=resolve_topology("topology.yaml"), bench_fn=bench.run, device=None)
    assert result.completion.ok and "OK" in capsys.readouterr().out


# ── placement ──

def test_placement_names():
    from kernbench.policy.placement import dp
    policy = dp.DPPolicy(cube="column_wise", pe="row_wise", num_cubes=2, num_pes=4)
    for wrong in ("sip", "num_sips"):
        with pytest.raises(TypeError):
            dp.DPPolicy(**{wrong: 1})
    spec = dp.ShardSpec(sip=0, cube=1, pe=2, offset_bytes=0, nbytes=4)
    with pytest.raises(AttributeError):
        spec.pe_index
    with pytest.raises(TypeError):
        dp.ShardSpec(sip=0, cube=1, pe_index=2, offset_bytes=0, nbytes=4)
    shards = dp.resolve_dp_policy(policy, shape=(8, 8), itemsize=2, num_pe=4, num_cubes=2, target_sip=1)
    assert len(shards) == 8 and {s.sip for s in shards} == {1} and sum(s.nbytes for s in shards) == 128
    with pytest.raises(TypeError, match="num_sips"):
        dp.resolve_dp_policy(policy, shape=(8, 8), itemsize=2, num_pe=4, num_cubes=2, target_sip=1, num_sips=2)
    # 8 × 8 × 2 B over 4 PEs: 32 B each
    for split in (dp.column_wise, dp.row_wise):
        assert [(s.local_pe, s.offset_bytes, s.nbytes) for s in split(shape=(8, 8), itemsize=2, num_pe=4)] == [
            (p, 32 * p, 32) for p in range(4)]
    assert [(s.local_pe, s.nbytes) for s in dp.replicate(shape=(8, 8), itemsize=2, num_pe=4)] == [(p, 128) for p in range(4)]
    for split in (dp.tiled_column_major, dp.tiled_row_major):
        tiles = split(shape=(8, 8), itemsize=2, num_pe=4, tile_m=2, tile_k=4)  # 4 × 2 tiles of 16 B, two for each PE
        assert [t.local_pe for t in tiles] == [0, 1, 2, 3, 0, 1, 2, 3] and {t.nbytes for t in tiles} == {16}


# ── kernels alone ──

def test_kernels_are_recorded_alone():
    from kernbench.common.ipcq_types import IpcqRecvCmd, IpcqSendCmd
    from kernbench.common.pe_commands import CompositeCmd, DmaReadCmd, DmaWriteCmd, GemmCmd, MathCmd
    from kernbench.triton_emu.tl_context import TLContext, run_kernel

    def kernel(a, b, out, tl):
        x = tl.load(a, shape=(16, 16), dtype="f16")
        y = tl.dot(x, tl.load(b, (16, 16), "f16"))
        tl.send(dir="E", src=x)
        z = tl.recv(dir="W", shape=(16, 16), dtype="f16")
        tl.store(out, y + z)
        tl.composite("gemm", tl.ref(a, (16, 16), "f16"), tl.ref(b, (16, 16), "f16"), tl.ref(out, (16, 16), "f16"))

    tl = TLContext(pe_id=3, num_programs=8, cube_id=1, num_cubes=4, dispatch_cycles=0)
    run_kernel(kernel, tl, 0x1000, 0x2000, 0x3000)
    kinds = [type(c) for c in tl.commands]
    assert kinds == [DmaReadCmd, DmaReadCmd, GemmCmd, IpcqSendCmd, IpcqRecvCmd, MathCmd, DmaWriteCmd, CompositeCmd]
    assert tl.commands[3].direction == "E" and (tl.program_id(0), tl.program_id(1), tl.num_programs(0)) == (3, 1, 8)


# ── collectives ──

@pytest.mark.parametrize("name, topology, args", [("ring_allreduce", "ring_1d", (4,)), ("tree_allreduce", "tree_binary", (4,)),
                                                  ("mesh_allreduce", "torus_2d", (4,))])
def test_collectives_in_the_mock(name, topology, args):
    import importlib

    from kernbench.ccl.testing import run_kernel_in_mock
    kernel = importlib.import_module(f"kernbench.ccl.algorithms.{name}").kernel
    outputs = run_kernel_in_mock(kernel_fn=kernel, world_size=4, topology=topology,
                                 inputs=[np.full(16, r + 1, np.float16) for r in range(4)], kernel_args=(16, *args))
    assert len(outputs) == 4 and all((o == 10).all() for o in outputs)


def test_hello_send_in_the_mock():
    from kernbench.ccl.algorithms import hello_send
    from kernbench.ccl.testing import run_kernel_in_mock
    outputs = run_kernel_in_mock(kernel_fn=hello_send.kernel, world_size=12, topology="ring_1d",
                                 inputs=[np.full(4, r, np.float16) for r in range(12)], kernel_args=(4,))
    assert [int(o[0]) for o in outputs] == [11, *range(11)]


def test_queues_installed_first_and_plain_launches_after():
    from kernbench.ccl.algorithms import ring_allreduce
    from kernbench.ccl.diagnostics import pointer_dump
    from kernbench.ccl.install import install_ipcq, linear_rank_to_pe, load_ccl_config, resolve_algorithm_config
    from kernbench.policy.placement.dp import DPPolicy
    engine = engine_of()
    spec = engine.topology_obj.spec
    cfg = resolve_algorithm_config(load_ccl_config(), "ring_allreduce")
    assert cfg["algorithm"] == "ring_allreduce" and cfg["n_slots"] == 4 and cfg["topology"] == "ring_1d"
    cfg["world_size"] = 8
    installed = install_ipcq(engine, spec, cfg)
    assert installed["world_size"] == 8 and installed["rank_to_pe"][3] == (0, 0, 3) == linear_rank_to_pe(3, spec)
    torch = context_of(engine)
    x = torch.zeros((8, 32), dtype="f16", dp=DPPolicy(pe="row_wise", num_cubes=1))
    x.copy_(np.repeat(np.arange(8, dtype=np.float16)[:, None], 32, 1))
    torch.launch("ring", ring_allreduce.kernel, x, 32, 8)
    assert (x.numpy() == 28).all()
    dump = pointer_dump(engine)
    # Seven rounds: everybody has sent and received seven messages.
    assert "my_head=7" in dump and "my_tail=7" in dump and "peer_head_cache=7" in dump and "peer_tail_cache=" in dump


@pytest.mark.parametrize("kind, sips, w, h", [("ring_1d", 2, 2, 1), ("torus_2d", 4, 2, 2), ("mesh_2d_no_wrap", 4, 2, 2)])
def test_the_intercube_all_reduce_of_all_sips(kind, sips, w, h):
    from kernbench.ccl.algorithms import intercube_allreduce
    from kernbench.ccl.install import load_ccl_config, resolve_algorithm_config
    from kernbench.ccl.sfr_config import configure_sfr_intercube_multisip
    from kernbench.policy.placement.dp import DPPolicy
    engine = engine_of(system__sips__count=sips, system__sips__topology=kind)
    spec = engine.topology_obj.spec
    cfg = resolve_algorithm_config(load_ccl_config(), "intercube_allreduce")
    plan = configure_sfr_intercube_multisip(engine, spec, cfg)
    assert plan["world_size"] == sips * 16 and plan["rank_to_pe"][17] == (1, 1, 0)
    torch = context_of(engine)
    n, tensors = 64, []
    for sip in range(sips):
        torch.ahbm.set_device(sip)
        t = torch.zeros((16, n), dtype="f16", dp=DPPolicy(cube="row_wise", pe="replicate", num_pes=1))
        t.copy_(np.full((16, n), sip + 1, np.float16))
        tensors.append(t)
    pending = []
    for sip, t in enumerate(tensors):
        pending += torch.launch("intercube", intercube_allreduce.kernel, t, n, 4, 4, sips, sip,
                                intercube_allreduce.TOPO_NAME_TO_KIND[kind], w, h, _defer_wait=True)
    for handle, _, meta in pending:
        torch.wait(handle, _meta=meta)
    # 16 cubes of each SIP hold its number + 1
    expected = 16 * sum(range(1, sips + 1))
    assert all((t.numpy() == expected).all() for t in tensors)


def test_an_intracube_ring():
    from kernbench.ccl.algorithms import hello_send
    from kernbench.ccl.sfr_config import configure_sfr_intracube_pe_ring
    from kernbench.policy.placement.dp import DPPolicy
    engine = engine_of()
    plan = configure_sfr_intracube_pe_ring(engine, engine.topology_obj.spec, {})
    assert plan["world_size"] == 256
    torch = context_of(engine)
    x = torch.zeros((8, 32), dtype="f16", dp=DPPolicy(pe="row_wise", num_cubes=1))
    x.copy_(np.repeat(np.arange(8, dtype=np.float16)[:, None], 32, 1))
    torch.launch("hello", hello_send.kernel, x, 32)
    assert x.numpy()[:, 0].tolist() == [7, 0, 1, 2, 3, 4, 5, 6]


def test_ranks_as_closures_and_a_failing_assertion():
    import kernbench as kb
    from kernbench.policy.placement.dp import DPPolicy
    torch = context_of(engine_of())
    results = {}

    def worker(rank, torch, factor):
        torch.ahbm.set_device(rank)
        x = torch.full((16, 32), rank + 1, dtype="f16", dp=DPPolicy(cube="row_wise", num_pes=1))
        torch.distributed.all_reduce(x, op="sum")
        results[rank] = float(x.numpy()[0, 0]) * factor

    torch.distributed.init_process_group(backend="ahbm")
    torch.multiprocessing.spawn(worker, args=(torch, 2), nprocs=torch.distributed.get_world_size(), join=True)
    assert set(results) == {0, 1} and torch.distributed.get_backend() == "ahbm"

    def failing(rank, torch):
        assert rank == 0, "not this rank"

    with pytest.raises(kb.SpawnException, match="not this rank") as caught:
        torch.multiprocessing.spawn(failing, args=(torch,), nprocs=2)
    assert list(caught.value.errors) == [1] and isinstance(caught.value.errors[1], AssertionError)


def test_the_files_of_the_current_folder_are_used_at_call_time(tmp_path, monkeypatch):
    from kernbench.ccl.install import load_ccl_config, resolve_algorithm_config
    from kernbench.topology.builder import resolve_topology
    (tmp_path / "ccl.yaml").write_text((ROOT / "ccl.yaml").read_text().replace("n_slots: 4 ", "n_slots: 6 "))
    (tmp_path / "topology.yaml").write_text((ROOT / "topologies" / "small.yaml").read_text())
    assert resolve_algorithm_config(load_ccl_config())["n_slots"] == 4
    here = resolve_topology("topology.yaml").topology_obj.spec
    monkeypatch.chdir(tmp_path)
    assert resolve_algorithm_config(load_ccl_config())["n_slots"] == 6
    assert resolve_topology("topology.yaml").topology_obj.spec != here
    assert load_ccl_config(ROOT / "ccl.yaml")["defaults"]["n_slots"] == 4
    torch = context_of(engine_of())
    assert torch._ccl_source() == "ccl.yaml"


def test_install_ipcq_of_the_context():
    torch = context_of(engine_of())
    said = torch.install_ipcq(algorithm="ring_allreduce", world_size_override=4)
    assert said["world_size"] == 4 and said["rank_to_pe"] == [(0, 0, p) for p in range(4)]


def test_diagnostics_print(capsys, monkeypatch):
    from kernbench.ccl import diagnostics
    monkeypatch.setenv("KERNBENCH_CCL_TRACE", "0")
    diagnostics.reload_trace_setting()
    diagnostics.log_send(t_ns=1.0, sender="sip0.cube0.pe0", direction="E", nbytes=64, sender_seq=0)
    assert not diagnostics.trace_enabled() and capsys.readouterr().out == ""
    monkeypatch.setenv("KERNBENCH_CCL_TRACE", "1")
    diagnostics.reload_trace_setting()
    diagnostics.log_send(t_ns=1.0, sender="sip0.cube0.pe0", direction="E", nbytes=64, sender_seq=3)
    diagnostics.log_recv(t_ns=2.0, receiver="sip0.cube0.pe1", direction="W", nbytes=64)
    out = capsys.readouterr().out
    assert "send" in out and "dir=E" in out and "recv" in out and "dir=W" in out
    monkeypatch.setenv("KERNBENCH_CCL_TRACE", "0")
    diagnostics.reload_trace_setting()


def test_a_deadlock_is_the_one_of_the_diagnostics():
    from kernbench.ccl.diagnostics import IpcqDeadlock
    from kernbench.ccl.sfr_config import configure_sfr_intracube_pe_ring
    engine = engine_of()
    configure_sfr_intracube_pe_ring(engine, engine.topology_obj.spec, {})
    torch = context_of(engine)
    x = torch.zeros((8, 32), dtype="f16")
    with pytest.raises(IpcqDeadlock) as caught:
        torch.launch("stuck", lambda x, tl: tl.recv("W", (4,), "f16"), x)
    assert "prototype_test.py" in str(caught.value) and caught.value.blocked[0][0] == (0, 0, 0)


def test_the_command_line_as_a_function(capsys):
    from kernbench.cli.main import main
    assert main(["run", "--bench", "ccl-allreduce", "--verify-data", "--quiet", "n_elem=64"]) == 0
    assert "OK" in capsys.readouterr().out
    assert main(["nonsense"]) == 2 and "nonsense" in capsys.readouterr().err
