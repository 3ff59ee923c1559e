#!/usr/bin/env python3
"""What Python costs: recording, launching, arrays, importing, and memory over many launches.

Usage: PYTHONPATH=build/bench/python bench/python_speed.py

Prints a table of figures beside what we hold ourselves to; exit code 1 if one is missed. Each figure is the best of several.
"""
import gc
import os
import subprocess
import sys
import time

import numpy as np

import kernbench as kb

TIMES = 5


def best(fn):
    """The least processor time of several runs, in seconds."""
    least = float("inf")
    for _ in range(TIMES):
        began = time.process_time()
        fn()
        least = min(least, time.process_time() - began)
    return least


def wall(fn):
    least = float("inf")
    for _ in range(TIMES):
        began = time.perf_counter()
        fn()
        least = min(least, time.perf_counter() - began)
    return least


def steps(p, n, tl):
    for _ in range(n):
        tl.store(p, tl.load(p, (64,), "f16") * 2)


def recording():
    """Commands a second."""
    n = 20_000
    tl = kb.TlContext(scratch=1 << 30)
    return 3 * n / best(lambda: kb.run_kernel(steps, tl, 0x1000, n)) / 1e6


def launching():
    """A launch of 100 commands on each of 256 PEs, in milliseconds."""
    machine = kb.Machine("default", ["sip.cube_mesh.w=8"])
    with kb.Torch(machine, data=False, log="none") as torch:
        x = torch.empty((256, 64), "f16", dp=kb.DPPolicy(cube="row_wise", pe="row_wise"))

        def hundred(x, tl):
            p = tl.shard(x).ptr
            for _ in range(33):
                tl.store(p, tl.load(p, (64,), "f16") * 2)
            tl.fence()

        handles = []
        least = wall(lambda: handles.append(torch.launch("hundred", hundred, x)))
        torch.wait(handles[-1])
    return least * 1e3


def arrays():
    """GB/s of from_numpy and of numpy(), 100 MB."""
    array = np.ones(50_000_000, np.float16)
    with kb.Torch("default") as torch:
        x = torch.from_numpy(array)
        x.numpy()
        went_in = wall(lambda: torch.from_numpy(array))
        came_out = wall(x.numpy)
    return array.nbytes / went_in / 1e9, array.nbytes / came_out / 1e9


def triton_kernels():
    """Processor seconds of recording Triton kernels: a product 1024³ in 64 programs, and 100,000 programs of a sum (by 10,000)."""
    import kernbench.triton.language as tl
    triton = kb.triton

    @triton.jit
    def product(a, b, c, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
        rows = tl.program_id(0) // (n // N) * M + tl.arange(0, M)
        columns = tl.program_id(0) % (n // N) * N + tl.arange(0, N)
        depth = tl.arange(0, K)
        acc = tl.zeros((M, N), dtype=tl.float32)
        for k in range(0, n, K):
            left = tl.load(a + rows[:, None] * n + (k + depth)[None, :], mask=(k + depth)[None, :] < n, other=0.0)
            right = tl.load(b + (k + depth)[:, None] * n + columns[None, :], mask=(k + depth)[:, None] < n, other=0.0)
            acc += tl.dot(left, right)
        tl.store(c + rows[:, None] * n + columns[None, :], acc.to(tl.float16))

    @triton.jit
    def sums(x, y, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = i < n
        tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)

    def recording(shape, dtype, launch):
        with kb.Torch("default", data=False, log="none") as torch:
            tensors = [torch.empty(shape, dtype, dp=kb.interleaved()) for _ in range(3)]
            began = time.process_time()
            launch(tensors)
            return time.process_time() - began

    n, programs = 1024, 10_000
    one = min(recording((n, n), "f16", lambda t: product[(64,)](*t, n, M=128, N=128, K=64)) for _ in range(3))
    many = min(recording((programs * 64,), "f32", lambda t: sums[(programs,)](*t, programs * 64, BLOCK=64)) for _ in range(2))
    return one, many * 10


def importing():
    """Processor seconds beyond NumPy's."""
    def seconds(what):
        code = f"import time; b = time.process_time(); import {what}; print(time.process_time() - b)"
        return min(float(subprocess.run([sys.executable, "-c", "import numpy; " + code], stdout=subprocess.PIPE, text=True, check=True).stdout)
                   for _ in range(TIMES))
    return seconds("kernbench") - seconds("sys")


def growth():
    """MiB that 10,000 launches leave behind."""
    def resident():
        gc.collect()
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20

    with kb.Torch("small", data=False, log="none") as torch:
        x = torch.empty((64,), "f16")

        def many(n):
            for _ in range(n):
                torch.wait(torch.launch("steps", steps, x, 33))

        many(2000)
        before = resident()
        many(10_000)
        return resident() - before


def main():
    went_in, came_out = arrays()
    product, sums = triton_kernels()
    ones = np.ones(50_000_000, np.float16)
    copy = ones.nbytes / wall(ones.copy) / 1e9  # what NumPy itself takes for it here and now
    rows = [("NumPy's copy of 100 MB, beside it", copy, "GB/s", 0, True),
            ("recording", recording(), "M commands/s", 0.5, True),
            ("launch of 256 PEs × 100 commands", launching(), "ms", 100, False),
            ("from_numpy of 100 MB", went_in, "GB/s", 2, True),
            ("numpy() of 100 MB", came_out, "GB/s", 2, True),
            ("import, beyond NumPy's", importing(), "s of processor time", 0.1, False),
            ("growth over 10,000 launches", growth(), "MiB", 8, False),
            ("Triton: a product 1024³", product, "s of processor time", 1, False),
            ("Triton: 100,000 programs of a sum", sums, "s of processor time", 20, False)]
    missed = 0
    for name, value, unit, bound, at_least in rows:
        good = value >= bound if at_least else value <= bound
        missed += not good
        print(f"{name:<36} {value:>9.3f} {unit:<20} {'≥' if at_least else '≤'} {bound:<6} {'' if good else 'MISSED'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
