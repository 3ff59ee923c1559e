"""How pointer tiles become transfers: tiles whose rows are not their last axis, lanes that lie anywhere, and what recording costs."""
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import kernbench as kb
from kernbench import triton
import kernbench.triton.language as tl


@pytest.fixture
def torch():
    with kb.Torch("small", hazards=True) as torch:
        yield torch


def numbers(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@triton.jit
def matmul_kernel(a, b, c, K: tl.constexpr, N: tl.constexpr, stride_k, stride_n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for start in range(0, K, B):
        k = start + tl.arange(0, B)
        x = tl.load(a + i[:, None] * K + k[None, :])
        y = tl.load(b + k[:, None] * stride_k + j[None, :] * stride_n)
        acc += tl.dot(x, y)
    tl.store(c + i[:, None] * N + j[None, :], acc)


def product(by_columns):
    a, b = numbers(128, 128).astype(np.float16), numbers(128, 128).astype(np.float16)
    with kb.Torch("default") as torch:
        stored = np.ascontiguousarray(b.T) if by_columns else b
        x, y = (torch.from_numpy(n, dp=kb.interleaved()) for n in (a, stored))
        c = torch.empty((128, 128), "f32", dp=kb.interleaved())
        strides = (1, 128) if by_columns else (128, 1)
        launch = matmul_kernel[(4, 4)](x, y, c, 128, 128, *strides, B=32)
        return c.numpy(), launch.trace.pe_exec_ns, len(torch.log())


def test_a_matrix_stored_by_columns_costs_what_one_by_rows_costs():
    by_rows, time_of_rows, records_of_rows = product(False)
    by_columns, time_of_columns, records_of_columns = product(True)
    assert np.array_equal(by_rows, by_columns)
    assert records_of_columns == records_of_rows  # the same commands: turning a tile is none
    assert time_of_columns <= 1.2 * time_of_rows


@triton.jit
def transposing_kernel(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (i[:, None] < M) & (j[None, :] < N)
    v = tl.load(x + i[:, None] + j[None, :] * M, mask=inside, other=-1.0)  # by columns
    tl.store(y + i[:, None] * N + j[None, :], v, mask=inside)
    tl.store(x + i[:, None] + j[None, :] * M, v + 1, mask=inside)  # by columns


@pytest.mark.parametrize("M, N", [(64, 64), (50, 33), (17, 64), (1, 40), (40, 1)])
def test_masked_tiles_by_columns_are_loaded_and_stored_exactly(torch, M, N):
    a = numbers(M, N)
    x, y = torch.from_numpy(np.ascontiguousarray(a.T), dp=kb.interleaved()), torch.zeros((M, N), "f32", dp=kb.interleaved())
    launch = transposing_kernel[(4, 2)](x, y, M, N, BM=16, BN=32)
    assert np.array_equal(y.numpy(), a) and np.array_equal(x.numpy(), a.T + 1)
    assert not torch.hazards()
    assert all(count.scattered == 0 for count in launch.transfers.values())


@triton.jit
def block_pointer_kernel(x, y, M, N, B: tl.constexpr):
    at = tl.make_block_ptr(x, (M, N), (1, M), (tl.program_id(0) * B, 0), (B, 32), order=(0, 1))
    to = tl.make_tensor_descriptor(y, [M, N], [N, 1], [B, 32])
    for n in range(0, N, 32):
        to.store([tl.program_id(0) * B, n], tl.load(at, boundary_check=(0, 1), padding_option="zero"))
        at = tl.advance(at, (0, 32))


def test_block_pointers_by_columns_are_rows_too(torch):
    a = numbers(40, 50)
    x, y = torch.from_numpy(np.ascontiguousarray(a.T), dp=kb.interleaved()), torch.zeros((40, 50), "f32", dp=kb.interleaved())
    launch = block_pointer_kernel[(3,)](x, y, 40, 50, B=16)
    assert np.array_equal(y.numpy(), a)
    assert all(count.scattered == 0 for count in launch.transfers.values())


@triton.jit
def heads_kernel(x, y, H: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    h, n, d = tl.arange(0, H), tl.arange(0, N), tl.arange(0, D)
    v = tl.load(x + (n[None, :, None] * H + h[:, None, None]) * D + d[None, None, :])  # memory has tokens before heads
    tl.store(y + (h[:, None, None] * D + d[None, None, :]) * N + n[None, :, None], v)  # and here they are last


def test_tiles_of_three_axes_are_turned(torch):
    a = numbers(8, 4, 16)  # tokens, heads, elements
    x, y = torch.from_numpy(a), torch.zeros((4, 16, 8), "f32")
    heads_kernel[(1,)](x, y, H=4, N=8, D=16)
    assert np.array_equal(y.numpy(), a.transpose(1, 2, 0))


@triton.jit
def pages_kernel(cache, table, y, PAGE: tl.constexpr, D: tl.constexpr, N: tl.constexpr):
    n, d = tl.arange(0, N), tl.arange(0, D)
    page = tl.load(table + n // PAGE)
    v = tl.load(cache + page[None, :] * (PAGE * D) + d[:, None] * PAGE + (n % PAGE)[None, :])  # [D, N]; pages [D, PAGE]
    tl.store(y + n[:, None] * D + d[None, :], tl.trans(v))


def test_pages_of_a_cache_are_read_whole(torch):
    # 4 pages of 16 × 8 f32, 512 bytes each: whatever the order of elements in the tile, each is one run of two bursts of 256.
    cache, table = numbers(6, 16, 8), np.array([5, 0, 3, 1], np.int32)
    y = torch.zeros((32, 16), "f32")
    launch = pages_kernel[(1,)](torch.from_numpy(cache), torch.from_numpy(table), y, PAGE=8, D=16, N=32)
    assert np.array_equal(y.numpy(), cache[table].transpose(0, 2, 1).reshape(32, 16))
    pages = [count for count in launch.transfers.values() if count.scattered and count.asked == 4 * 512]
    assert [(c.scattered, c.moved) for c in pages] == [(1, 4 * 512)]
    assert pages[0].runs == 3  # pages 0 and 1 are neighbours


@triton.jit
def gathering_kernel(x, order, y, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.load(order + i)
    v = tl.load(x + at)
    tl.store(y + i, v)


def test_scattered_elements_say_what_memory_moves_for_them(torch):
    # 32 elements of 4 bytes, each in a burst of its own of 256 bytes.
    order = (np.random.default_rng(1).permutation(32) * 64).astype(np.int32)
    x = torch.from_numpy(numbers(2048))
    launch = gathering_kernel[(1,)](x, torch.from_numpy(order), torch.zeros((32,), "f32"), N=32)
    assert "0 strided, 1 scattered in 32 runs: 8,192 B moved for 128 B asked" in str(launch)


@triton.jit
def integer_copy_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


def calls_to_record(programs):
    """Python functions and methods of built-in types that recording calls."""
    calls = 0

    def count(frame, event, arg):
        nonlocal calls
        calls += event in ("call", "c_call")

    with kb.Torch("small") as torch:
        x = torch.from_numpy(np.arange(programs * 8, dtype=np.int32), dp=kb.interleaved())
        y = torch.zeros((programs * 8,), "i32", dp=kb.interleaved())
        sys.setprofile(count)
        try:
            integer_copy_kernel[(programs,)](x, y, programs * 8, B=8)
        finally:
            sys.setprofile(None)
    return calls


def test_twice_the_programs_of_an_integer_kernel_are_twice_the_work_to_record():
    calls_to_record(1)
    assert calls_to_record(256) <= 2.2 * calls_to_record(128)


@pytest.mark.parametrize("grid", [(10 ** 9,), (2 ** 40, 2 ** 40), (65536, 65535, 65535)])
def test_a_grid_of_too_many_programs_is_refused(torch, grid):
    x = torch.zeros((8,), "i32")
    with pytest.raises(ValueError, match="programs; each is recorded on its own, and a launch takes at most 4,194,304"):
        integer_copy_kernel[grid](x, x, 8, B=8)


@triton.jit
def suspended_kernel(x):
    yield tl.store(x, 1.0)


@triton.jit
def calls_suspended_kernel(x):
    suspended_kernel(x)


@pytest.mark.parametrize("kernel", [suspended_kernel, calls_suspended_kernel])
def test_a_kernel_with_yield_is_refused(torch, kernel):
    with pytest.raises(TypeError, match="suspended_kernel has a `yield` or is `async`"):
        kernel[(1,)](torch.zeros((1,), "f32"))


def test_a_python_kernel_that_does_not_run_to_its_end_is_refused(torch):
    def generator(x, tl):
        yield tl.load(x, (1,), "f32")

    async def coroutine(x, tl):
        tl.load(x, (1,), "f32")

    for kernel in generator, coroutine, lambda x, tl: generator(x, tl):
        with pytest.raises(TypeError, match="has a yield or an await"):
            torch.launch("k", kernel, torch.zeros((1,), "f32"))


def test_how_the_last_transfer_went_is_an_error_before_the_first(torch):
    def kernel(x, tl):
        tl.arange(0, 8)
        for ask in tl.last_runs, tl.last_transfer:
            with pytest.raises(ValueError, match="no transfer has been recorded yet"):
                ask()
        tl.load(x, (1,), "f32")
        tl.zeros((8,), "f32")  # is none
        assert tl.last_runs() == 0 and tl.last_transfer()[:2] == (0, 4)

    torch.launch("k", kernel, torch.zeros((1,), "f32"))


@pytest.mark.parametrize("where", ["in the engine", "in a kernel", "between launches"])
def test_a_daemon_thread_that_simulates_does_not_disturb_the_end_of_python(where):
    script = textwrap.dedent("""
        import sys, threading
        import kernbench as kb
        at_work = threading.Event()

        def kernel(x, tl):
            if "in a kernel" in sys.argv:
                at_work.set()
                while True:
                    tl.arange(0, 8)
            for _ in range(5 if "between launches" in sys.argv else 20000):
                tl.store(x, tl.load(x, (64,), "f32") + 1)

        def simulate():
            with kb.Torch("small") as torch:
                x = torch.zeros((64,), "f32")
                while True:
                    handle = torch.launch("k", kernel, x)
                    at_work.set()
                    torch.wait(handle)

        threading.Thread(target=simulate, daemon=True).start()
        at_work.wait()
        """)
    done = subprocess.run([sys.executable, "-c", script, where], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
