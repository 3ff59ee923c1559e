"""What a kernel computes: bits, functions of libdevice, axes, atomics, descriptors that the host makes."""
import math

import numpy as np
import pytest

import kernbench as kb
from kernbench import triton
import kernbench.triton.language as tl
from kernbench.triton.language.extra import libdevice
from kernbench.triton.tools.tensor_descriptor import TensorDescriptor


@pytest.fixture
def torch():
    with kb.Torch("small", hazards=True) as torch:
        yield torch


@triton.jit
def through_bits_kernel(out, x, BITS: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i) * 1.5
    tl.store(out + i, v.to(BITS, bitcast=True) ^ 1)


@pytest.mark.parametrize("float_type, int_type, bits", [(np.float32, np.int32, tl.int32), (np.float32, np.uint32, tl.uint32),
                                                        (np.float16, np.int16, tl.int16), (np.float16, np.uint16, tl.uint16)])
def test_the_bits_of_computed_floats_can_be_taken(torch, float_type, int_type, bits):
    a = np.random.default_rng(1).standard_normal(16).astype(float_type)
    out = torch.from_numpy(np.zeros(16, int_type))
    through_bits_kernel[(1,)](out, torch.from_numpy(a), BITS=bits, N=16)
    assert np.array_equal(out.numpy(), (a * float_type(1.5)).view(int_type) ^ 1)


@triton.jit
def from_bits_kernel(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    bits = tl.load(x + i).to(tl.int32, bitcast=True)
    known = (i + 0x3F800000).to(tl.float32, bitcast=True)
    tl.store(out + i, (bits + 0x00800000).to(tl.float32, bitcast=True) + known * 0)


def test_floats_are_made_of_computed_bits(torch):
    # One more in the exponent's field is twice the number.
    a = np.random.default_rng(2).standard_normal(16).astype(np.float32)
    out = torch.from_numpy(np.zeros(16, np.float32))
    from_bits_kernel[(1,)](out, torch.from_numpy(a), N=16)
    assert np.array_equal(out.numpy(), 2 * a)


@triton.jit
def wrong_bits_kernel(out, x):
    tl.store(out, tl.load(x).to(tl.int16, bitcast=True))


def test_bits_of_another_size_are_refused(torch):
    with pytest.raises(ValueError, match="bitcast of fp32 to int16: their sizes differ"):
        wrong_bits_kernel[(1,)](torch.zeros((1,), "i16"), torch.ones((1,), "f32"))


@triton.jit
def count_kernel(bins, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(bins + tl.load(x + i, mask=i < n), 1, mask=i < n)


def test_an_atomic_over_many_lanes_is_one_command(torch):
    # 300 numbers of 5 kinds in 3 programs: lanes on one place all count; each program has one read and one write of the bins.
    numbers = np.random.default_rng(3).integers(0, 5, 300).astype(np.int32)
    bins = torch.from_numpy(np.zeros(5, np.int32))
    launch = count_kernel[(3,)](bins, torch.from_numpy(numbers), 300, BLOCK=128)
    assert np.array_equal(bins.numpy(), np.bincount(numbers, minlength=5))
    assert not torch.hazards()
    assert [(c.strided, c.scattered) for c in launch.transfers.values()] == [(3, 3)]  # the loads, the atomics
    assert list(torch.log().column("kind")).count("dma_write") == 3


@triton.jit
def extreme_kernel(most, least, mixed, x, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.atomic_max(most + i % 2, v)
    tl.atomic_min(least + i % 2, v)
    tl.atomic_xor(mixed + i % 2, v)


def test_atomics_of_each_kind(torch):
    a = np.array([5, -3, 9, 4, -7, 8, 1, 2], np.int32)
    most, least, mixed = (torch.from_numpy(np.full(2, n, np.int32)) for n in (6, 0, 0))
    extreme_kernel[(1,)](most, least, mixed, torch.from_numpy(a), N=8)
    assert list(most.numpy()) == [9, 8] and list(least.numpy()) == [-7, -3]
    assert list(mixed.numpy()) == [5 ^ 9 ^ -7 ^ 1, -3 ^ 4 ^ 8 ^ 2]


def bits_of(function):
    return np.vectorize(lambda n: function(int(n) & 0xFFFFFFFF))


UNIT = np.linspace(-0.95, 0.95, 32).astype(np.float32)
WIDE = np.linspace(-6, 6, 32).astype(np.float32)
POSITIVE = np.linspace(0.05, 9, 32).astype(np.float32)
FUNCTIONS = {
    "atan": (WIDE, np.arctan), "asin": (UNIT, np.arcsin), "acos": (UNIT, np.arccos), "asinh": (WIDE, np.arcsinh),
    "acosh": (POSITIVE + 1, np.arccosh), "atanh": (UNIT, np.arctanh), "sinh": (WIDE, np.sinh), "cosh": (WIDE, np.cosh),
    "tan": (UNIT, np.tan), "tanh": (WIDE, np.tanh), "exp10": (UNIT, lambda x: 10.0 ** x), "log10": (POSITIVE, np.log10),
    "log1p": (POSITIVE, np.log1p), "expm1": (UNIT, np.expm1), "cbrt": (WIDE, np.cbrt), "rint": (WIDE, np.rint),
    "sinpi": (UNIT, lambda x: np.sin(np.pi * x)), "cospi": (UNIT, lambda x: np.cos(np.pi * x)),
    "normcdf": (UNIT, np.vectorize(lambda x: 0.5 * math.erfc(-x / 2 ** 0.5))), "erfc": (UNIT, np.vectorize(math.erfc)),
    "saturatef": (WIDE, lambda x: np.clip(x, 0, 1)), "logb": (POSITIVE, lambda x: np.floor(np.log2(x))),
    "trunc": (WIDE, np.trunc), "relu": (WIDE, lambda x: np.maximum(x, 0)), "rcbrt": (POSITIVE, lambda x: 1 / np.cbrt(x)),
    "rsqrt": (POSITIVE, lambda x: 1 / np.sqrt(x)), "rcp_rn": (POSITIVE, lambda x: 1 / x),
}


@triton.jit
def function_kernel(out, x, FN: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, FN(tl.load(x + i)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_libdevice(torch, name):
    x, reference = FUNCTIONS[name]
    out = torch.from_numpy(np.zeros(32, np.float32))
    function_kernel[(1,)](out, torch.from_numpy(x), FN=getattr(libdevice, name), N=32)
    assert np.allclose(out.numpy(), reference(x.astype(np.float64)), rtol=2e-5, atol=2e-6)


def test_the_inverse_of_erf(torch):
    out = torch.from_numpy(np.zeros(32, np.float32))
    function_kernel[(1,)](out, torch.from_numpy(UNIT), FN=libdevice.erfinv, N=32)
    assert np.allclose(np.vectorize(math.erf)(out.numpy().astype(np.float64)), UNIT, atol=1e-5)


@pytest.mark.parametrize("name, reference", [
    ("popc", bits_of(lambda n: bin(n).count("1"))), ("clz", bits_of(lambda n: 32 - n.bit_length())),
    ("ffs", bits_of(lambda n: (n & -n).bit_length()))])
def test_counting_bits(torch, name, reference):
    numbers = np.array([0, 1, 2, 3, 8, 255, -1, -8, 1 << 30, 12345, -12345, 7, 6, 96, 1 << 16, 5], np.int32)
    out = torch.from_numpy(np.zeros(16, np.int32))
    function_kernel[(1,)](out, torch.from_numpy(numbers), FN=getattr(libdevice, name), N=16)
    assert list(out.numpy()) == list(reference(numbers))


def test_a_function_without_an_operation_is_refused(torch):
    with pytest.raises(NotImplementedError, match="libdevice.lgamma: this vector unit has no operation for it"):
        function_kernel[(1,)](torch.zeros((8,), "f32"), torch.zeros((8,), "f32"), FN=libdevice.lgamma, N=8)
    assert not hasattr(libdevice, "no_such_function")


@triton.jit
def axes_kernel(out, x, index, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, tl.sort(v))
    tl.store(out + N + i, tl.flip(v))
    tl.store(out + 2 * N + i, tl.gather(v, tl.load(index + i), 0))
    tl.store(out + 3 * N + i, tl.cumsum(v, 0))
    tl.store(out + 4 * N + i, tl.cumprod(v, 0, reverse=True))
    tl.store(out + 5 * N + i, tl.sort(v, descending=True))
    tl.store(out + 6 * N + tl.arange(0, 4), tl.topk(v, 4))


def test_sorting_turning_gathering_and_summing_up_computed_values(torch):
    rng = np.random.default_rng(4)
    a, at = rng.standard_normal(16).astype(np.float32), rng.permutation(16).astype(np.int32)
    out = torch.from_numpy(np.zeros(7 * 16, np.float32))
    axes_kernel[(1,)](out, torch.from_numpy(a), torch.from_numpy(at), N=16)
    got = out.numpy().reshape(7, 16)
    assert np.array_equal(got[0], np.sort(a)) and np.array_equal(got[1], a[::-1]) and np.array_equal(got[2], a[at])
    assert np.allclose(got[3], np.cumsum(a), atol=1e-5) and np.allclose(got[4], np.cumprod(a[::-1])[::-1], rtol=1e-4, atol=1e-7)
    assert np.array_equal(got[5], np.sort(a)[::-1]) and np.array_equal(got[6][:4], np.sort(a)[::-1][:4])


@triton.jit
def counted_kernel(out, x, n, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i).to(tl.int32)
    tl.store(out + tl.arange(0, 4), tl.histogram(v, 4))
    tl.store(out + 4 + tl.arange(0, 4), tl.histogram(v, 4, mask=i < n))
    tl.store(out + 8, tl.xor_sum(v, 0))


def test_counting_computed_values(torch):
    a = np.array([0, 1, 3, 3, 2, 1, 7, 0], np.float32)
    out = torch.from_numpy(np.zeros(9, np.int32))
    counted_kernel[(1,)](out, torch.from_numpy(a), 4, N=8)
    assert list(out.numpy()) == [2, 2, 1, 2, 1, 1, 0, 2, 0 ^ 1 ^ 3 ^ 3 ^ 2 ^ 1 ^ 7 ^ 0]


@triton.jit
def swizzle_kernel(out, M: tl.constexpr, N: tl.constexpr, G: tl.constexpr):
    i, j = tl.swizzle2d(tl.program_id(0), tl.program_id(1), M, N, G)
    tl.store(out + tl.program_id(0) * N + tl.program_id(1), i * N + j)


def test_swizzle2d_goes_through_groups_of_rows_column_by_column(torch):
    out = torch.from_numpy(np.zeros(12, np.int32))
    swizzle_kernel[(3, 4)](out, M=3, N=4, G=2)
    # Rows 0 and 1 column by column, then row 2.
    assert list(out.numpy()) == [0, 4, 1, 5, 2, 6, 3, 7, 8, 9, 10, 11]


@triton.jit
def old_dot_kernel(out, a, b, N: tl.constexpr):
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + i, tl.dot(tl.load(a + i), tl.load(b + i), trans_b=True))


def test_dot_transposes_as_it_did_in_triton_2(torch):
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal((16, 16)).astype(np.float16) for _ in range(2))
    out = torch.from_numpy(np.zeros((16, 16), np.float32))
    old_dot_kernel[(1,)](out, torch.from_numpy(a), torch.from_numpy(b), N=16)
    assert np.allclose(out.numpy(), a.astype(np.float32) @ b.astype(np.float32).T, rtol=1e-3, atol=1e-3)


@triton.jit
def other_block_kernel(out, x, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=i * 10.0))
    tl.store(out + N + i, tl.load(x + i, mask=i < n, other=tl.full([1], 3.0, tl.float32)))


def test_lanes_that_are_off_take_the_elements_of_other(torch):
    out = torch.from_numpy(np.zeros(8, np.float32))
    other_block_kernel[(1,)](out, torch.from_numpy(np.ones(4, np.float32)), 2, N=4)
    assert list(out.numpy()) == [1, 1, 20, 30, 1, 1, 3, 3]


def doubled_blocks(nargs):
    nargs["source"].block_shape = nargs["target"].block_shape = [4, nargs["WIDTH"]]


@triton.autotune(configs=[triton.Config({"WIDTH": w}, pre_hook=doubled_blocks) for w in (4, 8)], key=[])
@triton.jit
def descriptor_kernel(source, target, WIDTH: tl.constexpr):
    row, column = tl.program_id(0) * 4, tl.program_id(1) * WIDTH
    target.store([row, column], source.load([row, column]) + 1)


def test_descriptors_that_the_host_makes(torch):
    a = np.arange(6 * 8, dtype=np.float32).reshape(6, 8)
    x, y = torch.from_numpy(a), torch.from_numpy(np.zeros_like(a))
    source, target = (TensorDescriptor.from_tensor(t, [1, 1]) for t in (x, y))
    descriptor_kernel[lambda meta: (2, 8 // meta["WIDTH"])](source, target)
    assert np.array_equal(y.numpy(), a + 1)


@triton.jit
def two_programs_kernel(out, x, n):
    i = tl.program_id(0) * 4 + tl.arange(0, 4)
    lengths = tl.load(x + i, mask=i < n, other=-1)
    tl.store(out + i, lengths, mask=i < n)
    tl.store(out + 8 + i, lengths)
    tl.atomic_add(out + i, 1, mask=i < n)


@pytest.mark.parametrize("n", [0, 3, 4])
def test_a_program_whose_lanes_are_all_off_reads_and_writes_nothing(torch, n):
    out = torch.from_numpy(np.zeros(16, np.int32))
    two_programs_kernel[(2,)](out, torch.from_numpy(np.arange(8, dtype=np.int32)), n)
    inside = [i + 1 if i < n else 0 for i in range(8)]
    assert list(out.numpy()) == inside + [i if i < n else -1 for i in range(8)]


@triton.jit
def reloaded_kernel(out, x, f, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, i * 10, mask=i % 2 == 0)
    tl.store(x + 1, 7)
    tl.store(out + i, tl.load(x + i))
    if tl.load(x + 1) == 7 and tl.load(x + 2) == 20:
        tl.store(out + N, 1)
    tl.store(x + N - 1, tl.load(f).to(tl.int32))
    tl.store(out + N + 1, tl.load(x + N - 1))


def test_a_program_reads_back_the_integers_that_it_stored(torch):
    x, f = torch.from_numpy(np.arange(1, 9, dtype=np.int32)), torch.from_numpy(np.array([3.7], np.float32))
    out = torch.from_numpy(np.zeros(10, np.int32))
    reloaded_kernel[(1,)](out, x, f, N=8)
    assert list(out.numpy()) == [0, 7, 20, 4, 40, 6, 60, 8, 1, 3]


@triton.jit
def reloaded_in_parts_kernel(out, x):
    tl.store(x, 0x10002)
    tl.store(out, tl.load(x.to(tl.pointer_type(tl.int16)) + 1))


def test_parts_of_an_own_integer_are_refused(torch):
    x, out = torch.from_numpy(np.zeros(1, np.int32)), torch.from_numpy(np.zeros(1, np.int16))
    with pytest.raises(triton.TritonError, match="in elements of another size"):
        reloaded_in_parts_kernel[(1,)](out, x)


@triton.jit
def fma_kernel(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    one = (i * 0 + 1).to(tl.float32)
    above = one + 2.0**-12
    tl.store(out + i, tl.fma(above, above, -one))
    tl.store(out + N + i, tl.fma(tl.load(x + i), above, -one))
    tl.store(out + 2 * N + i, tl.fma(i, i + 1, 0x7FFFFFFF).to(tl.float32))


def test_fma_rounds_once_also_where_its_operands_are_known(torch):
    # (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24, which float32 rounds to 1 + 2^-11: in two steps the last term is lost.
    x = np.full(4, 1 + 2.0**-12, np.float32)
    out = torch.from_numpy(np.zeros(12, np.float32))
    fma_kernel[(1,)](out, torch.from_numpy(x), N=4)
    wrapped = [float(np.float32((i * (i + 1) + 2**31 - 1 + 2**31) % 2**32 - 2**31)) for i in range(4)]
    assert list(out.numpy()) == [2.0**-11 + 2.0**-24] * 8 + wrapped
