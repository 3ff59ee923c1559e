"""The same kernel in C++ and in Python gives the same op log but for source lines.

same_kernels.cpp has the C++ side. The hash of an op log counts source lines, so both sides say that every command is at line 1
of `same`; everything else (programs, times, places, sizes, causes) is compared by the hash.
"""
import os
import subprocess

import numpy as np
import pytest

import kernbench as kb

COLUMNS = kb.DPPolicy(cube="column_wise", pe="column_wise")


def ramp(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def axpy(x, y, a, piece, tl):
    tl.set_line("same", 1)
    xs, ys = tl.shard(x), tl.shard(y)
    for i in range(0, xs.shape[0], piece):
        mine = tl.load(ys.ptr + 4 * i, (piece,), "f32")
        other = tl.load(xs.ptr + 4 * i, (piece,), "f32")
        tl.store(ys.ptr + 4 * i, mine + a * other)


def softmax_rows(x, tl):
    tl.set_line("same", 1)
    mine = tl.shard(x)
    tl.store(mine.ptr, tl.softmax(tl.load(mine.ptr, mine.shape, "f32")))


def ring(x, size, tl):
    tl.set_line("same", 1)
    mine = tl.shard(x)
    passing = total = tl.load(mine.ptr, mine.shape, "f32")
    for _ in range(1, size):
        tl.send("E", passing)
        passing = tl.recv("W", mine.shape, "f32")
        total = total + passing
    tl.store(mine.ptr, total)


def attention(q, k, v, out, n, d, tl):
    tl.set_line("same", 1)
    query = tl.load(q, (n, d), "f32")
    most, total, acc = tl.full((n, 1), -1e30, "f32"), tl.zeros((n, 1), "f32"), tl.zeros((n, d), "f32")
    for piece in range(2):
        keys = tl.load(k + piece * n * d * 4, (n, d), "f32")
        values = tl.load(v + piece * n * d * 4, (n, d), "f32")
        scores = query @ keys.T
        following = tl.maximum(most, tl.max(scores, 1, True))
        scale = tl.exp(most - following)
        weights = tl.exp(scores - following)
        weighed = tl.sum(weights, 1, True)
        total = total * scale + weighed
        acc = acc * scale + weights @ values
        most = following
    tl.store(out, acc / total)


def host_axpy(torch):
    x, y = (torch.from_numpy(ramp(4096), COLUMNS, name) for name in "xy")
    torch.launch("axpy", axpy, x, y, 0.5, 32)
    return x, y


def host_softmax(torch):
    x = torch.from_numpy(ramp(32, 64), kb.DPPolicy(cube="row_wise", pe="row_wise"), "x")
    torch.launch("softmax", softmax_rows, x)
    return x


def host_ring(torch):
    x = torch.from_numpy(ramp(8, 64), kb.DPPolicy(pe="row_wise", num_cubes=1), "x")
    torch.launch_with_queues("ring", ring, x, 8, topology="intracube_ring")
    return x


def host_attention(torch):
    q, k, v = torch.from_numpy(ramp(16, 32), name="q"), torch.from_numpy(ramp(32, 32), name="k"), torch.from_numpy(ramp(32, 32), name="v")
    out = torch.empty((16, 32), "f32", name="out")
    torch.launch("attention", attention, q, k, v, out, 16, 32)
    return q, k, v, out


@pytest.fixture(scope="module")
def cpp():
    said = subprocess.run([os.environ["KERNBENCH_SAME_KERNELS"]], stdout=subprocess.PIPE, text=True, check=True).stdout
    return dict(line.split() for line in said.splitlines())


@pytest.mark.parametrize("name", ["axpy", "softmax", "ring", "attention"])
def test_cpp_and_python_give_the_same_log(cpp, name):
    torch = kb.Torch("small")
    tensors = globals()[f"host_{name}"](torch)  # kept: in which order they are dropped is each language's own
    torch.synchronize()
    assert f"{torch.hash():016x}" == cpp[name]
