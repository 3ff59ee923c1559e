"""Loops of a kernel: those that wait for memory to change are refused, all others run to their end."""
import inspect

import numpy as np
import pytest

import kernbench as kb
from kernbench import triton
import kernbench.triton.language as tl


@pytest.fixture
def torch():
    with kb.Torch("small") as torch:
        yield torch


@triton.jit
def spin_kernel(out, flag):
    while tl.load(flag) == 0:
        pass
    tl.store(out, 1)


@triton.jit
def counting_spin_kernel(out, flag):
    turns = 0
    ready = tl.load(flag, volatile=True)
    while ready == 0:
        turns += 1
        ready = tl.load(flag, volatile=True)
    tl.store(out, turns)


@triton.jit
def breaking_spin_kernel(out, flag):
    while True:
        if tl.load(flag) != 0:
            break
    tl.store(out, 1)


@triton.jit
def wait_for(flag, value):
    while tl.load(flag) != value:
        tl.debug_barrier()


@triton.jit
def helped_spin_kernel(out, flag):
    wait_for(flag, 1)
    tl.store(out, 1)


@pytest.mark.parametrize("kernel, place", [(spin_kernel, spin_kernel), (counting_spin_kernel, counting_spin_kernel),
                                           (breaking_spin_kernel, breaking_spin_kernel), (helped_spin_kernel, wait_for)])
def test_spin_wait_is_refused_with_its_line(torch, kernel, place):
    out, flag = (torch.from_numpy(np.zeros(1, np.int32)) for _ in range(2))
    lines, first = inspect.getsourcelines(place.fn)
    line = first + next(i for i, text in enumerate(lines) if "while" in text)
    with pytest.raises(triton.TritonError, match=f"triton_loops_test.py:{line}: this loop never ends") as e:
        kernel[(1,)](out, flag)
    assert "spin wait" in str(e.value)


@pytest.mark.parametrize("kernel", [spin_kernel, breaking_spin_kernel, helped_spin_kernel])
def test_loop_that_waits_for_what_is_there_already_is_recorded(torch, kernel):
    out, flag = torch.from_numpy(np.zeros(1, np.int32)), torch.from_numpy(np.ones(1, np.int32))
    kernel[(1,)](out, flag)
    assert list(out.numpy()) == [1]


@triton.jit
def search_kernel(out, keys, wanted, n):
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if tl.load(keys + middle) < wanted:
            low = middle + 1
        else:
            high = middle
    tries = 0
    while tl.load(keys) == 1 and tries < 5:
        tries += 1
    for _ in range(2):
        rounds = 0
        while rounds < 3:
            rounds += 1
            if rounds == 2:
                break
    tl.store(out, low)
    tl.store(out + 1, tries)
    tl.store(out + 2, rounds)


def test_loops_that_end_are_recorded(torch):
    # The fifth key is the first that is not below 9; five tries; both rounds leave at their second turn.
    out = torch.from_numpy(np.zeros(3, np.int32))
    search_kernel[(1,)](out, torch.from_numpy(np.array([1, 3, 5, 7, 9, 11], np.int32)), 9, 6)
    assert list(out.numpy()) == [4, 5, 2]
