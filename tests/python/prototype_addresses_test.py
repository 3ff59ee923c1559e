"""Addresses, allocators and deployed tensors by the names of the prototype."""
import dataclasses
import os
import pathlib

import numpy as np
import pytest

import kernbench as kb
from kernbench.policy.address.allocator import AddressConfig, AllocationError, PEMemAllocator
from kernbench.policy.address.pe_mmu import MmuFault, PeMMU
from kernbench.policy.address.phyaddr import PhysAddr, PhysAddrError, UnitType
from kernbench.policy.address.va_allocator import VirtualAllocator
from kernbench.policy.placement.dp import DPPolicy, ShardSpec, resolve_dp_policy
from kernbench.runtime_api.tensor import TensorHandle, TensorShard, deploy_tensor

ROOT = pathlib.Path(os.environ["KERNBENCH_SOURCE"])
GIB, MIB = 1 << 30, 1 << 20


def config(**changes):
    sizes = dict(sip_count=1, cubes_per_sip=1, pes_per_cube=8, hbm_bytes_per_cube=48 * GIB, hbm_slices_per_cube=8, tcm_bytes_per_pe=16 * MIB,
                 tcm_scheduler_reserved_bytes=4 * MIB, sram_bytes_per_cube=32 * MIB)
    return AddressConfig(**{**sizes, **changes})


def allocators(cfg):
    return {(0, 0, i): PEMemAllocator(rack_id=0, sip_id=0, cube_id=0, pe_id=i, cfg=cfg) for i in range(8)}


# ── physical addresses ──

@pytest.mark.parametrize("make, kind, unit, component, text", [
    (lambda: PhysAddr.pe_tcm_addr(0, 0, 0, 3, 0x40), "pe_resource", UnitType.PE, "tcm", "TCM sip=0 cube=0 pe=3 offset=0x40"),
    (lambda: PhysAddr.pe_ipcq_addr(0, 1, 2, 3, 0x40), "pe_resource", UnitType.PE, "ipcq", "IPCQ sip=1 cube=2 pe=3 offset=0x40"),
    (lambda: PhysAddr.pe_scratchpad_addr(0, 1, 2, 3, 0x40), "pe_resource", UnitType.PE, "scratchpad",
     "SCRATCHPAD sip=1 cube=2 pe=3 offset=0x40"),
    (lambda: PhysAddr.pe_regfile_addr(0, 1, 2, 3, 0x40), "pe_resource", UnitType.PE, "regfile", "REGFILE sip=1 cube=2 pe=3 offset=0x40"),
    (lambda: PhysAddr.cube_sram_addr(0, 1, 2, 0x40), "sram", UnitType.SRAM, None, "SRAM sip=1 cube=2 offset=0x40"),
    (lambda: PhysAddr.hbm_addr(0, 1, 2, 0x40), "hbm", None, None, "HBM sip=1 cube=2 offset=0x40"),
])
def test_an_address_has_its_fields_and_survives_being_a_number(make, kind, unit, component, text):
    address = make()
    assert (address.kind, address.unit_type, address.component, address.component_offset) == (kind, unit, component, 0x40)
    assert str(address) == text and 0 <= address.encode() < 1 << 51
    again = PhysAddr.decode(address.encode())
    assert again == address and hash(again) == hash(address) and not again < address
    assert (again.rack_id, again.sip_id, again.cube_id, again.pe_id) == (address.rack_id, address.sip_id, address.cube_id, address.pe_id)
    with pytest.raises(dataclasses.FrozenInstanceError):
        address.sip_id = 5


def test_addresses_are_made_by_position_and_by_keyword_and_are_ordered():
    by_name = PhysAddr.pe_hbm_addr(rack_id=1, sip_id=2, cube_id=3, pe_id=4, pe_local_hbm_offset=5, slice_size_bytes=6 * GIB)
    assert by_name == PhysAddr.pe_hbm_addr(1, 2, 3, 4, 5, 6 * GIB) == PhysAddr.hbm_addr(1, 2, 3, 4 * 6 * GIB + 5)
    assert (by_name.rack_id, by_name.sip_id, by_name.cube_id, by_name.pe_id) == (1, 2, 3, 4)
    assert PhysAddr.pe_tcm_addr(0, 0, 0, 0, 0) < PhysAddr.pe_tcm_addr(0, 0, 0, 0, 1) < PhysAddr.pe_tcm_addr(0, 0, 0, 1, 0)
    assert len({by_name, PhysAddr.decode(by_name.encode())}) == 1


@pytest.mark.parametrize("wrong", [
    lambda: PhysAddr.decode(1 << 51), lambda: PhysAddr.decode(-1),
    lambda: PhysAddr.pe_tcm_addr(0, 0, 0, 0, 256 * MIB),           # a TCM's range ends there
    lambda: PhysAddr.pe_tcm_addr(0, 0, 0, 16, 0), lambda: PhysAddr.pe_tcm_addr(0, 0, 32, 0, 0),
    lambda: PhysAddr.pe_tcm_addr(0, 16, 0, 0, 0), lambda: PhysAddr.pe_tcm_addr(16, 0, 0, 0, 0),
    lambda: PhysAddr.hbm_addr(0, 0, 0, 128 * GIB), lambda: PhysAddr.hbm_addr(0, 0, 0, -1),
    lambda: PhysAddr.pe_hbm_addr(0, 0, 0, 0, 6 * GIB, 6 * GIB),
    lambda: PhysAddr.decode(0x1300_0000),                          # behind the last range of a PE
])
def test_what_no_address_can_hold_is_refused(wrong):
    with pytest.raises(PhysAddrError) as caught:
        wrong()
    assert isinstance(caught.value, ValueError)


def test_a_number_of_more_bits_is_refused_in_words():
    with pytest.raises(PhysAddrError, match="addr must be a 51-bit value"):
        PhysAddr.decode(1 << 51)


# ── allocators ──

def test_a_pe_allocates_from_its_slice_and_from_its_tcm():
    memory = PEMemAllocator(rack_id=0, sip_id=1, cube_id=2, pe_id=3, cfg=config())
    a, b = memory.alloc_hbm(4096), memory.alloc_hbm(4096)
    assert (a.kind, a.sip_id, a.cube_id, a.pe_id) == ("hbm", 1, 2, 3) and a.component_offset == 3 * 6 * GIB
    assert b.component_offset - a.component_offset == 4096
    t = memory.alloc_tcm(64)
    assert (t.component, t.sip_id, t.cube_id, t.pe_id, t.component_offset) == ("tcm", 1, 2, 3, 4 * MIB)  # behind the scheduler's
    memory.free_hbm(a, 4096)
    assert memory.alloc_hbm(4096) == a
    memory.free_tcm(t, 64)
    assert memory.alloc_tcm(12 * MIB).component_offset == 4 * MIB


def test_what_does_not_fit_says_what_is_free():
    memory = PEMemAllocator(rack_id=0, sip_id=0, cube_id=0, pe_id=0, cfg=config())
    memory.alloc_hbm(6 * GIB - 1000)
    with pytest.raises(AllocationError, match="1000") as caught:
        memory.alloc_hbm(1001)
    assert isinstance(caught.value, kb.Error) and AllocationError is kb.AllocationError
    memory.alloc_hbm(1000)
    with pytest.raises(AllocationError):
        memory.alloc_tcm(12 * MIB + 1)
    with pytest.raises(ValueError, match="nothing that was taken begins there"):
        memory.free_hbm(PhysAddr.pe_hbm_addr(0, 0, 0, 0, 5, 6 * GIB), 8)


def test_room_for_queues_is_taken_for_good():
    memory = PEMemAllocator(rack_id=0, sip_id=0, cube_id=0, pe_id=1, cfg=config())
    assert memory.reserve_ipcq_tcm(4096) == 4 * MIB and memory.alloc_tcm(16).component_offset == 4 * MIB + 4096
    assert memory.reserve_ipcq_hbm(4096) == 0 and memory.alloc_hbm(16).component_offset == 6 * GIB + 4096


def test_virtual_ranges_are_page_aligned_and_come_again():
    va = VirtualAllocator(va_base=0x1_0000_0000, va_size=1 << 20, page_size=4096)
    a, b = va.alloc(1), va.alloc(4097)
    assert (a, b) == (0x1_0000_0000, 0x1_0000_1000) and va.alloc(1) == 0x1_0000_3000
    va.free(a, 1)
    assert va.alloc(4096) == a
    with pytest.raises(AllocationError):
        va.alloc(1 << 20)


def test_an_mmu_translates_what_is_mapped():
    mmu = PeMMU(page_size=4096)
    mmu.map(0x1_0000_0000, PhysAddr.pe_tcm_addr(0, 0, 0, 1, 0x1000), 4096)
    mmu.map(0x1_0000_1000, 0x5000, 4096)
    assert mmu.translate(0x1_0000_0010) == PhysAddr.pe_tcm_addr(0, 0, 0, 1, 0x1010).encode() and mmu.translate(0x1_0000_1fff) == 0x5fff
    with pytest.raises(MmuFault, match=r"0x100001000.*below"):
        mmu.translate(0x1_0000_2000)
    mmu.map(0x1_0000_1000, 0x9000, 4096)
    assert mmu.translate(0x1_0000_1000) == 0x9000
    mmu.unmap(0x1_0000_0000, 4096)
    with pytest.raises(MmuFault):
        mmu.translate(0x1_0000_0000)
    assert PeMMU().page_size == 4096


# ── deployed tensors ──

def test_the_example_of_a_deployed_tensor():
    cfg = AddressConfig(sip_count=1, cubes_per_sip=1, pes_per_cube=8, hbm_bytes_per_cube=48 << 30, hbm_slices_per_cube=8, tcm_bytes_per_pe=16 << 20, tcm_scheduler_reserved_bytes=4 << 20, sram_bytes_per_cube=32 << 20)
    allocs = {(0, 0, i): PEMemAllocator(rack_id=0, sip_id=0, cube_id=0, pe_id=i, cfg=cfg) for i in range(8)}
    va = VirtualAllocator(va_base=0x1_0000_0000, va_size=64 << 30, page_size=4096)
    th = deploy_tensor(name="W", shape=(1024, 512), dtype="f16", allocators=allocs, va_allocator=va,
                       placement=resolve_dp_policy(DPPolicy(cube="replicate", pe="column_wise"), shape=(1024, 512), itemsize=2, num_pe=8, num_cubes=1, target_sip=0))
    assert th.va_base == 0x1_0000_0000 and len(th.shards) == 8 and PhysAddr.decode(th.shards[3].pa).pe_id == 3
    with pytest.raises(AllocationError): deploy_tensor(name="big", shape=(1,), dtype="f16", allocators=allocs, placement=[ShardSpec(sip=0, cube=0, pe=0, offset_bytes=0, nbytes=7 << 30)])


def test_a_deployed_tensor_without_virtual_addresses_in_tcm():
    cfg = config()
    handle = deploy_tensor(name="t", shape=(4, 8), dtype="fp16", mem_kind="tcm", allocators=allocators(cfg),
                           placement=[ShardSpec(sip=0, cube=0, pe=p, offset_bytes=32 * p, nbytes=32) for p in range(2)])
    assert isinstance(handle, TensorHandle) and (handle.name, handle.shape, handle.dtype, handle.va_base) == ("t", (4, 8), "f16", 0)
    shard = handle.shards[1]
    assert isinstance(shard, TensorShard) and (shard.sip, shard.cube, shard.pe, shard.nbytes, shard.offset_bytes) == (0, 0, 1, 32, 32)
    assert PhysAddr.decode(shard.pa) == PhysAddr.pe_tcm_addr(0, 0, 0, 1, 4 * MIB)
    with pytest.raises(ValueError, match="mem_kind"):
        deploy_tensor(name="t", shape=(1,), dtype="f16", mem_kind="disk", allocators={}, placement=[])


def test_a_deployment_that_fails_takes_nothing():
    memories = allocators(config())
    big = [ShardSpec(sip=0, cube=0, pe=p, offset_bytes=0, nbytes=n) for p, n in ((0, 6 * GIB), (1, 7 * GIB))]
    with pytest.raises(AllocationError):
        deploy_tensor(name="big", shape=(1,), dtype="f16", allocators=memories, placement=big)
    assert memories[0, 0, 0].alloc_hbm(6 * GIB).component_offset == 0


# ── tensors of a machine ──

@pytest.fixture
def torch(monkeypatch):
    from kernbench.runtime_api.context import RuntimeContext
    from kernbench.sim_engine.engine import GraphEngine
    from kernbench.topology.builder import resolve_topology
    monkeypatch.chdir(ROOT)
    engine = GraphEngine(resolve_topology("topology.yaml").topology_obj, enable_data=True)
    return RuntimeContext(engine=engine, target_device=None, correlation_id="t", spec=engine.spec)


def test_shards_of_a_tensor_have_physical_addresses(torch):
    torch.ahbm.set_device(1)
    x = torch.zeros((8, 64), dtype="f16", dp=DPPolicy(pe="row_wise", num_cubes=2))
    assert len(x._handle.shards) == 16
    for shard, own in zip(x._handle.shards, x.shards):
        address = PhysAddr.decode(shard.pa)
        assert (address.kind, address.sip_id, address.cube_id, address.pe_id) == ("hbm", 1, shard.cube, shard.pe) and own.pa == shard.pa
    assert len({shard.pa for shard in x.shards}) == 16
    assert x.va == x._handle.va_base == int(x.ptr) != 0
    x.copy_(np.full((8, 64), 3, np.float16))
    assert (x.data == x.numpy()).all() and x.data[7, 63] == 3
    host = torch.from_numpy(np.ones(4, np.float16))
    assert (host.data == 1).all()


@pytest.mark.parametrize("mem, component", [("tcm", "tcm"), ("sram", None), ("hbm", None)])
def test_tensors_lie_in_the_memory_that_is_named(torch, mem, component):
    made = [torch.zeros((4, 8), dtype="f16", mem=mem), torch.empty((4, 8), mem=mem), torch.full((4, 8), 2, mem=mem),
            torch.from_numpy(np.ones((4, 8), np.float16), mem=mem)]
    for x in made:
        address = PhysAddr.decode(x.shards[0].pa)
        assert address.component == component and (address.kind == "pe_resource") == (component is not None)
    assert (made[2].numpy() == 2).all() and (made[3].numpy() == 1).all()


def test_a_policy_moves_no_tensor(torch):
    x = torch.zeros((8, 64))
    for move in (lambda: x.to(dp_policy=DPPolicy(pe="row_wise")), lambda: x.to(DPPolicy(pe="row_wise"))):
        with pytest.raises(TypeError, match="placed when it is made"):
            move()


def test_tiles_begin_where_they_lie_in_the_row_major_tensor():
    from kernbench.policy.placement.dp import tiled_column_major, tiled_row_major
    # 4 × 8 of 2 bytes in tiles of 2 × 4: tile (m, k) begins at m · 2 · 8 · 2 + k · 4 · 2
    column = tiled_column_major(shape=(4, 8), itemsize=2, num_pe=2, tile_m=2, tile_k=4)
    assert [(s.local_pe, s.offset_bytes, s.nbytes) for s in column] == [(0, 0, 16), (1, 8, 16), (0, 32, 16), (1, 40, 16)]
    row = tiled_row_major(shape=(4, 8), itemsize=2, num_pe=2, tile_m=2, tile_k=4)
    assert [(s.local_pe, s.offset_bytes, s.nbytes) for s in row] == [(0, 0, 16), (1, 32, 16), (0, 8, 16), (1, 40, 16)]
