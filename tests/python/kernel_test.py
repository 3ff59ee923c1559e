"""Kernels in Python: recorded through the same context, with the lines of this file."""
import inspect

import numpy as np
import pytest

import kernbench as kb


def line_of(function, text):
    """The number of the line of a function that holds the text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def record(function, *args, **environment):
    tl = kb.TlContext(**environment)
    kb.run_kernel(function, tl, *args)
    return tl


def test_a_kernel_records_commands_with_the_lines_of_its_file():
    def step(p, n, tl):
        mine = tl.load(p, (n,), "f16")
        tl.send("E", mine)
        other = tl.recv("W", (n,), "f16")
        tl.store(p, mine + other)

    tl = record(step, 0x1000, 32, kernel="step")
    assert [str(c) for c in tl.commands] == [
        "%0:f16[32] = dma_read 0x1000", "send E %0:f16[32]", "%1:f16[32] = recv W", "%2:f16[32] = add %0:f16[32], %1:f16[32]",
        "dma_write 0x1000 %2:f16[32]"]
    assert f"kernel_test.py:{line_of(step, 'tl.send')}" in tl.listing
    assert f"kernel_test.py:{line_of(step, 'tl.store')}" in tl.listing


@pytest.mark.parametrize("place", [0, 1, 2])
def test_tl_is_the_parameter_of_that_name_wherever_it_stands(place):
    seen = []

    def first(tl, a, b): seen.append((a, b, tl.program_id(0)))
    def middle(a, tl, b): seen.append((a, b, tl.program_id(0)))
    def last(a, b, *, tl): seen.append((a, b, tl.program_id(0)))

    record([first, middle, last][place], 1, 2)
    assert seen == [(1, 2, 0)]


def test_a_kernel_without_tl_is_refused():
    with pytest.raises(TypeError, match="no parameter named 'tl'"):
        record(lambda a: None, 1)


def test_a_kernel_that_would_record_nothing_is_refused():
    def waits(tl):
        yield tl.zeros(4, "f32")

    async def later(tl):
        tl.zeros(4, "f32")

    for kernel in (waits, later):
        with pytest.raises(TypeError, match="would record nothing"):
            record(kernel)


def test_branching_on_a_tile_says_why_it_cannot_be():
    def kernel(tl):
        if tl.zeros(4, "f32") > 0:
            pass

    with pytest.raises(TypeError, match="cannot branch on a tile.*tl.where"):
        record(kernel)


def test_a_wrong_shape_names_the_kernels_line():
    def kernel(tl):
        return tl.zeros(4, "f32") + tl.zeros(5, "f32")

    with pytest.raises(kb.KernelError) as caught:
        record(kernel)
    assert isinstance(caught.value, kb.InputError) and isinstance(caught.value, ValueError)
    assert caught.value.line == line_of(kernel, "zeros(5")
    assert f"kernel_test.py:{caught.value.line}" in str(caught.value)
    assert caught.traceback[-1].frame.code.name == "kernel"


@pytest.mark.parametrize("call, text", [
    (lambda tl: tl.load(16, (4,), dtyp="f16"), r"load\(\) got an unexpected keyword argument 'dtyp' \('dtype'\?\)\. It takes \(ptr, shape, dtype='f16',"),
    (lambda tl: tl.load(16), r"load\(\) lacks 'shape'\. It takes \(ptr, shape, dtype='f16', strides=None"),
    (lambda tl: tl.zeros(4, "f16", shape=4), r"zeros\(\) got 'shape' twice"),
    (lambda tl: tl.fence(1, 2, 3), r"fence\(\) got 3 positional arguments\. It takes \("),
    (lambda tl: kb.DPPolicy(sip="row_wise"), r"DPPolicy\(\) got an unexpected keyword argument 'sip'\. It takes \(\*, cube='replicate'"),
    (lambda tl: kb.DPPolicy("row_wise"), r"DPPolicy\(\) got 1 positional arguments\. It takes \(\*, cube"),
])
def test_a_call_with_wrong_arguments_says_what_is_wrong(call, text):
    def kernel(tl):
        call(tl)

    with pytest.raises(TypeError, match=text) as caught:
        record(kernel)
    assert caught.traceback[-2].frame.code.name == "kernel"  # the last is the lambda


def test_a_type_error_of_the_kernels_own_stays_as_it_is():
    class Mine(TypeError):
        pass

    def kernel(x, tl):
        raise Mine("two incompatible things")

    with kb.Torch("small") as torch:
        with pytest.raises(Mine, match="^two incompatible things$") as caught:
            torch.launch("k", kernel, torch.zeros(4))
        assert caught.traceback[-1].frame.code.name == "kernel"


def test_arguments_of_the_wrong_kind_are_named():
    with kb.Torch("small") as torch:
        with pytest.raises(TypeError, match=r"wait\(\) got \(int\)\. It takes \(handle: Handle\)"):
            torch.wait(3)
        with pytest.raises(TypeError, match=r"numpy\(\) got an unexpected keyword argument 'dtype'\. It takes \(\)"):
            torch.zeros(4).numpy(dtype="f32")


def test_an_exception_of_the_kernel_keeps_its_traceback():
    def kernel(x, tl):
        return {}["nothing here"]

    with kb.Torch("small") as torch:
        x = torch.zeros(8, "f32")
        with pytest.raises(KeyError) as caught:
            torch.launch("k", kernel, x)
        assert caught.traceback[-1].frame.code.name == "kernel"
        assert torch.launch("fine", lambda x, tl: None, x) is not None  # the context works on


def test_numbers_of_numpy_stand_beside_tiles():
    def kernel(tl):
        x = tl.zeros(4, "f32")
        return [np.float32(2) * x, x + np.int64(3), 1.5 - x, x / 2, abs(-x)]

    ops = [c.op for c in record(kernel).commands]
    assert ops == ["fill", "mul", "add", "sub", "div", "neg", "abs"]


def test_tiles_are_sliced_as_in_numpy():
    shapes = []

    def kernel(tl):
        x = tl.zeros((8, 4), "f32")
        shapes.extend(t.shape for t in (x[0], x[2:6], x[:, 1], x[..., None], x[None], x.T, x[-1, ::2], x.reshape(-1)))

    record(kernel)
    assert shapes == [(4,), (4, 4), (8,), (8, 4, 1), (1, 8, 4), (4, 8), (2,), (32,)]


def test_what_is_kept_beyond_the_kernel_raises_and_does_not_crash():
    kept = {}

    def kernel(x, tl):
        shard = tl.shard(x)
        tile = tl.load(shard.ptr, (4,), "f32")
        kept.update(tl=tl, tile=tile, shard=shard, op=tl.store(shard.ptr, tile))

    with kb.Torch("small") as torch:
        torch.launch("k", kernel, torch.zeros(4, "f32"))
        for use in (lambda: kept["tl"].zeros(4, "f32"), lambda: kept["tile"] + 1, lambda: kept["tile"].shape,
                    lambda: kept["shard"].ptr, lambda: kept["tl"].wait(kept["op"]), lambda: kept["tl"].commands):
            with pytest.raises(kb.KernelError, match="after the kernel run"):
                use()
        repr(kept)


def test_scalars_are_read_while_recording():
    seen = []

    def kernel(x, tl):
        seen.append(tl.load_scalar(x + 4, "i32"))

    with kb.Torch("small") as torch:
        torch.launch("k", kernel, torch.from_numpy(np.array([7, 42], np.int32)))
    assert seen == [42] and type(seen[0]) is int


def test_pointers_are_ints_that_add_up():
    p = kb.Ptr(0x1000)
    assert p + 16 == 0x1010 and 16 + p == kb.Ptr(0x1010) and (p + 16) - p == 16 and int(p) == 0x1000 and f"{p:#x}" == "0x1000"


def test_the_older_spellings_are_taken():
    def kernel(p, tl):
        a = tl.load(p, shape=(8,), dtype="f16")
        tl.send(dir="E", src=a)
        tl.send(dir="E", src_addr=p, nbytes=16, shape=(8,), dtype="f16", space="hbm")
        b = tl.recv(dir="W", shape=(8,), dtype="f16")
        tl.store(p, tl.wait(tl.recv_async(dir="W", shape=(8,), dtype="f16")) + b)

    kinds = [type(c).__name__ for c in record(kernel, 0x1000).commands]
    assert kinds == ["DmaRead", "IpcqSend", "DmaRead", "IpcqSend", "IpcqRecv", "IpcqRecv", "Wait", "Math", "DmaWrite"]


def exchange_asking_first(x, tl):
    """Each rank asks for its neighbour's tile, then sends its own."""
    came = tl.recv_async("W", (4,), "f32")
    tl.send("E", tl.load(x, (4,), "f32"))
    tl.store(x, tl.wait(came))


def test_recv_async_does_not_wait_in_the_functional_runner():
    inputs = [np.full(4, r, np.float32) for r in range(3)]
    result = kb.run_functional(exchange_asking_first, 3, "ring_1d", inputs)
    assert [int(a[0]) for a in result.arrays] == [2, 0, 1]


def test_recv_async_does_not_wait_with_in_order_issue():
    def kernel(x, tl):
        here = tl.shard(x).ptr
        came = tl.recv_async("W", (4,), "f32")
        tl.send("E", tl.load(here, (4,), "f32"))
        tl.store(here, tl.wait(came))

    with kb.Torch(kb.Machine("small", ["pe.pe_cpu.issue=in_order"])) as torch:
        x = torch.from_numpy(np.repeat(np.arange(8, dtype=np.float32), 4).reshape(8, 4), dp=kb.DPPolicy(pe="row_wise", num_cubes=1))
        torch.wait(torch.launch_with_queues("exchange", kernel, x, topology="intracube_ring"))
        assert x.numpy()[:, 0].tolist() == [7, 0, 1, 2, 3, 4, 5, 6]


def test_a_tile_of_recv_async_can_be_used_without_a_wait():
    def kernel(x, tl):
        came = tl.recv_async("W", (4,), "f32")
        assert came.shape == (4,) and isinstance(came, kb.Tile)
        tl.send("E", tl.load(x, (4,), "f32"))
        tl.store(x, came + 1)

    result = kb.run_functional(kernel, 2, "ring_1d", [np.full(4, r, np.float32) for r in range(2)])
    assert [int(a[0]) for a in result.arrays] == [2, 1]


def test_a_line_can_be_pinned():
    def kernel(tl):
        tl.set_line("other.py", 7)
        tl.zeros(4, "f32")
        tl.set_line(None)
        tl.zeros(4, "f32")

    listing = record(kernel).listing
    assert "other.py:7" in listing and "kernel_test.py" in listing


def test_a_pointer_knows_its_tensor():
    seen = []

    def kernel(x, tl):
        shard = tl.shard(x)
        seen.extend([x.dtype, (x + 4).dtype, shard.ptr.dtype, x.as_("i32").dtype])
        tl.store(shard.ptr, tl.zeros(shard.shape, "f32"))  # converted, as Triton does

    with kb.Torch("small") as torch:
        x = torch.full(8, 1, "f16")
        torch.launch("k", kernel, x)
        assert (x.numpy() == 0).all()
        with pytest.raises(kb.KernelError, match="f16"):
            torch.launch("wrong", lambda x, tl: tl.load(x, (4,), "f32"), x)
    assert seen == ["f16", "f16", "f16", "i32"] and kb.Ptr(4).dtype is None
