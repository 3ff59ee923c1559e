"""Loop variables and numbers that a kernel assigns: scalars of the kernel, as in Triton, that still count as constants here."""
import numpy as np
import pytest

import kernbench as kb
from kernbench import triton
import kernbench.triton.language as tl


@pytest.fixture
def torch():
    with kb.Torch("small") as torch:
        yield torch


def outcome(torch, kernel, n, *args, dtype=np.int32, **meta):
    out = torch.from_numpy(np.zeros(n, dtype))
    kernel[(1,)](out, *args, **meta)
    return list(out.numpy())


@triton.jit
def loop_variable_kernel(out, n, wide):
    for i in range(n):
        tl.static_assert(i.dtype == tl.int32)
        tl.store(out + i, i.to(tl.int64) * 3)
    for i in tl.range(0, 2, num_stages=3):
        tl.static_assert(i.dtype == tl.int32)
        tl.store(out + 4 + i, i)
    for i in range(wide, wide + 2):
        tl.static_assert(i.dtype == tl.int64)
        tl.store(out + 6 + (i - wide), (i >> 32).to(tl.int32))


def test_loop_variable_is_a_scalar_of_its_bounds_type(torch):
    # 2^40 >> 32 is 2^8.
    assert outcome(torch, loop_variable_kernel, 8, 4, 2**40) == [0, 3, 6, 9, 0, 1, 256, 256]


@triton.jit
def negative_kernel(out):
    for i in range(-3, -2):
        tl.store(out, i // 2)
        tl.store(out + 1, i % 2)
        j = i - 1
        tl.store(out + 2, j % 3)
        tl.store(out + 3, j // 3)
    a = -7
    tl.store(out + 4, a // 2)
    tl.store(out + 5, a % 2)
    a //= 3
    tl.store(out + 6, a)
    tl.store(out + 7, -7 // 2)


def test_division_of_loop_variables_and_assigned_numbers_truncates_toward_zero(torch):
    # −3 / 2 → −1, rest −1; −4 / 3 → −1, rest −1; −7 / 2 → −3, rest −1; −7 / 3 → −2. Two constants are divided by Python: −4.
    assert outcome(torch, negative_kernel, 8) == [-1, -1, -1, -1, -3, -1, -2, -4]


@triton.jit
def assigned_kernel(out, x, N: tl.constexpr):
    count = 0
    ratio = 0.5
    flag = True
    big = 0x80000000
    wide = 1 << 40
    tl.static_assert(count.dtype == tl.int32 and ratio.dtype == tl.float32 and flag.dtype == tl.int1)
    tl.static_assert(big.dtype == tl.uint32 and wide.dtype == tl.int64)
    a, (b, c) = 1, (2, 3.0)
    tl.static_assert(a.dtype == tl.int32 and b.dtype == tl.int32 and c.dtype == tl.float32)
    TWICE: tl.constexpr = 2 * N
    tl.static_assert(TWICE == 2 * N)
    top = 0x7FFFFFFF
    top += 1
    tl.store(out, top)
    tl.store(out + 1, count.to(tl.int64) + 1)
    v = tl.load(x + tl.arange(0, N))
    tl.static_assert((v * ratio).dtype == tl.float32, "an assigned number is a float32 scalar")
    tl.static_assert((v * 0.5).dtype == tl.float16, "a number in the expression takes the tensor's type")
    tl.store(out + 2, tl.sum(v * ratio).to(tl.int32))


def test_assigned_numbers_have_types_and_wrap(torch):
    x = torch.from_numpy(np.ones(4, np.float16))
    assert outcome(torch, assigned_kernel, 3, x, N=4) == [-(2**31), 1, 2]


@triton.jit
def constants_kernel(out, x, BLOCK: tl.constexpr):
    half = BLOCK // 2
    shape = (half, 2)
    rows = tl.arange(0, half)
    block = tl.zeros((half, 2), tl.int32) + rows[:, None]
    tl.store(out + tl.arange(0, BLOCK), tl.reshape(block, [half * 2]))
    axis = 1
    tl.store(out + BLOCK + rows, tl.sum(block.reshape(shape), axis))
    pointers = (out, out + 1)
    which = 1
    steps = 0
    while steps < 2:
        steps += 1
    for i in tl.static_range(half):
        tl.static_assert(i == int(i) and i >= 0)
        if i == which:
            tl.store(pointers[which] + BLOCK + half, i + 10 * steps)
    tl.store(out + BLOCK + half, 2**which + min(which, 5) + max(steps, 1) + triton.cdiv(x, 2) + (7 if which else 8))
    text = f"{which} of {half}"
    tl.static_assert(text == "1 of 2")


def test_assigned_numbers_serve_as_shapes_axes_indices_and_text(torch):
    # 2¹ + 1 + 2 + ⌈5 / 2⌉ + 7 = 15; the loop stores 1 + 20 one place further.
    assert outcome(torch, constants_kernel, 8, 5, BLOCK=4) == [0, 0, 1, 1, 0, 2, 15, 21]


@triton.jit
def accumulated_kernel(out, x, n, BLOCK: tl.constexpr):
    acc = 0
    weight = 1.0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        acc += tl.sum(tl.load(x + i, mask=i < n, other=0))
        weight *= 0.5
    tl.static_assert(acc.dtype == tl.int32 and weight.dtype == tl.float32)
    tl.store(out, acc)
    tl.store(out + 1, (weight * 64).to(tl.int32))


def test_scalars_carried_through_a_loop_keep_their_type(torch):
    # Three blocks of 4: 64 / 2³ = 8.
    x = torch.from_numpy(np.arange(10, dtype=np.int32))
    assert outcome(torch, accumulated_kernel, 2, x, 10, BLOCK=4) == [45, 8]


@triton.jit
def float_range_kernel(out, step):
    for i in range(0, 4, step):
        tl.store(out, i)


def test_range_refuses_bounds_that_are_not_integers_and_a_step_of_zero(torch):
    with pytest.raises(TypeError, match="bound is fp32"):
        outcome(torch, float_range_kernel, 1, 1.5)
    with pytest.raises(ValueError, match="step of 0"):
        outcome(torch, float_range_kernel, 1, 0)
