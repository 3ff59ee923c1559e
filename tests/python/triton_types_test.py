"""In which type a kernel computes, and how numbers are rounded into types. The expectations are Triton's own (3.6)."""
import math

import numpy as np
import pytest

import kernbench as kb
from kernbench import triton
import kernbench.triton.language as tl
from kernbench.triton.language.extra import libdevice

N = 16
SOURCE = """
import triton
import triton.language as tl

@triton.jit
def kernel(out, a, b, A: tl.constexpr, B: tl.constexpr, EXPECTED: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    {read}
    r = {expression}
    tl.static_assert(r.dtype == EXPECTED, str(r.dtype))
    tl.store(out + tl.arange(0, r.numel), tl.reshape(r, [r.numel]).to(tl.float32))
"""
LOADED = "x, y = tl.load(a + i).to(A), tl.load(b + i).to(B)"
KNOWN = "x, y = (i - 5).to(A), (i * 3 % 7).to(B)"


@pytest.fixture
def torch():
    with kb.Torch("small") as torch:
        yield torch


def launched(torch, folder, expression, a, b, expected, read):
    file = folder / "kernel.py"
    file.write_text(SOURCE.format(read=read, expression=expression))
    i = np.arange(N)
    args = [torch.from_numpy(v.astype(np.float32)) for v in (np.zeros(N), i - 5, i * 3 % 7)]
    triton.load(file, "kernel")[(1,)](*args, A=a, B=b, EXPECTED=expected, N=N)
    return args[0].numpy()


TYPES = [
    # A Python number takes the type of the tensor beside it, if that can hold its kind.
    ("x + 1", tl.int8, tl.int8, tl.int8), ("x * 2.5", tl.float16, tl.float16, tl.float16), ("x * 2.5", tl.int8, tl.int8, tl.float32),
    ("x / 3", tl.float16, tl.float16, tl.float32), ("x % 3", tl.float16, tl.float16, tl.float32),
    ("tl.where(x > 1, x, 1.5)", tl.float16, tl.float16, tl.float16), ("tl.where(x > 1, 2, 3)", tl.float16, tl.float16, tl.int32),
    # In maximum, minimum and clamp it is an int32 or a float32, and bfloat16 is computed in float32.
    ("tl.maximum(x, 0.5)", tl.float16, tl.float16, tl.float32), ("tl.maximum(x, 0)", tl.int8, tl.int8, tl.int32),
    ("tl.maximum(x, y)", tl.bfloat16, tl.bfloat16, tl.float32), ("tl.clamp(x, -1.0, 2.0)", tl.float16, tl.float16, tl.float32),
    # Tensors meet.
    ("x + y", tl.float16, tl.bfloat16, tl.float16), ("x + y", tl.bfloat16, tl.float32, tl.float32), ("x + y", tl.int8, tl.uint8, tl.uint8),
    ("x + y", tl.int32, tl.uint64, tl.uint64), ("x + y", tl.int64, tl.uint32, tl.int64), ("x * y", tl.int32, tl.float16, tl.float16),
    # Integers of one bit stay so.
    ("(x > 0) + (y > 0)", tl.int32, tl.int32, tl.int1), ("(x > 0) * (y > 0)", tl.int32, tl.int32, tl.int1),
    ("-(x > 0)", tl.int32, tl.int32, tl.int1), ("(x > 0) + 1", tl.int32, tl.int32, tl.int32),
    # Along an axis.
    ("tl.sum(x)", tl.int8, tl.int8, tl.int32), ("tl.sum(x > 0)", tl.int8, tl.int8, tl.uint32), ("tl.sum(x)", tl.float16, tl.float16, tl.float16),
    ("tl.max(x)", tl.float16, tl.float16, tl.float32), ("tl.max(tl.abs(x).to(tl.uint8))", tl.int32, tl.int32, tl.int32),
    ("tl.min(x, 0, return_indices=True)[0]", tl.float16, tl.float16, tl.float16),
    ("tl.cumsum(x, 0)", tl.bfloat16, tl.bfloat16, tl.float32), ("tl.cumprod(x, 0)", tl.int8, tl.int8, tl.int8),
    ("tl.topk(x, 4)", tl.int8, tl.int8, tl.int32), ("tl.sort(x)", tl.int8, tl.int8, tl.int8),
    # Keywords of casts.
    ("x.to(dtype=tl.int64)", tl.int32, tl.int32, tl.int64), ("tl.cast(x, dtype=tl.float16)", tl.float32, tl.float32, tl.float16),
    ("x.to(tl.bfloat16, fp_downcast_rounding='rtz')", tl.float32, tl.float32, tl.bfloat16),
    ("tl.reshape(x, [4, 4], can_reorder=True)", tl.float32, tl.float32, tl.float32),
]


@pytest.mark.parametrize("read", [LOADED, KNOWN], ids=["computed", "known"])
@pytest.mark.parametrize("expression, a, b, expected", TYPES, ids=[f"{e} of {a}, {b}" for e, a, b, _ in TYPES])
def test_an_expression_has_tritons_type(torch, tmp_path, expression, a, b, expected, read):
    launched(torch, tmp_path, expression, a, b, expected, read)


def test_known_and_computed_values_give_the_same_numbers(torch, tmp_path):
    for expression, a, b, expected in TYPES:
        computed, known = (launched(torch, tmp_path, expression, a, b, expected, read) for read in (LOADED, KNOWN))
        assert np.array_equal(computed, known, equal_nan=True), expression


@triton.jit
def compare_kernel(out, x):
    i = tl.arange(0, 2)
    v = tl.load(x + i)
    tl.store(out + i, (v < 0.1).to(tl.int32) + 2 * (v == 0.1).to(tl.int32))


def test_a_number_is_compared_in_its_own_precision(torch):
    # float16 has no 0.1: its nearest number, 0.09998, is less.
    out = torch.from_numpy(np.zeros(2, np.int32))
    compare_kernel[(1,)](out, torch.from_numpy(np.array([0.1, 0.2], np.float16)))
    assert list(out.numpy()) == [1, 0]


@pytest.mark.parametrize("expression, a, text", [
    ("x + 300", tl.int8, "300 beside a tensor of int8, which holds -128 to 127"), ("x * -1", tl.uint32, "-1 beside a tensor of uint32"),
    ("tl.where(x > 1, x, 70000)", tl.int16, "70000 beside a tensor of int16"), ("x & 0xffff", tl.int8, "65535 beside a tensor of int8"),
    ("i + 0xffffffff", tl.int32, "4294967295 beside a tensor of int32")])
def test_a_number_that_does_not_fit_is_an_error(torch, tmp_path, expression, a, text):
    with pytest.raises(ValueError, match=text):
        launched(torch, tmp_path, expression, a, a, a, LOADED)


@triton.jit
def toward_zero_kernel(out, x, TYPE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(TYPE, fp_downcast_rounding="rtz").to(tl.float32))


def test_rounding_toward_zero(torch):
    x = np.array([1.9999, -1.9999, 70000, -70000, 65519, 1e-7, 0, 3.0], np.float32)
    out = torch.from_numpy(np.zeros(8, np.float32))
    toward_zero_kernel[(1,)](out, torch.from_numpy(x), TYPE=tl.bfloat16, N=8)
    assert np.array_equal(out.numpy(), (x.view(np.uint32) & 0xFFFF0000).view(np.float32))
    toward_zero_kernel[(1,)](out, torch.from_numpy(x), TYPE=tl.float16, N=8)
    # float16 below 2 has steps of 2^-10, its largest is 65504, and 1e-7 lies between its two smallest: 2^-24 and 2^-23.
    assert list(out.numpy()) == [2 - 2**-10, -(2 - 2**-10), 65504, -65504, 65504, 2**-24, 0, 3]


def test_roundings_that_are_not_there_are_refused(torch):
    x, out = torch.from_numpy(np.zeros(8, np.float32)), torch.from_numpy(np.zeros(8, np.float32))
    with pytest.raises(ValueError, match="fp_downcast_rounding of fp32 to int32: it is for floats that become narrower"):
        toward_zero_kernel[(1,)](out, x, TYPE=tl.int32, N=8)


LARGE = 0x9E3779B97F4A7C15


@triton.jit
def large_kernel(out, x, by):
    i = tl.arange(0, 4)
    v = tl.load(x + i)
    tl.store(out + i, v * by)
    tl.store(out + 4 + i, tl.where(v > 0xFFFFFFFFFFFFFFF0, v, by))
    tl.store(out + 8 + i, tl.full([4], by, tl.uint64))


def test_integers_of_64_bits_are_exact(torch):
    # A double has 53 bits.
    x = np.array([1, 2, 2**63 + 5, 2**64 - 1], np.uint64)
    out = torch.from_numpy(np.zeros(12, np.uint64))
    large_kernel[(1,)](out, torch.from_numpy(x), LARGE)
    expected = [int(v) * LARGE % 2**64 for v in x] + [LARGE] * 3 + [2**64 - 1] + [LARGE] * 4
    assert [int(v) for v in out.numpy()] == expected


@triton.jit
def filled_kernel(out8, out64, out16, x8, x64, x16):
    i = tl.arange(0, 2)
    tl.store(out8 + i, tl.load(x8 + i, mask=i < 1, other=-1))
    tl.store(out64 + i, tl.load(x64 + i, mask=i < 1, other=0x7FFFFFFFFFFFFFFF))
    v = tl.load(x16 + i, mask=i < 1, other=tl.load(x16 + i).to(tl.float32) + 0.1)
    tl.static_assert(v.dtype == tl.float16)
    tl.store(out16 + i, v)


def test_what_fills_lanes_that_are_off_takes_the_type_of_the_memory(torch):
    outs, xs = ([torch.from_numpy(np.ones(2, t)) for t in (np.uint8, np.int64, np.float16)] for _ in range(2))
    filled_kernel[(1,)](*outs, *xs)
    assert [list(o.numpy()) for o in outs] == [[1, 255], [1, 2**63 - 1], [1, np.float16(1.1)]]


@triton.jit
def float_remainder_kernel(out, x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i) % tl.load(y + i))
    tl.store(out + N + i, ((i - 3) * 0.75) % 1.5)


def test_the_remainder_of_floats_has_the_sign_of_the_dividend(torch):
    x, y = np.array([5.5, -5.5, 5.5, -5.5], np.float32), np.array([2, 2, -2, -2], np.float32)
    out = torch.from_numpy(np.zeros(8, np.float32))
    float_remainder_kernel[(1,)](out, torch.from_numpy(x), torch.from_numpy(y), N=4)
    assert list(out.numpy()) == [1.5, -1.5, 1.5, -1.5] + list(np.fmod((np.arange(4) - 3) * 0.75, 1.5))


@triton.jit
def quotients_kernel(out, x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i) % tl.load(y + i))


def test_the_remainder_of_floats_is_exact_for_long_quotients(torch):
    random = np.random.default_rng(3)
    y = np.exp2(random.uniform(-8, 8, 1024)).astype(np.float32)
    x = (y * random.choice([-1, 1], 1024) * np.exp2(random.uniform(-2, 40, 1024))).astype(np.float32)
    x[:6], y[:6] = [1e8, 4.9, 0.7, -2.5, np.inf, 5], [3, 0.7, 0.1, np.inf, 2, 0]
    out = torch.from_numpy(np.zeros(1024, np.float32))
    quotients_kernel[(1,)](out, torch.from_numpy(x), torch.from_numpy(y), N=1024)
    with np.errstate(invalid="ignore"):
        assert np.array_equal(out.numpy(), np.fmod(x, y), equal_nan=True)


@triton.jit
def unsigned_division_kernel(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, v // 3)
    tl.store(out + N + i, v % 3)


@pytest.mark.parametrize("type, numbers", [(np.uint64, [0, 7, 2**63 + 1, 2**64 - 1]), (np.int64, [-(2**63), -7, 7, 2**63 - 1])])
def test_division_of_64_bits(torch, type, numbers):
    out = torch.from_numpy(np.zeros(8, type))
    unsigned_division_kernel[(1,)](out, torch.from_numpy(np.array(numbers, type)), N=4)
    quotients = [abs(n) // 3 * (1 if n >= 0 else -1) for n in numbers]
    assert [int(v) for v in out.numpy()] == quotients + [n - 3 * q for n, q in zip(numbers, quotients)]


@triton.jit
def function_kernel(out, x, y, FN: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, FN(tl.load(x + i), tl.load(y + i)) if y is not None else FN(tl.load(x + i)))


SMALL = np.array([1e-7, -1e-7, 3e-5, -3e-5, 1e-3, -1e-3, 0.02, -0.02], np.float32)
ACCURATE = [("expm1", SMALL, np.expm1), ("log1p", SMALL, np.log1p), ("sinh", SMALL, np.sinh), ("asinh", SMALL, np.arcsinh),
            ("atanh", SMALL, np.arctanh), ("log1p", np.array([1e30, 0, 1, 5, -0.9, -0.6, 0.4, 100], np.float32), np.log1p),
            ("erfc", np.array([0, 1, 2, 3, 4, 5, -1, -3], np.float32), np.vectorize(math.erfc)),
            ("sinpi", np.array([100.25, -33.5, 7, 0.75, -0.75, 1, 2, 1e4 + 0.5], np.float32),
             lambda x: np.sin(np.pi * (x % 2)) * (np.abs(x % 1) > 0)),
            ("cospi", np.array([100.25, -33, 7, 0.75, -0.75, 0.5, 2, 1e4], np.float32), lambda x: np.cos(np.pi * (x % 2)) * (x % 1 != 0.5))]


@pytest.mark.parametrize("name, x, reference", ACCURATE, ids=[f"{n} of {x[0]:g}" for n, x, _ in ACCURATE])
def test_a_function_is_accurate_where_its_plain_formula_is_not(torch, name, x, reference):
    out = torch.from_numpy(np.zeros(8, np.float32))
    function_kernel[(1,)](out, torch.from_numpy(x), None, FN=getattr(libdevice, name), N=8)
    assert np.allclose(out.numpy(), reference(x.astype(np.float64)), rtol=3e-6, atol=0)


@pytest.mark.parametrize("name, x, y, expected", [
    ("pow", [-2, -2, -2, 4, -3, 0, 2, 9], [3, 2, 0.5, 0.5, -1, 0, 10, 0], [-8, 4, np.nan, 2, -1 / 3, 1, 1024, 1]),
    ("copysign", [1, -1, 1, -1, 2, 2, 0, 0], [1, 1, -1, -1, 0.0, -0.0, -1, 1], [1, 1, -1, -1, 2, -2, -0.0, 0])])
def test_a_function_of_two(torch, name, x, y, expected):
    out = torch.from_numpy(np.zeros(8, np.float32))
    args = [torch.from_numpy(np.array(v, np.float32)) for v in (x, y)]
    function_kernel[(1,)](out, *args, FN=getattr(libdevice, name), N=8)
    assert np.allclose(out.numpy(), expected, rtol=2e-6, equal_nan=True)
    assert np.array_equal(np.signbit(out.numpy()), np.signbit(np.array(expected, np.float32))) or name == "pow"


@triton.jit
def fixed_power_kernel(out, x, P: tl.constexpr):
    i = tl.arange(0, 2)
    tl.store(out + i, libdevice.pow(tl.load(x + i), P))


@pytest.mark.parametrize("power", [-2.0, -1.0, 0.0, 1.0, 3.0, 10.0, 11.0])
def test_a_power_that_is_known(torch, power):
    x = np.array([-3, 2], np.float32)
    out = torch.from_numpy(np.zeros(2, np.float32))
    fixed_power_kernel[(1,)](out, torch.from_numpy(x), P=power)
    assert np.allclose(out.numpy(), x.astype(np.float64) ** power, rtol=3e-6)


@triton.jit
def high_half_kernel(out, x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, libdevice.mulhi(tl.load(x + i), tl.load(y + i)))


def test_the_upper_half_of_a_signed_product(torch):
    x, y = np.array([-5, 5, -2**31, 2**30], np.int32), np.array([7, 2**30, -2**31, 12], np.int32)
    out = torch.from_numpy(np.zeros(4, np.int32))
    high_half_kernel[(1,)](out, torch.from_numpy(x), torch.from_numpy(y), N=4)
    assert list(out.numpy()) == [int(a) * int(b) >> 32 for a, b in zip(x, y)]


@triton.jit
def merge_kernel(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.bitonic_merge(tl.load(x + i)))
    tl.store(out + N + i, tl.bitonic_merge(tl.load(x + i), descending=True))


def test_what_rises_and_falls_is_merged(torch):
    x = np.array([1, 4, 6, 9, 8, 5, 3, 2], np.float32)
    out = torch.from_numpy(np.zeros(16, np.float32))
    merge_kernel[(1,)](out, torch.from_numpy(x), N=8)
    assert list(out.numpy()) == sorted(x) + sorted(x, reverse=True)


@triton.jit
def large_beside_floats_kernel(out, x):
    i = tl.arange(0, 2)
    v = tl.load(x + i)
    tl.store(out + i, v * 0xFFFFFFFFFFFFFFFF)
    tl.store(out + 2 + i, tl.full([2], 10**38, tl.float32))
    tl.store(out + 4 + i, v + (2**53 + 1))
    tl.store(out + 6 + i, tl.full([2], 2**24 + 1, tl.float32) + v * 0)


def test_whole_numbers_beside_floats_are_rounded_once(torch):
    out = torch.from_numpy(np.zeros(8, np.float32))
    large_beside_floats_kernel[(1,)](out, torch.from_numpy(np.ones(2, np.float32)))
    assert list(out.numpy()) == [np.float32(n) for n in (2.0**64, 2.0**64, 1e38, 1e38, 2.0**53, 2.0**53, 2.0**24, 2.0**24)]


@triton.jit
def beyond_kernel(out, x, N: tl.constexpr):
    tl.store(out, tl.load(x) * N)


@triton.jit
def full_beyond_kernel(out, x, N: tl.constexpr):
    tl.store(out, tl.sum(tl.full([2], N, tl.int64)))


@triton.jit
def double_kernel(out, x, N: tl.constexpr):
    factor = 1e300
    tl.store(out, tl.load(x) * factor)


@pytest.mark.parametrize("kernel, n, text", [
    (beyond_kernel, 2**64, "the whole number 18446744073709551616 needs more than 64 bits; beside floats write it as one: 1.8"),
    (beyond_kernel, -(2**63) - 1, "needs more than 64 bits"), (full_beyond_kernel, 10**38, "needs more than 64 bits"),
    (double_kernel, 0, "fp64 has no unit on this machine")])
def test_numbers_that_no_type_of_the_machine_holds_are_refused(torch, kernel, n, text):
    out, x = (torch.from_numpy(np.ones(1, np.float32)) for _ in range(2))
    with pytest.raises(triton.TritonError, match=text):
        kernel[(1,)](out, x, N=n)


@triton.jit
def beside_wide_kernel(out, x, n):
    i = tl.arange(0, 2)
    v = tl.load(x + i)
    for k in range(1):
        v += 0x20000000000001
    tl.store(out + i, v)
    tl.store(out + 2 + i, tl.where(v > 0x20000000000001, v, n))
    tl.store(out + 4 + i, tl.maximum(v, 0x20000000000003))
    tl.store(out + 6 + i, (v == 0x20000000000001).to(tl.int64))


def test_numbers_beside_tiles_of_64_bits_are_exact(torch):
    # 2^53 + 1 is no double.
    one = 2**53 + 1
    out = torch.from_numpy(np.zeros(8, np.int64))
    beside_wide_kernel[(1,)](out, torch.from_numpy(np.array([0, 1], np.int64)), one + 4)
    assert out.numpy().tolist() == [one, one + 1, one + 4, one + 1, one + 2, one + 2, 1, 0]


def test_kernel_language_refuses_whole_numbers_that_a_double_does_not_hold(torch):
    def kernel(x, *, tl):
        tile = tl.load(x, (4,), "i64")
        with pytest.raises(ValueError, match="has 53 bits, and a whole number near 9007199254740992 needs more"):
            tile + (2**53 + 1)
        with pytest.raises(TypeError, match="full: a number has 53 bits, and 9007199254740993 needs more"):
            tl.full((4,), 2**53 + 1, "i64")
        tl.store(x, tile + 2**60 + tl.full((4,), -(2**62), "i64") + tl.cast(tl.full((4,), 2**53 + 1, "f32"), "i64"))

    x = torch.from_numpy(np.zeros(4, np.int64))
    torch.launch("k", kernel, x, grid=(1, 1))
    assert x.numpy().tolist() == [2**60 - 2**62 + 2**53] * 4


@triton.jit
def beyond_the_range(marks, numbers, INTEGER: tl.constexpr, LEAST: tl.constexpr, LARGE: tl.constexpr):
    i = tl.arange(0, 4)
    x = tl.where(i == 0, LARGE, tl.where(i == 1, -LARGE, tl.where(i == 2, float("nan"), 2.75)))
    whole = x.to(INTEGER)
    low = tl.full((4,), LEAST, INTEGER)
    tl.store(marks + i, 1, mask=(whole == low) | (whole == ~low))  # known while the kernel is recorded
    tl.store(numbers + i, whole)                                    # computed by the machine


@pytest.mark.parametrize("integer, array", [(tl.int8, np.int8), (tl.int16, np.int16), (tl.int32, np.int32), (tl.int64, np.int64),
                                            (tl.uint8, np.uint8), (tl.uint16, np.uint16), (tl.uint32, np.uint32),
                                            (tl.uint64, np.uint64)])
def test_a_float_beyond_an_integer_type_is_its_nearest_end_known_and_computed(torch, integer, array):
    least, most = np.iinfo(array).min, np.iinfo(array).max
    marks, numbers = torch.zeros((4,), "i32"), torch.from_numpy(np.zeros(4, array))
    beyond_the_range[(1,)](marks, numbers, INTEGER=integer, LEAST=int(least), LARGE=1e30)
    assert numbers.numpy().tolist() == [most, least, 0, 2]
    assert marks.numpy().tolist() == [1, 1, int(least == 0), 0]


@triton.jit
def scalar_beyond_the_range(out):
    for_nan, for_infinity = float("nan"), float("inf")
    tl.store(out, for_nan.to(tl.int32) + 1)
    tl.store(out + 1, for_infinity.to(tl.int32))
    tl.store(out + 2, (-for_infinity).to(tl.int32))


def test_a_scalar_beyond_an_integer_type_is_its_nearest_end(torch):
    out = torch.zeros((3,), "i32")
    scalar_beyond_the_range[(1,)](out)
    assert out.numpy().tolist() == [1, 2**31 - 1, -2**31]
