"""Contexts, tensors, placement, launches."""
import gc
import threading

import numpy as np
import pytest

import kernbench as kb


def scale(x, factor, tl):
    mine = tl.shard(x)
    tl.store(mine.ptr, tl.load(mine.ptr, mine.shape, mine.dtype) * factor)


@pytest.mark.parametrize("cube", ["replicate", "column_wise", "row_wise"])
@pytest.mark.parametrize("pe", ["replicate", "column_wise", "row_wise"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int32, np.int8, np.bool_])
def test_arrays_go_in_and_come_out_whatever_the_policy(cube, pe, dtype):
    array = np.random.default_rng(1).integers(0, 2, (32, 64)).astype(dtype)
    with kb.Torch("small") as torch:
        x = torch.from_numpy(array, dp=kb.DPPolicy(cube=cube, pe=pe))
        back = x.numpy()
        assert back.dtype == array.dtype and (back == array).all() and x.shape == (32, 64)
        back[:] = 1  # it is ours


def test_a_launch_runs_on_the_pes_that_hold_a_shard():
    array = np.arange(1024, dtype=np.float32).reshape(16, 64)
    with kb.Torch("small") as torch:
        x = torch.from_numpy(array, dp=kb.DPPolicy(cube="row_wise", pe="column_wise"))
        run = torch.launch("scale", scale, x, 3.0)
        torch.wait(run)
        assert (x.numpy() == 3 * array).all()
        assert run.done and run.trace.phase == "launch" and run.trace.name == "scale" and run.trace.pe_exec_ns > 0
        assert run.trace.total_ns == pytest.approx(run.trace.pe_exec_ns + run.trace.network_ns)


def test_a_handle_says_what_it_is_and_how_long_it_took():
    with kb.Torch("small") as torch:
        run = torch.launch("scale", scale, torch.from_numpy(np.ones(64, np.float32)), 3.0)
        assert repr(run) == "<launch 'scale' on sip0: not done yet>"
        torch.wait(run)
        assert repr(run) == f"<launch 'scale' on sip0: {run.trace.total_ns:.3f} ns, pe_exec {run.trace.pe_exec_ns:.3f} ns>"


def test_from_numpy_copies_at_the_call():
    array = np.ones(64, np.float32)
    with kb.Torch("small") as torch:
        x = torch.from_numpy(array)
        array[:] = 7
        assert (x.numpy() == 1).all()


def test_small_floats_that_numpy_lacks_come_out_as_float32():
    with kb.Torch("small") as torch:
        x = torch.from_numpy(np.array([1.0, 1.005, -3.0]), dtype="bf16")
        assert x.dtype == "bf16" and x.numpy().dtype == np.float32
        assert x.numpy().tolist() == [1.0, 1.0078125, -3.0]  # 1.005 between 1 and 1 + 2^-7, nearer to that
        with pytest.raises(kb.InputError, match="float64, which no unit of the machine computes") as caught:
            torch.from_numpy(np.ones(3))
        assert "dtype='f32'" in caught.value.hint and torch.from_numpy(np.ones(3), dtype="f32").dtype == "f32"


def test_slices_are_read_and_written():
    array = np.arange(64, dtype=np.float32).reshape(8, 8)
    with kb.Torch("small") as torch:
        x = torch.from_numpy(array, dp=kb.DPPolicy(pe="column_wise"))
        x[1, 2:6] = np.zeros(4, np.float32)
        x[3] = 5
        expected = array.copy()
        expected[1, 2:6], expected[3] = 0, 5
        assert (x.numpy() == expected).all() and (x[1:4, 1:3] == expected[1:4, 1:3]).all() and x[2, 2] == 18


def test_tensors_are_iterated_and_indexed_as_sequences():
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    with kb.Torch("small") as torch:
        x = torch.from_numpy(array)
        assert [row.tolist() for row in x] == array.tolist() and len(list(x)) == 3
        first, second, third = x
        assert third.tolist() == [8, 9, 10, 11]
        with pytest.raises(IndexError, match="no index 3") as caught:
            x[3]
        assert isinstance(caught.value, kb.InputError) and caught.value.hint == "it has 3 elements, the first is 0"


def test_copy_converts_and_refuses_another_shape():
    with kb.Torch("small") as torch:
        x = torch.zeros((4, 4), "f16")
        x.copy_(np.full((4, 4), 2.5))
        y = torch.zeros((4, 4), "f32")
        assert (y.copy_(x).numpy() == 2.5).all()
        with pytest.raises(ValueError, match="copy_ shape mismatch"):
            x.copy_(np.zeros(4))


def test_what_is_kept_beyond_the_context_raises():
    with kb.Torch("small") as torch:
        x = torch.zeros(8, "f32")
        run = torch.launch("scale", scale, x, 2.0)
    for use in (x.numpy, lambda: x.shape, lambda: run.trace, lambda: run.done, lambda: torch.zeros(4), lambda: torch.wait(run)):
        with pytest.raises(kb.InputError, match="context is over"):
            use()
    assert [t.name for t in torch.traces if t.phase == "launch"] == ["scale"]
    repr(x), repr(run)
    del torch
    gc.collect()
    with pytest.raises(kb.InputError):
        x.numpy()


def test_leaving_with_an_exception_keeps_that_exception():
    with pytest.raises(ZeroDivisionError):
        with kb.Torch("small") as torch:
            torch.launch("bad", lambda x, tl: tl.load(0x999999, (4,), "f32"), torch.zeros(8))
            1 / 0


def test_a_program_that_fails_raises_when_it_is_waited_for():
    with kb.Torch("small") as torch:
        run = torch.launch("bad", lambda x, tl: tl.load(0x99999999, (4,), "f32"), torch.zeros(8))
        with pytest.raises(kb.MmuFault) as caught:
            torch.wait(run)
        assert isinstance(caught.value, kb.SimulationError) and isinstance(caught.value, RuntimeError)


def test_two_contexts_in_two_threads():
    results = {}

    def work(number):
        with kb.Torch("small") as torch:
            x = torch.from_numpy(np.full((32, 256), number, np.float32), dp=kb.DPPolicy(cube="row_wise", pe="row_wise"))
            for _ in range(20):
                torch.wait(torch.launch("scale", scale, x, 1.0))
            results[number] = (x.numpy().mean(), torch.now_ns)

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results[1][0] == 1 and results[2][0] == 2 and results[1][1] == results[2][1]


def test_placement_without_a_machine():
    shards = kb.resolve_dp_policy(kb.DPPolicy(cube="row_wise", pe="column_wise"), shape=(4, 8), itemsize=2, num_pe=2, num_cubes=2,
                                  target_sip=1)
    # 4 × 8 × 2 B = 64 B over 2 cubes × 2 PEs: 16 B each
    assert [(s.sip, s.cube, s.pe, s.offset_bytes, s.nbytes) for s in shards] == [
        (1, 0, 0, 0, 16), (1, 0, 1, 16, 16), (1, 1, 0, 32, 16), (1, 1, 1, 48, 16)]


def test_machines_are_loaded_overridden_and_shown():
    machine = kb.Machine("default", ["sip.cube_mesh.w=8"])
    assert machine.cube_mesh == (8, 4) and machine.sips == 2
    assert "<svg" in machine._repr_svg_()
    assert kb.Machine.from_text(machine.to_yaml()) == machine
    assert {"default", "realistic", "small"} <= set(kb.shipped_machines())
    with pytest.raises(kb.InputError, match="did you mean") as caught:
        kb.Machine("default", ["pe.clock_gzh=1"])
    assert caught.value.id and caught.value.hint
