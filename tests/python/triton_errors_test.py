"""What errors of Triton kernels say: the line, the program, the parameter, what is wrong, and what was probably meant."""
import inspect
import warnings

import numpy as np
import pytest

import kernbench as kb
from kernbench import triton
import kernbench.triton.language as tl


@pytest.fixture
def torch():
    with kb.Torch("small", hazards=True) as torch:
        yield torch


def first_line(kernel):
    """That of the kernel's first statement."""
    lines, first = inspect.getsourcelines(kernel.fn)
    return f"triton_errors_test.py:{first + next(i for i, line in enumerate(lines) if line.startswith('def')) + 1}"


@triton.jit
def misspelled_kernel(x_ptr, n):
    tl.store(x_ptr + tl.arrange(0, 4), n)


@triton.jit
def misspelled_method_kernel(x_ptr, n):
    tl.store(x_ptr, tl.arange(0, 4).summ())


@triton.jit
def misspelled_math_kernel(x_ptr, n):
    tl.store(x_ptr, tl.math.sqroot(1.0))


@triton.jit
def misspelled_name_kernel(x_ptr, n_rows):
    tl.store(x_ptr, n_row)  # noqa: F821


@triton.jit
def constant_kernel(x_ptr, N: tl.constexpr):
    tl.store(x_ptr, N.to(tl.int64))


@triton.jit
def keyword_kernel(x_ptr, n):
    tl.store(x_ptr, n, masc=True)


@triton.jit
def load_keyword_kernel(x_ptr, n):
    tl.store(x_ptr, tl.load(x_ptr, maks=None))


@triton.jit
def atomic_keyword_kernel(x_ptr, n):
    tl.atomic_add(x_ptr, 1.0, maks=None)


@triton.jit
def method_keyword_kernel(x_ptr, n):
    tl.store(x_ptr, tl.arange(0, 4).sum(axsi=0))


@triton.jit
def cast_keyword_kernel(x_ptr, n):
    tl.store(x_ptr, tl.arange(0, 4).to(tl.float32, bitcats=True))


@triton.jit
def scaled(x, factor):
    return x * factor


@triton.jit
def helper_keyword_kernel(x_ptr, n):
    tl.store(x_ptr, scaled(n, factr=2))


@triton.jit
def shapes_kernel(x_ptr, n):
    tl.store(x_ptr, tl.sum(tl.arange(0, 4) + tl.arange(0, 8)))


@triton.jit
def order_kernel(x_ptr, n):
    tl.store(x_ptr, tl.sum(tl.permute(tl.zeros((4, 8), tl.float32), (0, 0))))


@triton.jit
def index_kernel(x_ptr, n):
    tl.store(x_ptr, (1, 2)[5])


@triton.jit
def key_kernel(x_ptr, n):
    tl.store(x_ptr, {"a": 1}["b"])


@triton.jit
def assertion_kernel(x_ptr, n):
    tl.static_assert(False, "the block is too small")


@triton.jit
def core_kernel(x_ptr, n):
    tl.store(x_ptr, tl.sum(tl.zeros((1 << 20, 64), tl.float32)))


@pytest.mark.parametrize("kernel, kind, text", [
    (misspelled_kernel, AttributeError, "triton.language has no 'arrange'; did you mean 'arange'"),
    (misspelled_method_kernel, AttributeError, "has no 'summ'; did you mean 'sum'"),
    (misspelled_math_kernel, AttributeError, "triton.language.math has no 'sqroot'"),
    (misspelled_name_kernel, NameError, "'n_row' is not defined; did you mean 'n_rows'"),
    (constant_kernel, AttributeError, "a constant has no 'to': 4 is a plain number"),
    (keyword_kernel, TypeError, r"store\(\) has no parameter 'masc'; did you mean 'mask'\?; it has pointer, value, mask, "),
    (load_keyword_kernel, TypeError, r"load\(\) has no parameter 'maks'; did you mean 'mask'\?"),
    (atomic_keyword_kernel, TypeError, r"atomic_add\(\) has no parameter 'maks'; did you mean 'mask'\?"),
    (method_keyword_kernel, TypeError, r"sum\(\) has no parameter 'axsi'; did you mean 'axis'\?"),
    (cast_keyword_kernel, TypeError, r"to\(\) has no parameter 'bitcats'; did you mean 'bitcast'\?; it has dtype, "),
    (helper_keyword_kernel, TypeError, r"scaled\(\) has no parameter 'factr'; did you mean 'factor'\?; it has x, factor "),
    (shapes_kernel, ValueError, r"blocks of shapes \[4\] and \[8\] do not broadcast"),
    (order_kernel, ValueError, r"an order of axes \[0, 0\] for a block of shape \[4, 8\]"),
    (index_kernel, IndexError, "index out of range"), (key_kernel, KeyError, "b"),
    (assertion_kernel, AssertionError, "the block is too small"), (core_kernel, Exception, "")])
def test_error_in_a_kernel_is_a_triton_error_with_line_and_program(torch, kernel, kind, text):
    x = torch.zeros((4,), "f32")
    with pytest.raises(kind, match=text) as e:
        kernel[(2,)](x, 4)
    assert isinstance(e.value, triton.TritonError)
    message = str(e.value).split("\n  hint: ")[0]
    assert first_line(kernel) in message and message.endswith(f"(program 0, 0, 0 of {kernel.__name__})")


@triton.jit
def filled_kernel(out_ptr, n):
    tl.store(out_ptr + tl.arange(0, 4), n)


@pytest.mark.parametrize("launch, text", [
    (lambda x: filled_kernel[(1,)](x, np.ones(3)), "filled_kernel: argument 'n' is a NumPy array"),
    (lambda x: filled_kernel[(1,)](np.ones(3), 1), "'out_ptr' is a NumPy array"),
    (lambda x: filled_kernel[(1,)](x, 2**64), "filled_kernel: argument 'n': the whole number 18446744073709551616 needs more than 64 bits"),
    (lambda x: filled_kernel[(1,)](x), "missing a required argument: 'n'"),
    (lambda x: filled_kernel[(1,)](x, 1, 2), "too many positional arguments"),
    (lambda x: filled_kernel[(1,)](x, 1, out_pt=2), "no parameter 'out_pt'; did you mean 'out_ptr'"),
    (lambda x: filled_kernel[lambda meta: (meta["BLOCK"],)](x, 1), "its grid: no argument or meta-parameter is called 'BLOCK'"),
    (lambda x: filled_kernel[(1.5,)](x, 1), "extents are whole numbers"),
    (lambda x: triton.heuristics({"n": lambda args: args["m"]})(filled_kernel)[(1,)](x), "the heuristic of n: no argument"),
    (lambda x: triton.autotune(configs=[], kye=["n"]), r"autotune\(\) has no parameter 'kye'; did you mean 'key'\?; it has configs, key, "),
    (lambda x: triton.autotune(configs=[]), r"autotune\(\): missing a required argument: 'key'"),
    (lambda x: triton.autotune(configs=[], key=["m"])(filled_kernel),
     "autotune of filled_kernel: key names 'm', which is no parameter; it has out_ptr, n"),
    (lambda x: triton.autotune(configs=[], key="n")(filled_kernel), r"key is 'n'; it must be a list of names of parameters, such as \['n'\]"),
    (lambda x: triton.heuristics(value={}), r"heuristics\(\) has no parameter 'value'; did you mean 'values'\?"),
    (lambda x: filled_kernel(x, 1), "launch it as filled_kernel"),
    (lambda x: tl.program_id(0), "work inside a @triton.jit kernel"),
    (lambda x: triton.jitt, "triton has no 'jitt'; did you mean 'jit'"),
    (lambda x: tl.arrange(0, 4), "did you mean 'arange'")])
def test_error_of_a_launch_is_a_triton_error(torch, launch, text):
    with pytest.raises(triton.TritonError, match=text):
        launch(torch.zeros((4,), "f32"))


def test_extent_in_the_place_of_a_dtype_is_explained(torch):
    with pytest.raises(TypeError, match=r"several extents are one tuple, as in zeros\(\(4, 4\), 'f32'\)"):
        torch.zeros(4, 4)


@triton.jit
def overlapping_kernel(dst_ptr, src_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * (BLOCK - 1) + tl.arange(0, BLOCK)
    tl.store(dst_ptr + i, tl.load(src_ptr + i, mask=i < n), mask=i < n)


def test_messages_call_an_unnamed_tensor_by_the_parameter_that_had_it_first(torch):
    src, dst = (torch.from_numpy(np.zeros(16, np.float32)) for _ in range(2))
    named = torch.from_numpy(np.zeros(16, np.float32), name="weights")
    with pytest.raises(ValueError, match=r"the nearest, 'src_ptr', is .*\(program 2, 0, 0 of overlapping_kernel\)"):
        overlapping_kernel[(3,)](named, src, 64, BLOCK=8)
    overlapping_kernel[(2,)](dst, src, 15, BLOCK=8)
    dst.numpy()
    assert "tensor 'dst_ptr'" in torch.hazards()[0].text
    assert "src_ptr" in str(torch.critical_path()) and "tensor0" not in str(torch.critical_path())
    assert (src.name, dst.name, named.name) == ("src_ptr", "dst_ptr", "weights")


@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (8, 32)], key=[])
@triton.jit
def chosen_kernel(out_ptr, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, BLOCK), 1.0)


def test_autotune_says_which_configurations_it_left_out_and_why(torch):
    out = torch.from_numpy(np.zeros(16, np.float32))
    with pytest.warns(UserWarning, match="autotune of chosen_kernel leaves out BLOCK: 32.*lane 16 of .* is on") as caught:
        launch = chosen_kernel[(1,)](out)
    assert caught[0].filename == __file__
    assert "autotune left out BLOCK: 32" in str(launch) and "lane 16" in str(launch)
    assert [c.kwargs for c in next(iter(chosen_kernel.left_out.values()))] == [{"BLOCK": 32}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "autotune left out" in str(chosen_kernel[(1,)](out))


@triton.autotune(configs=[triton.Config({"ROWS": rows}) for rows in (8, 1 << 20)], key=[])
@triton.jit
def product_kernel(out_ptr, ROWS: tl.constexpr):
    tl.store(out_ptr, tl.sum(tl.zeros((ROWS, 64), tl.float32)))


def test_program_is_named_with_the_message_and_before_the_hint(torch):
    with pytest.warns(UserWarning, match="leaves out ROWS: 1048576"):
        launch = product_kernel[(1,)](torch.zeros((4,), "f32"))
    message, hint = str(launch).split("autotune left out ROWS: 1048576")[1].split("\n  hint: ")
    assert message.endswith("(program 0, 0, 0 of product_kernel)") and "program 0" not in hint
