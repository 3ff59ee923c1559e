"""Collectives by the names of the prototype: modules in ccl.yaml, mappers, validators, topologies, plans."""
import os
import pathlib
import sys
import types

import numpy as np
import pytest

import kernbench as kb
from kernbench.policy.placement.dp import DPPolicy
from kernbench.runtime_api.context import RuntimeContext
from kernbench.sim_engine.engine import GraphEngine
from kernbench.topology.builder import resolve_topology

ROOT = pathlib.Path(os.environ["KERNBENCH_SOURCE"])
RING = '''
def kernel(t_ptr, n_elem, world_size, factor, tl):
    rank = tl.program_id(axis=0)
    mine = t_ptr + rank * n_elem * 2
    acc = passing = tl.load(mine, (n_elem,), "f16")
    for _ in range(world_size - 1):
        tl.send(dir="E", src=passing)
        passing = tl.recv(dir="W", shape=(n_elem,), dtype="f16")
        acc = acc + passing
    tl.store(mine, acc * factor)


def kernel_args(world_size, n_elem, kernel_factor=1, **_):
    return n_elem, world_size, kernel_factor
'''


@pytest.fixture
def spec(monkeypatch):
    monkeypatch.chdir(ROOT)
    return resolve_topology("topology.yaml").topology_obj.spec


def engine_of():
    return GraphEngine(resolve_topology(str(ROOT / "topology.yaml")).topology_obj, enable_data=True)


def context_of(engine):
    return RuntimeContext(engine=engine, target_device=None, correlation_id="t", spec=engine.spec)


def folder_with(tmp_path, monkeypatch, name, source, ccl):
    """A folder with a module beside its ccl.yaml."""
    (tmp_path / f"{name.replace('.', '/')}.py").parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / f"{name.replace('.', '/')}.py").write_text(source)
    (tmp_path / "ccl.yaml").write_text(ccl)
    monkeypatch.chdir(tmp_path)
    for known in [m for m in sys.modules if m.split(".")[0] == name.split(".")[0]]:
        monkeypatch.delitem(sys.modules, known)


# ── the older program ──

@pytest.mark.parametrize("ccl", ["defaults: {algorithm: ring_allreduce}\nalgorithms: {ring_allreduce: {world_size: 8}}\n",
                                 "defaults: {algorithm: own}\nalgorithms: {own: {module: older_pkg.ring, topology: ring_1d, world_size: 8}}\n"])
def test_the_older_program_reduces_one_tensor_over_its_pes(tmp_path, monkeypatch, ccl):
    folder_with(tmp_path, monkeypatch, "older_pkg.ring", RING, ccl)
    torch = context_of(engine_of())
    torch.distributed.init_process_group(backend="ahbm")
    world_size, n_elem = torch.distributed.get_world_size(), 16
    t = torch.zeros((1, world_size * n_elem), dtype="f16", dp=DPPolicy(cube="replicate", pe="column_wise", num_cubes=1, num_pes=world_size))
    t.copy_(torch.from_numpy(np.repeat(np.arange(1, world_size + 1, dtype=np.float16), n_elem).reshape(1, -1)))
    torch.distributed.all_reduce(t, op="sum")
    assert world_size == 8 and (t.numpy() == 36).all()


# ── modules of one's own ──

def test_a_module_named_in_ccl_yaml_registers_itself_and_gets_its_arguments(tmp_path, monkeypatch):
    folder_with(tmp_path, monkeypatch, "own_pkg.deep.ring", RING, "defaults: {algorithm: mine}\nalgorithms:\n"
                "  mine: {module: own_pkg.deep.ring, topology: ring_1d, mapper: leader_only, kernel_factor: 2}\n")
    torch = context_of(engine_of())
    seen = {}

    def rank(r):
        torch.ahbm.set_device(r)
        x = torch.full((64,), r + 1, dtype="f16")
        torch.distributed.all_reduce(x)
        seen[r] = x.numpy()[0]

    torch.distributed.init_process_group()
    torch.multiprocessing.spawn(rank, nprocs=2)
    assert seen == {0: 6, 1: 6}  # (1 + 2) · factor


def test_a_module_is_known_to_plain_contexts_and_benches_too(tmp_path, monkeypatch):
    folder_with(tmp_path, monkeypatch, "plain_pkg.ring", RING, "defaults: {algorithm: mine}\nalgorithms: {mine: {module: plain_pkg.ring}}\n")

    def program(torch):
        def rank(r):
            torch.ahbm.set_device(r)
            x = torch.full((64,), r + 1, dtype="f16")
            torch.distributed.all_reduce(x)
            assert x.numpy()[0] == 3

        torch.distributed.init_process_group()
        torch.multiprocessing.spawn(rank, nprocs=2)

    with kb.Torch(str(ROOT / "topology.yaml")) as torch:
        program(torch)
    assert kb.run_bench(program, str(ROOT / "topology.yaml"), verify=True).ok


def test_neighbors_of_a_module_are_used_instead_of_the_topology(tmp_path, monkeypatch):
    backwards = RING + '''

def neighbors(rank, world_size, neighbor_map):
    assert neighbor_map == {"E": (rank + 1) % world_size, "W": (rank - 1) % world_size}
    return {"E": (rank - 1) % world_size, "W": (rank + 1) % world_size}
'''
    folder_with(tmp_path, monkeypatch, "back_pkg.ring", backwards, "defaults: {algorithm: mine}\nalgorithms:\n"
                "  mine: {module: back_pkg.ring, topology: ring_1d, world_size: 4}\n")
    import kernbench.ccl.install as install
    torch = context_of(engine_of())
    torch.distributed.init_process_group()
    t = torch.zeros((4, 8), dp=DPPolicy(pe="row_wise", num_cubes=1, num_pes=4))
    t.copy_(np.repeat(np.arange(4, dtype=np.float16)[:, None], 8, 1))
    torch.distributed.all_reduce(t)
    assert (t.numpy() == 6).all()
    module = sys.modules["back_pkg.ring"]
    with pytest.warns(DeprecationWarning, match=r"install_ipcq\(\) is deprecated; use dist.init_process_group\(\)"):
        said = install.install_ipcq(engine_of(), None, install.resolve_algorithm_config(install.load_ccl_config()), algo_module=module)
    assert said["neighbor_table"] == {r: {"E": (r - 1) % 4, "W": (r + 1) % 4} for r in range(4)}


def test_a_mapper_and_a_validator_by_import_path(tmp_path, monkeypatch):
    source = '''
def second_pe(spec, rank):
    assert spec["system"]["sips"]["count"] == 2
    return [(0, 1)]


def only_small(handle, world_size, spec):
    if sum(s.nbytes for s in handle.shards) > 64 * world_size:
        raise ValueError(f"more than 64 elements on each of {world_size} ranks")


def kernel(t, n_elem, world_size, tl):
    x = tl.load(t, (n_elem,), "f16")
    tl.send("E", x)
    tl.store(t, x + tl.recv("W", (n_elem,)))
'''
    folder_with(tmp_path, monkeypatch, "mv_pkg.all", source, "defaults: {algorithm: mine}\nalgorithms:\n"
                "  mine: {module: mv_pkg.all, mapper: mv_pkg.all.second_pe, validator: mv_pkg.all.only_small}\n")
    torch = context_of(engine_of())
    seen = {}

    def rank(r, n):
        torch.ahbm.set_device(r)
        x = torch.full((n,), r + 1, dtype="f16", dp=DPPolicy.whole_on((0, 1)))
        torch.distributed.all_reduce(x)
        seen[r] = x.numpy()[0]

    torch.distributed.init_process_group()
    torch.multiprocessing.spawn(rank, args=(64,), nprocs=2)
    assert seen == {0: 3, 1: 3}
    with pytest.raises(kb.SpawnException) as caught:
        torch.multiprocessing.spawn(rank, args=(65,), nprocs=2)
    assert str(caught.value.errors[min(caught.value.errors)]) == "more than 64 elements on each of 2 ranks"


# ── by name ──

def test_mappers(spec):
    from kernbench.ccl.mappers import MAPPER_REGISTRY, all_pes, leader_only, resolve_mapper
    assert leader_only(spec, 0) == [(0, 0)] and len(all_pes(spec, 1)) == 128 and all_pes(spec, 0)[9] == (1, 1)
    assert resolve_mapper("leader_only") is leader_only is MAPPER_REGISTRY["leader_only"]
    assert resolve_mapper("kernbench.ccl.mappers.all_pes") is all_pes
    for unknown in ("x", "os.path.nothing", "no.such.module"):
        with pytest.raises(ValueError, match=f"unknown mapper: '{unknown}'"):
            resolve_mapper(unknown)


def test_validators(spec):
    from kernbench.ccl.validators import VALIDATOR_REGISTRY, multi_pe_sip_local, resolve_validator, single_shard_per_rank
    def on(*pes): return types.SimpleNamespace(shards=[types.SimpleNamespace(sip=s, cube=c, pe=p) for s, c, p in pes])
    single_shard_per_rank(on((0, 0, 0), (1, 0, 0)), 2, spec)
    with pytest.raises(ValueError, match="sip0 holds 2"):
        single_shard_per_rank(on((0, 0, 0), (0, 0, 1)), 2, spec)
    with pytest.raises(ValueError, match="1 shards for 2 ranks"):
        single_shard_per_rank(on((0, 0, 0)), 2, spec)
    everybody = [(s, c, p) for s in range(2) for c in range(16) for p in range(8)]
    multi_pe_sip_local(on(*everybody), 2, spec)
    with pytest.raises(ValueError, match="sip1.cube15.pe7 holds 0 shards"):
        multi_pe_sip_local(on(*everybody[:-1]), 2, spec)
    assert resolve_validator("multi_pe_sip_local") is multi_pe_sip_local is VALIDATOR_REGISTRY["multi_pe_sip_local"]
    assert resolve_validator("kernbench.ccl.validators.single_shard_per_rank") is single_shard_per_rank


def test_topologies(spec):
    from kernbench.ccl import topologies
    assert topologies.ring_1d(0, 4) == {"E": 1, "W": 3} == topologies.ring_1d(0, 4, spec)
    assert topologies.mesh_2d(0, 4) == {"E": 1, "W": 1, "S": 2, "N": 2} and topologies.mesh_2d_no_wrap(0, 4) == {"E": 1, "S": 2}
    assert topologies.tree(1, 4) == {"parent": 0, "child_left": 3} and topologies.none(0, 4) == {}
    assert topologies.hierarchical_3level(0, 16, spec) == {"E": 1, "W": 7, "cube_E": 8}
    assert topologies.hierarchical_3level(0, 256, spec) == {"E": 1, "W": 7, "cube_E": 8, "cube_S": 32, "global_E": 128, "global_W": 128}
    for name, fn in topologies.TOPOLOGY_REGISTRY.items():
        table = [fn(r, 8, spec) for r in range(8)]
        assert all(0 <= peer < 8 for of_rank in table for peer in of_rank.values()), name


def test_install_plans(spec):
    from kernbench.ccl.install import load_ccl_config, resolve_algorithm_config
    from kernbench.ccl.install_plan import NeighborTableEntry, PeInstallSpec, SipInstallPlan, build_install_plans
    from kernbench.policy.address.phyaddr import PhysAddr
    cfg = resolve_algorithm_config(load_ccl_config(), "ring_allreduce")
    plans = build_install_plans(world_size=2, algorithm="ring_allreduce", algorithm_config=cfg, spec=spec)
    assert all(isinstance(plan, SipInstallPlan) for plan in plans) and [(p.sip, p.rank, p.world_size) for p in plans] == [(0, 0, 2), (1, 1, 2)]
    plan = plans[0]
    assert (plan.algorithm_name, plan.kernel_module, plan.buffer_kind, plan.n_slots, plan.slot_size) == ("ring_allreduce", "ring_allreduce", "tcm", 4, 4096)
    assert plan.participating_pes == ((0, 0),) and plan.kernel_config == {}
    pe = plan.pe_installs[0]
    assert isinstance(pe, PeInstallSpec) and (pe.cube, pe.pe) == (0, 0)
    entry = {e.direction: e for e in pe.neighbors}["E"]
    assert isinstance(entry, NeighborTableEntry) and (entry.peer_direction, entry.peer_sip, entry.peer_cube, entry.peer_pe) == ("W", 1, 0, 0)
    assert PhysAddr.decode(entry.rx_base_pa).component == "tcm" and PhysAddr.decode(entry.rx_base_pa).sip_id == 0
    with pytest.raises(AttributeError):
        plan.sip = 3
    eight = build_install_plans(world_size=8, algorithm="ring_allreduce", algorithm_config={**cfg, "n_elem": 4, "kernel_x": 1}, spec=spec)
    assert len(eight) == 1 and len(eight[0].pe_installs) == 8 and eight[0].kernel_config == {"n_elem": 4, "kernel_x": 1}


# ── installing ──

def test_an_engine_gets_its_queues_once(spec):
    from kernbench.ccl.install import install_ipcq, load_ccl_config, resolve_algorithm_config
    from kernbench.ccl.sfr_config import configure_sfr_intracube_pe_ring
    engine = engine_of()
    cfg = {**resolve_algorithm_config(load_ccl_config(), "ring_allreduce"), "world_size": 4}
    with pytest.warns(DeprecationWarning):
        said = install_ipcq(engine, spec, cfg)
    assert said["world_size"] == 4 and said["buffer_kind"] == "tcm" and said["rank_to_pe"] == [(0, 0, p) for p in range(4)]
    assert said["neighbor_table"] == {r: {"E": (r + 1) % 4, "W": (r - 1) % 4} for r in range(4)}
    for again in (lambda: configure_sfr_intracube_pe_ring(engine, spec, {}), lambda: context_of(engine).install_ipcq(algorithm="ring_allreduce")):
        with pytest.raises(RuntimeError, match="has queues already"):
            again()


def test_ranks_on_pes_of_ones_own_choice(spec):
    from kernbench.ccl.algorithms import hello_send
    from kernbench.ccl.diagnostics import pointer_dump
    from kernbench.ccl.install import install_ipcq, load_ccl_config, resolve_algorithm_config
    engine = engine_of()
    cfg = resolve_algorithm_config(load_ccl_config(), "ring_allreduce")
    with pytest.warns(DeprecationWarning):
        said = install_ipcq(engine, spec, cfg, rank_to_pe=[(0, 0, 2), (0, 0, 0), (0, 0, 1)])
    assert said["rank_to_pe"] == [(0, 0, 2), (0, 0, 0), (0, 0, 1)] and said["world_size"] == 3
    torch = context_of(engine)
    x = torch.zeros((3, 8), dp=DPPolicy(pe="row_wise", num_cubes=1, num_pes=3))
    x.copy_(np.repeat(np.arange(3, dtype=np.float16)[:, None], 8, 1))
    torch.launch("hello", hello_send.kernel, x, 8)
    assert x.numpy()[:, 0].tolist() == [2, 0, 1]  # PE 0 hears rank 0, which is PE 2
    dump = pointer_dump(engine)
    assert "rx_base=TCM sip=0 cube=0 pe=2 offset=0x" in dump and "my_head=1" in dump


# ── the functional runner ──

def test_the_mock_takes_neighbors_of_a_module_and_pes_of_a_cube():
    from kernbench.ccl.testing import run_kernel_in_mock

    def kernel(t, n, tl):
        rank = tl.program_id(0) + 2 * tl.program_id(1)
        assert tl.program_id(0) < 2 and tl.num_programs(0) == 2
        mine = t + rank * 2 * n
        tl.send("E", tl.load(mine, (n,)))
        tl.store(mine, tl.recv("W", (n,)))

    inputs = [np.full(4, r, np.float16) for r in range(4)]
    forward = run_kernel_in_mock(kernel_fn=kernel, world_size=4, topology="ring_1d", inputs=inputs, kernel_args=(4,), pes_per_cube=2)
    assert [int(o[0]) for o in forward] == [3, 0, 1, 2]
    backwards = types.SimpleNamespace(neighbors=lambda rank, world_size, neighbor_map: {"E": neighbor_map["W"], "W": neighbor_map["E"]})
    assert [int(o[0]) for o in run_kernel_in_mock(kernel_fn=kernel, world_size=4, topology="ring_1d", inputs=inputs, kernel_args=(4,),
                                                  pes_per_cube=2, algo_module=backwards)] == [1, 2, 3, 0]


@pytest.mark.parametrize("world_size", [1, 2, 5, 8, 16, 24, 128])
def test_the_hierarchical_all_reduce(world_size):
    from kernbench.ccl.algorithms import hierarchical_allreduce as module
    from kernbench.ccl.testing import run_kernel_in_mock
    outputs = run_kernel_in_mock(kernel_fn=module.kernel, world_size=world_size, topology="none", algo_module=module, pes_per_cube=8,
                                 inputs=[np.full(4, r + 1, np.float32) for r in range(world_size)],
                                 kernel_args=module.kernel_args(world_size=world_size, n_elem=4))
    assert all((o == world_size * (world_size + 1) / 2).all() for o in outputs)


@pytest.mark.parametrize("name", ["hello_send", "ring_allreduce", "mesh_allreduce", "tree_allreduce", "intercube_allreduce", "hierarchical_allreduce"])
def test_every_algorithm_says_what_its_kernel_takes(name):
    import importlib
    import inspect
    module = importlib.import_module(f"kernbench.ccl.algorithms.{name}")
    args = module.kernel_args(n_elem=16, world_size=4)
    assert args[0] == 16 and len(args) == len([p for p in inspect.signature(module.kernel).parameters if p not in ("t", "tl")])


def test_a_module_works_where_ranks_are_pes_with_a_tensor_each(tmp_path, monkeypatch):
    folder_with(tmp_path, monkeypatch, "each_pkg.ring", RING, "defaults: {algorithm: mine}\nalgorithms:\n"
                "  mine: {module: each_pkg.ring, topology: ring_1d, world_size: 4}\n")
    torch = context_of(engine_of())
    seen = {}

    def rank(r):
        torch.ahbm.set_device(r)
        x = torch.full((16,), r + 1, dtype="f16")
        torch.distributed.all_reduce(x)
        seen[r] = x.numpy()[0]

    torch.distributed.init_process_group()
    torch.multiprocessing.spawn(rank, nprocs=4)
    assert seen == {r: 10 for r in range(4)}
