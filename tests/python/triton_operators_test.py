"""Every operator on every pair of element types, with random numbers, against Triton's rules as they are written down here.

The rules are those of Triton 3.6 (semantic.py): how two types are promoted, which pairs are refused, how integers wrap, divide
and shift, and in which type a reduction is made. Integers are computed here as Python's own, floats in float64 and rounded once.
Integers that a kernel loads are known while it is recorded, so each result is there twice, as the recording has it and as the
machine computes it; both are compared. Floats are loaded (computed by the machine alone) or made of integers (known).
"""
import itertools

import numpy as np
import pytest

import kernbench as kb
from kernbench import triton
import kernbench.triton.language as tl

N = 64
INTEGERS = {"int1": (False, 1), "int8": (True, 8), "int16": (True, 16), "int32": (True, 32), "int64": (True, 64),
            "uint8": (False, 8), "uint16": (False, 16), "uint32": (False, 32), "uint64": (False, 64)}
FLOATS = ["fp16", "bf16", "fp32"]
OF_NAME = {"fp16": tl.float16, "bf16": tl.bfloat16, "fp32": tl.float32, **{n: getattr(tl, n) for n in INTEGERS}}
TYPES = [*INTEGERS, *FLOATS]


@pytest.fixture
def torch():
    with kb.Torch("small") as torch:
        yield torch


# ── the rules ──

def wrapped(number, name):
    signed, bits = INTEGERS[name]
    number = int(number) & (1 << bits) - 1
    return number - (1 << bits) if signed and number >> (bits - 1) else number


def rounded(number, name):
    """A float of double precision to the nearest of the type."""
    if name == "fp64":
        return float(number)
    if name != "bf16":
        with np.errstate(over="ignore"):
            return float((np.float16 if name == "fp16" else np.float32)(number))
    bits = int(np.float32(number).view(np.uint32))
    if np.isnan(number):
        return float(number)
    return float(np.uint32((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32))


def converted(value, to):
    if to in INTEGERS:
        return int(value != 0) if to == "int1" else wrapped(int(value), to)
    return rounded(float(np.float32(value)) if isinstance(value, int) else value, to)  # whole numbers by way of float32


def promoted_integers(a, b):
    """The wider one; of one width, the unsigned one."""
    (a_signed, a_bits), (b_signed, b_bits) = INTEGERS[a], INTEGERS[b]
    if a_signed == b_signed:
        return a if a_bits > b_bits else b
    unsigned, signed = (b, a) if a_signed else (a, b)
    return unsigned if INTEGERS[unsigned][1] >= INTEGERS[signed][1] else signed


def promoted(a, b, divides=False):
    """None: the pair is refused."""
    if "fp32" in (a, b):
        return "fp32"
    if "fp16" in (a, b):
        return "fp32" if divides else "fp16"
    if "bf16" in (a, b):
        return "bf16" if a == b and not divides else "fp32"
    if divides and INTEGERS[a][0] != INTEGERS[b][0]:
        return None
    return promoted_integers(a, b)


def quotient(x, y):
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


INTEGER_ONLY = {"//", "&", "|", "^", "<<", ">>"}
COMPARISONS = {"==": lambda x, y: x == y, "!=": lambda x, y: x != y, "<": lambda x, y: x < y, "<=": lambda x, y: x <= y,
               ">": lambda x, y: x > y, ">=": lambda x, y: x >= y}
PLAIN = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "&": lambda x, y: x & y, "|": lambda x, y: x | y,
         "^": lambda x, y: x ^ y, "//": quotient, "maximum": max, "minimum": min}


def expected(op, a, b, xs, ys):
    """The type of the result and its numbers; None if the operation is refused."""
    if op in INTEGER_ONLY and not (a in INTEGERS and b in INTEGERS):
        return None
    if op in ("<<", ">>") and promoted(a, b) == "int1":
        return None
    if op in ("maximum", "minimum"):
        a, b = ("fp32" if t == "bf16" else t for t in (a, b))
    type = promoted(a, b, op in ("/", "//", "%"))
    if type is None:
        return None
    xs, ys = [converted(x, type) for x in xs], [converted(y, type) for y in ys]
    if op in COMPARISONS:
        return "int1", [int(COMPARISONS[op](x, y)) for x, y in zip(xs, ys)]
    if op == "/":
        if type in INTEGERS:
            type = "fp32"
            xs, ys = [converted(x, type) for x in xs], [converted(y, type) for y in ys]
        with np.errstate(all="ignore"):
            return type, [rounded(float(np.float64(x) / np.float64(y)), type) for x, y in zip(xs, ys)]
    if op == "%":
        of = (lambda x, y: x - quotient(x, y) * y) if type in INTEGERS else (lambda x, y: float(np.fmod(x, y)))
    elif op == "<<":
        of = lambda x, y: x << y
    elif op == ">>":
        # By the sign of the tensor that is shifted: its bits in the common type, with its own top bit coming in.
        bits, keeps_sign = INTEGERS[type][1], INTEGERS[a][0]
        of = lambda x, y: ((x & (1 << bits) - 1) - (1 << bits if keeps_sign and x >> (bits - 1) & 1 else 0)) >> y
    elif op == "where":
        return type, [x if i % 3 else y for i, (x, y) in enumerate(zip(xs, ys))]
    else:
        of = PLAIN[op]
    numbers = [of(x, y) for x, y in zip(xs, ys)]
    return type, [wrapped(n, type) if type in INTEGERS else rounded(n, type) for n in numbers]


OPERATORS = {op: eval(f"lambda x, y: x {op} y") for op in ("+ - * / // % & | ^ << >> == != < <= > >=").split()}
OPERATORS |= {"maximum": tl.maximum, "minimum": tl.minimum, "where": lambda x, y: tl.where(tl.arange(0, N) % 3 != 0, x, y)}


# ── numbers and kernels ──

def random_numbers(rng, name, op=None, divisor=False):
    if name in INTEGERS:
        signed, bits = INTEGERS[name]
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        few = rng.random(N) < 0.5  # half of them small
        values = [int(rng.integers(max(low, -9), min(high, 9) + 1)) if f else int(rng.integers(low, high, dtype=np.int64 if signed else np.uint64,
                                                                                              endpoint=True)) for f in few]
        if divisor and op in ("/", "//", "%"):
            return [v if v not in (0, -1) else 1 for v in values]
        return [abs(v) % 5 for v in values] if divisor and op in ("<<", ">>") and name != "int1" else values
    values = np.round(rng.standard_normal(N) * 40) / 4
    return [float(v) if v or not divisor else 1.0 for v in values]


NUMPY = {"int1": np.bool_, "fp16": np.float16, "bf16": np.float32, "fp32": np.float32, **{n: np.dtype(n) for n in INTEGERS if n != "int1"}}


def tensor_of(torch, values, name, known):
    if name in FLOATS and known:
        return torch.from_numpy(np.array([int(v * 4) for v in values], np.int32))
    return torch.from_numpy(np.array(values, NUMPY[name]))


@triton.jit
def operand(pointer, TYPE: tl.constexpr, N: tl.constexpr):
    x = tl.load(pointer + tl.arange(0, N))
    if TYPE.is_floating() and x.dtype.is_int():
        x = x * 0.25
    return x.to(TYPE)


@triton.jit
def kept(out, r, REPORT: tl.constexpr):
    """Stores whatever came out, and tells the test the type and what was known."""
    REPORT(r)
    type: tl.constexpr = out.dtype.element_ty
    tl.store(out + tl.arange(0, r.numel), tl.reshape(r.to(type), [r.numel]))


@triton.jit
def pair_kernel(out, x, y, FN: tl.constexpr, A: tl.constexpr, B: tl.constexpr, REPORT: tl.constexpr, N: tl.constexpr):
    kept(out, FN(operand(x, A, N), operand(y, B, N)), REPORT)


@triton.jit
def single_kernel(out, x, FN: tl.constexpr, A: tl.constexpr, REPORT: tl.constexpr, N: tl.constexpr):
    kept(out, FN(operand(x, A, N)), REPORT)


def ran(torch, kernel, count, type, *args, **meta):
    """The type of the result, the machine's numbers, and what was known of them."""
    seen = []
    exact = "int8" if type == "int1" else "fp32" if type in FLOATS else type
    out = torch.from_numpy(np.zeros(count, NUMPY[exact]))
    kernel[(1,)](out, *args, REPORT=seen.append, N=N, **meta)
    r = seen[0]
    return str(r.dtype), out.numpy().tolist(), None if not r.known else np.asarray(r.data).reshape(-1).tolist()


def same(got, want):
    return len(got) == len(want) and all(g == w or (g != g and w != w) for g, w in zip(got, want))


def check(what, result, type, numbers):
    got_type, computed, known = result
    assert got_type == type, f"{what}: {got_type}, not {type}"
    for how, got in (("computed", computed), ("known", known)):
        wrong = None if got is None or same(got, numbers) else next(i for i, (g, w) in enumerate(zip(got, numbers)) if not same([g], [w]))
        assert wrong is None, f"{what}: element {wrong}, {how}, is {got[wrong]}, not {numbers[wrong]}"


@pytest.mark.parametrize("op", OPERATORS)
def test_operator_follows_the_rules_for_every_pair_of_types(torch, op):
    for number, (a, b) in enumerate(itertools.product(TYPES, TYPES)):
        rng = np.random.default_rng([number, *op.encode()])
        for known in ([False, True] if a in FLOATS or b in FLOATS else [False]):
            xs, ys = random_numbers(rng, a, op), random_numbers(rng, b, op, divisor=True)
            if op in ("<<", ">>") and a == "int1" and b in INTEGERS and b != "int1":
                ys = [y % INTEGERS[b][1] for y in ys]
            if op == "%" and (a in FLOATS) != (b in FLOATS):
                xs, ys = [x % 50 for x in xs], [y % 7 + 1 if b != "int1" else 1 for y in ys]  # the remainder of a large quotient has no digits left
            want = expected(op, a, b, xs, ys)
            args = tensor_of(torch, xs, a, known), tensor_of(torch, ys, b, known)
            meta = dict(FN=OPERATORS[op], A=OF_NAME[a], B=OF_NAME[b])
            if want is None:
                with pytest.raises((TypeError, ValueError)) as e:
                    ran(torch, pair_kernel, N, "fp32", *args, **meta)
                assert isinstance(e.value, triton.TritonError)
            else:
                check(f"{a} {op} {b}", ran(torch, pair_kernel, N, want[0], *args, **meta), *want)


NUMBERS = [3, 2.5, True, 100]


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "//", "%", "&", ">>", "<", "where"])
def test_number_beside_a_tensor_takes_its_type_unless_it_is_of_a_higher_kind(torch, op):
    for number, (a, n) in enumerate(itertools.product([t for t in TYPES if t != "int1"], NUMBERS)):
        rng = np.random.default_rng([number, *op.encode()])
        xs = random_numbers(rng, a, op)
        own = "int1" if n is True else "int32" if isinstance(n, int) else "fp32"
        kinds = {t: 0 if t == "int1" else 1 if t in INTEGERS else 2 for t in TYPES}
        other = a if kinds[own] <= kinds[a] and op != "<" else own
        if (other in INTEGERS) != (own in INTEGERS) and op in ("&", ">>", "//"):
            continue  # refused, as the pair of tensors is
        if op == ">>" and n > 5:
            continue
        if op == "%" and n == 2.5 and a in INTEGERS:
            xs = [x % 50 for x in xs]
        n_value = int(n) if own in INTEGERS else n
        want = expected(op, a, other, xs, [n_value] * N)
        args = [tensor_of(torch, xs, a, False)]
        meta = dict(FN=lambda x: OPERATORS[op](x, n), A=OF_NAME[a])
        if want is None:
            with pytest.raises(triton.TritonError):
                ran(torch, single_kernel, N, "fp32", *args, **meta)
        else:
            check(f"{a} {op} {n}", ran(torch, single_kernel, N, want[0], *args, **meta), *want)


@pytest.mark.parametrize("op", ["-", "~", "abs"])
def test_operator_of_one_follows_the_rules_for_every_type(torch, op):
    of = {"-": lambda x: -x, "~": lambda x: ~x, "abs": tl.abs}[op]
    plain = {"-": lambda x: -x, "~": lambda x: ~x, "abs": abs}[op]
    for number, a in enumerate(TYPES):
        xs = random_numbers(np.random.default_rng(number), a)
        xs[0] = wrapped(1 << INTEGERS[a][1] - 1, a) if a in INTEGERS else xs[0]  # the least of a signed type
        args = [tensor_of(torch, xs, a, False)]
        if op == "~" and a in FLOATS:
            with pytest.raises(triton.TritonError):
                ran(torch, single_kernel, N, a, *args, FN=of, A=OF_NAME[a])
            continue
        want = [wrapped(plain(x), a) if a in INTEGERS else plain(x) for x in xs]
        check(f"{op} {a}", ran(torch, single_kernel, N, a, *args, FN=of, A=OF_NAME[a]), a, want)


def test_cast_follows_the_rules_for_every_pair_of_types(torch):
    for number, (a, b) in enumerate(itertools.product(TYPES, TYPES)):
        xs = random_numbers(np.random.default_rng(number), a)
        if a in FLOATS and b in INTEGERS:
            xs = [min(abs(x), 100) for x in xs]  # what an integer type cannot hold has no defined value
        want = [converted(x, b) for x in xs]
        for known in ([False, True] if a in FLOATS else [False]):
            check(f"{a} to {b}", ran(torch, single_kernel, N, b, tensor_of(torch, xs, a, known), FN=lambda x: x.to(OF_NAME[b]), A=OF_NAME[a]),
                  b, want)


# ── along axes ──

SHAPE = (2, 4, 8)
AXES = [None, 0, 1, 2, -1]


def summed_type(name, asked=None):
    if asked is not None or name in FLOATS or INTEGERS[name][1] >= 32:
        return asked or name
    return "int32" if INTEGERS[name][0] else "uint32"


def along(xs, axis, of):
    """`of` applied to each row along the axis."""
    array = np.array(xs, object).reshape(SHAPE if axis is not None else -1)
    return [of(list(row)) for row in np.moveaxis(array, 0 if axis is None else axis, -1).reshape(-1, array.shape[0 if axis is None else axis])]


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("asked", [None, "int1", "int8", "int64", "fp32"])
def test_sum_is_made_in_the_type_that_triton_picks(torch, axis, asked):
    for number, a in enumerate(TYPES):
        type = summed_type(a, asked)
        xs = random_numbers(np.random.default_rng(number), a)
        xs = [abs(round(x)) % 3 for x in xs] if a in FLOATS or type in FLOATS else xs
        if asked == "fp32":
            xs = [int(x) % 2 if a in INTEGERS else x for x in xs]
        xs = [float(x) for x in xs] if a in FLOATS else xs
        row = lambda r: (wrapped(sum(converted(x, type) for x in r), type) if type in INTEGERS else float(sum(r)))
        want = along(xs, axis, row)
        for keep_dims in (False, True):
            fn = lambda x: tl.sum(tl.reshape(x, SHAPE), axis, keep_dims=keep_dims, dtype=None if asked is None else OF_NAME[asked])
            result = ran(torch, single_kernel, len(want), type, tensor_of(torch, xs, a, False), FN=fn, A=OF_NAME[a])
            check(f"sum of {a} as {asked} over {axis}", result, type, want)


def best(row, sign, nan_wins):
    """The first largest, by sign; its place."""
    nan = [i for i, x in enumerate(row) if x != x]
    if nan and (nan_wins or len(nan) == len(row)):
        return nan[0]
    return max((i for i in range(len(row)) if row[i] == row[i]), key=lambda i: (sign * row[i], -i))


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("nan_wins", [False, True])
def test_extremes_pass_over_nan_unless_told_to_propagate_them(torch, axis, nan_wins):
    propagate = tl.PropagateNan.ALL if nan_wins else tl.PropagateNan.NONE
    for number, (a, sign) in enumerate(itertools.product(TYPES, (1, -1))):
        rng = np.random.default_rng(number)
        xs = random_numbers(rng, a)
        if a in FLOATS:
            xs = [float("nan") if rng.random() < 0.3 else x for x in xs]
            xs[:8] = [float("nan")] * 8  # a row of nothing else
        wide = a if a in INTEGERS and INTEGERS[a][1] >= 32 else "int32" if a in INTEGERS else "fp32"
        fn = tl.max if sign > 0 else tl.min
        args = [tensor_of(torch, xs, a, False)]
        values = [wrapped(x, wide) if a in INTEGERS else x for x in along(xs, axis, lambda r: r[best(r, sign, nan_wins)])]
        result = ran(torch, single_kernel, len(values), wide, *args, A=OF_NAME[a],
                     FN=lambda x: fn(tl.reshape(x, SHAPE), axis, propagate_nan=propagate))
        check(f"extreme of {a} over {axis}", result, wide, values)
        if axis is None:
            continue
        places = along(xs, axis, lambda r: best(r, sign, nan_wins))
        result = ran(torch, single_kernel, len(places), "int32", *args, A=OF_NAME[a],
                     FN=lambda x: fn(tl.reshape(x, SHAPE), axis, return_indices=True, propagate_nan=propagate)[1])
        check(f"place in {a} over {axis}", result, "int32", places)


def test_maximum_and_minimum_pass_over_nan_unless_told_to_propagate_them(torch):
    nan = float("nan")
    for a in FLOATS:
        xs, ys = [nan, nan, 1.0, 2.0] * 16, [nan, 3.0, nan, -1.0] * 16
        args = tensor_of(torch, xs, a, False), tensor_of(torch, ys, a, False)
        for fn, numbers in ((tl.maximum, [nan, 3.0, 1.0, 2.0]), (tl.minimum, [nan, 3.0, 1.0, -1.0])):
            type = "fp32" if a == "bf16" else a
            meta = dict(A=OF_NAME[a], B=OF_NAME[a])
            check("numbers win", ran(torch, pair_kernel, N, type, *args, FN=fn, **meta), type, numbers * 16)
            all_nan = lambda x, y: fn(x, y, propagate_nan=tl.PropagateNan.ALL)
            check("NaN wins", ran(torch, pair_kernel, N, type, *args, FN=all_nan, **meta), type, [nan, nan, nan, numbers[3]] * 16)
        clamped = [-1.0, 2.0, 1.0, 2.0]
        check("clamp", ran(torch, single_kernel, 4 * 16, "fp32", tensor_of(torch, [nan, 5.0, 1.0, 2.0] * 16, a, False), A=OF_NAME[a],
                           FN=lambda x: tl.clamp(x.to(tl.float32), -1.0, 2.0)), "fp32", clamped * 16)


@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums_are_made_in_the_type_that_triton_picks(torch, reverse):
    for number, a in enumerate(INTEGERS):
        xs = random_numbers(np.random.default_rng(number), a)
        type = summed_type(a)
        turned = xs[::-1] if reverse else xs
        want = [wrapped(sum(turned[:i + 1]), type) for i in range(N)]
        result = ran(torch, single_kernel, N, type, tensor_of(torch, xs, a, False), FN=lambda x: tl.cumsum(x, 0, reverse=reverse), A=OF_NAME[a])
        check(f"cumsum of {a}", result, type, want[::-1] if reverse else want)


def test_expand_dims_takes_each_axis_of_the_result_once_and_no_other(torch):
    def shape_of(axes):
        found = []
        ran(torch, single_kernel, N, "int32", tensor_of(torch, [0] * N, "int32", False), A=tl.int32,
            FN=lambda x: [found.append(tl.expand_dims(tl.reshape(x, SHAPE), axes).shape), x][1])
        return found[0]

    for count in (1, 2, 3):
        rank = len(SHAPE) + count
        for axes in itertools.product(range(-rank - 1, rank + 1), repeat=count):
            places = {a % rank for a in axes}
            if len(places) == count and all(-rank <= a < rank for a in axes):
                extents = iter(SHAPE)
                want = tuple(1 if i in places else next(extents) for i in range(rank))
                assert shape_of(axes) == want and (count > 1 or shape_of(axes[0]) == want), axes
            elif count < 3 or hash(axes) % 16 == 0:
                with pytest.raises(triton.TritonError, match="expand_dims of"):
                    shape_of(axes)
