"""The line of an error is the kernel's own, after `and`, `or`, `not` … were rewritten; so are the lines of what is recorded."""
import textwrap

import numpy as np
import pytest

import kernbench as kb
from kernbench import triton
import kernbench.triton.language as tl
from kernbench.triton import jit

HERE = __file__.rsplit("/", 1)[-1]
NOWHERE = 1 << 40  # an offset that leads out of every tensor


@pytest.fixture
def torch():
    with kb.Torch("small") as torch:
        yield torch


def line_of(kernel, text="# here"):
    code = kernel.fn.__code__
    with open(code.co_filename) as file:
        lines = file.read().splitlines()
    return next(i for i in range(code.co_firstlineno, len(lines) + 1) if text in lines[i - 1])


@triton.jit
def double(x):
    return x + x


@triton.jit
def far(x):
    return tl.load(x + NOWHERE)  # inside far


@triton.jit
def both(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    i = tl.arange(0, 4)
    mask = (i >= 0
            and i < n
            and i != 3)
    tl.store(out + i + NOWHERE, i, mask=mask)  # here


@triton.jit
def second_operand(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    i = tl.arange(0, 4)
    mask = (i >= 0
            and i < tl.load(out + NOWHERE)  # here
            and i != 3)
    tl.store(out + i, i, mask=mask)


@triton.jit
def either(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    i = tl.arange(0, 4)
    mask = (i == 0 or
            i == n)
    tl.store(out + i + NOWHERE, i, mask=mask)  # here


@triton.jit
def negation(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    i = tl.arange(0, 4)
    mask = not (
        i < n
    )
    tl.store(out + i + NOWHERE, i, mask=mask)  # here


@triton.jit
def constant_arithmetic(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    WIDTH: tl.constexpr = (4 if n > 0
                           else 8)
    HALF: tl.constexpr = WIDTH // 2 + min(WIDTH,
                                          0)
    tl.store(out + NOWHERE, HALF)  # here


@triton.jit
def helper_as_constexpr(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    x = FN(
        n)
    tl.store(out + NOWHERE, x)  # here


@triton.jit
def inside_a_helper(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    x = n > 0 and n < 100
    tl.store(out, far(out) + x)  # here


@triton.jit
def early_return(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    if n < 0 or n > 100:
        return
    tl.store(out + NOWHERE, n)  # here


@triton.jit
def loop(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    k = 0
    while k < 8 and not k > n:
        k += 1
    tl.store(out + k + NOWHERE, k)  # here


@triton.jit
def inside_a_loop(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    for k in range(4):
        while (k == 2
               and n >= 0):
            tl.store(out + NOWHERE, k)  # here


@triton.jit
def tuples(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    a, (b, c) = n, (n + 1,
                    n + 2)
    tl.store(out + NOWHERE, a + b + c)  # here


@triton.jit
def is_none(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    x = n if NONE is None else NONE
    if NONE is not None and NONE > 0:
        x = 0
    tl.store(out + NOWHERE, x)  # here


@triton.jit
def type_comparison(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    if (out.dtype.element_ty == tl.int32
            and DTYPE != tl.float16):
        tl.store(out + NOWHERE, n)  # here


@triton.jit
def element_types(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    x = n.to(DTYPE)
    y = x.to(out.dtype.element_ty) if x.dtype.is_floating() else x
    tl.store(out + NOWHERE, y)  # here


@triton.jit
def bits(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    x = n.to(tl.float32).to(
        tl.int32, bitcast=True)
    tl.store(out + NOWHERE, x)  # here


@triton.jit
def wrong_bits(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    x = 1 if n > 0 else 2
    tl.store(out, n.to(tl.int16, bitcast=True) + x)  # here


@triton.jit
def negative_division(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    x = (-n // 2
         + -n % 2)
    tl.store(out + x + NOWHERE, x)  # here


@triton.jit
def division_by_nothing(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    x = (n if n > 0
         else -n)
    tl.store(out, x // (n - n))  # here


@triton.jit
def chained_comparison(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    i = tl.arange(0, 4)
    inside = (0 <= i
              < n)
    tl.store(out + i + NOWHERE, i, mask=inside)  # here


@triton.jit
def static_assertion(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
    assert n > 0 and n < 100, "fine"
    tl.static_assert(DTYPE == tl.float16,  # here
                     "not float16")


@triton.jit(
    do_not_specialize=["n"],
)
def decorated_over_lines(
        out,
        n,
        DTYPE: tl.constexpr,
        FN: tl.constexpr, NONE: tl.constexpr):
    x = n > 0 and n < 100
    tl.store(out + NOWHERE, x)  # here


def nested():
    closed = NOWHERE

    @triton.jit
    def inner(out, n, DTYPE: tl.constexpr, FN: tl.constexpr, NONE: tl.constexpr):
        i = tl.arange(0, 4)
# a comment that stands at the left
        text = """
not indented"""
        tl.store(out + i + closed, i, mask=i < n and i >= 0)  # here

    return inner


KERNELS = [both, second_operand, either, negation, constant_arithmetic, helper_as_constexpr, inside_a_helper, early_return, loop,
           inside_a_loop, tuples, is_none, type_comparison, element_types, bits, wrong_bits, negative_division, division_by_nothing,
           chained_comparison, static_assertion, decorated_over_lines, nested()]


@pytest.mark.parametrize("kernel", KERNELS, ids=[k.__name__ for k in KERNELS])
def test_an_error_has_the_kernels_line(torch, kernel):
    out = torch.from_numpy(np.zeros(8, np.int32))
    with pytest.raises(Exception) as error:
        kernel[(1,)](out, 3, DTYPE=tl.float32, FN=double, NONE=None)
    lines = [entry.lineno + 1 for entry in error.traceback if entry.path.name == HERE]  # pytest counts from 0
    assert lines[-1 if kernel is not inside_a_helper else -2] == line_of(kernel)
    if kernel is inside_a_helper:
        assert lines[-1] == line_of(far, "# inside far")
    if kernel not in (wrong_bits, division_by_nothing, static_assertion):
        assert f"{HERE}:{lines[-1]}: lane" in str(error.value) and "no tensor lies" in str(error.value)


@triton.jit
def recorded_lines_kernel(out, x, n):
    i = tl.arange(0, 8)
    inside = (i >= 0
              and i < n)
    v = tl.load(x + i, mask=inside)  # the load
    w = (v * 2 if n > 3
         else v)
    w = double(w)
    tl.store(out + i, w, mask=not (
        i >= n))  # the store's last line


def test_what_is_recorded_has_the_kernels_lines(torch):
    x, out = (torch.from_numpy(np.ones(8, np.float32)) for _ in range(2))
    launch = recorded_lines_kernel[(1,)](out, x, 5)
    out.numpy()
    first = line_of(recorded_lines_kernel, "the load")
    assert sorted(launch.transfers) == [f"{HERE}:{first}", f"{HERE}:{first + 4}"]
    log = torch.log()
    lines = set(zip(log.column("kind"), log.column("line")))
    assert {("dma_read", first), ("dma_write", first + 4), ("math", first + 1), ("math", line_of(double, "return x + x"))} <= lines


def test_lines_of_a_file_that_is_loaded(torch, tmp_path):
    file = tmp_path / "library.py"
    file.write_bytes(textwrap.dedent("""\
        import triton
        import triton.language as tl
        ünicode = 1  # before
        @triton.jit
        def kernel(out, n):
            i = tl.arange(0, 4)
            mask = i < n and \\
                i >= 0
            tl.store(out + i * 1000000, i, mask=mask)
        """).replace("\n", "\r\n").encode())
    with pytest.raises(ValueError, match=r"store at library.py:9: lane 1 of \[4\] is on"):
        triton.load(file, "kernel")[(1,)](torch.from_numpy(np.zeros(4, np.int32)), 3)


def test_a_function_without_source_runs_as_it_is(torch):
    space = {"tl": tl}
    exec("def kernel(out, n):\n    i = tl.arange(0, 4)\n    tl.store(out + i, i, mask=(i < n) & (i > 0))", space)
    out = torch.from_numpy(np.zeros(4, np.int32))
    jit(space["kernel"])[(1,)](out, 3)
    assert list(out.numpy()) == [0, 1, 2, 0]
