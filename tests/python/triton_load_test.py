"""Kernels taken out of files as people publish them."""
import os
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

import kernbench as kb
from kernbench import triton


@pytest.fixture
def torch():
    with kb.Torch("small") as torch:
        yield torch


def written(folder, **files):
    """The files of a project, by name."""
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


def result(torch, kernel, n=1, *args, dtype=np.float32, **meta):
    out = torch.from_numpy(np.zeros(n, dtype))
    kernel[(1,)](out, *args, **meta)
    return list(out.numpy())


HEAD = "import triton\nimport triton.language as tl\n"


def test_triton_may_come_from_a_module_of_the_projects_own(torch, tmp_path):
    written(tmp_path, main="""
        from some_project.triton_utils import tl, triton, libdevice
        @triton.jit
        def kernel(out):
            tl.store(out, libdevice.pow(2.0, 3.0))
        """)
    assert result(torch, triton.load(tmp_path / "main.py", "kernel")) == [8]


def test_what_a_file_says_where_triton_is_not_there_is_not_taken(torch, tmp_path):
    written(tmp_path, main="""
        try:
            import triton
            import triton.language as tl
        except ImportError:
            triton = None
            tl = None
        HAS_TRITON = triton is not None
        if HAS_TRITON:
            @triton.jit
            def kernel(out):
                tl.store(out, 1)
        else:
            def kernel(*args):
                raise RuntimeError("no triton")
        """)
    assert result(torch, triton.load(tmp_path / "main.py", "kernel")) == [1]


def test_a_kernel_may_be_made_by_calls_instead_of_decorators(torch, tmp_path):
    written(tmp_path, main=HEAD + textwrap.dedent("""
        def kernel(out, N: tl.constexpr, TWICE: tl.constexpr):
            i = tl.arange(0, N)
            tl.store(out + i, i * 2 if TWICE else i)
        kernel = triton.jit(kernel)
        kernel = triton.heuristics({"TWICE": lambda args: args["N"] > 2})(kernel)
        """))
    kernel = triton.load(tmp_path / "main.py", "kernel")
    assert result(torch, kernel, 4, N=4, dtype=np.int32) == [0, 2, 4, 6]


def test_what_a_jit_is_told_may_need_what_is_not_there(torch, tmp_path):
    written(tmp_path, main=HEAD + textwrap.dedent("""
        from some_framework import make_repr
        text = make_repr("kernel")
        @triton.jit(repr=text, do_not_specialize=["n"])
        def kernel(out, n):
            tl.store(out, n)
        """))
    assert result(torch, triton.load(tmp_path / "main.py", "kernel"), 1, 7) == [7]


def test_autotune_may_be_told_what_is_not_there(torch, tmp_path):
    written(tmp_path, main=HEAD + textwrap.dedent("""
        from some_framework import cache_options, hook
        @triton.autotune(configs=[triton.Config({"N": n}) for n in (2, 4)], key=["n"], pre_hook=hook, **cache_options)
        @triton.jit
        def kernel(out, n, N: tl.constexpr):
            i = tl.arange(0, N)
            tl.store(out + i, 1, mask=i < n)
        """))
    kernel = triton.load(tmp_path / "main.py", "kernel")
    assert result(torch, kernel, 4, 2) == [1, 1, 0, 0] and len(kernel.configs) == 2


def test_names_of_triton_2(torch, tmp_path):
    written(tmp_path, main=HEAD + textwrap.dedent("""
        import triton.language.core as core
        @triton.jit
        @core._add_scan_docstr("running product")
        def running(x):
            return core.associative_scan(core._promote_reduction_input(x), 0, times)
        @triton.jit
        def times(a, b):
            return a * b
        @triton.jit
        def kernel(out, N: tl.constexpr):
            tl.store(out + tl.arange(0, N), running((tl.arange(0, N) + 1).to(tl.int8)))
        """))
    assert result(torch, triton.load(tmp_path / "main.py", "kernel"), 8, N=8, dtype=np.int32) == [1, 2, 6, 24, 120, 720, 5040, 40320]


def test_files_of_the_project_are_modules_and_stars_are_followed(torch, tmp_path):
    written(tmp_path, pkg__consts="TWO = 2\n", pkg__tools=HEAD + "@triton.jit\ndef one(x):\n    return x + 1\n",
            pkg__ops__main=HEAD + textwrap.dedent("""
        from pkg import tools
        import pkg.tools as same
        from ..consts import *
        @triton.jit
        def kernel(out):
            tl.store(out, tools.one(same.one(TWO)))
        """))
    assert result(torch, triton.load(tmp_path / "pkg" / "ops" / "main.py", "kernel")) == [4]


def test_a_kernel_inside_a_function_is_found(torch, tmp_path):
    written(tmp_path, main=HEAD + textwrap.dedent("""
        def launch(x):
            @triton.jit
            def inner_kernel(out):
                tl.store(out, 5)
            inner_kernel[(1,)](x)
        """))
    assert result(torch, triton.load(tmp_path / "main.py", "inner_kernel")) == [5]


@pytest.mark.parametrize("line", ["", "from lost.utils import rsqrt"])
def test_a_function_of_math_whose_alias_was_lost_is_taken_with_a_warning(torch, tmp_path, line):
    written(tmp_path, main=HEAD + line + textwrap.dedent("""
        @triton.jit
        def kernel(out):
            tl.store(out, rsqrt(16.0))
        """))
    with pytest.warns(UserWarning, match="'rsqrt', which kernel reaches, is not there; tl.math.rsqrt is taken"):
        kernel = triton.load(tmp_path / "main.py", "kernel")
    assert result(torch, kernel) == [0.25]


def test_no_warning_where_nothing_is_lost(torch, tmp_path):
    written(tmp_path, main=HEAD + textwrap.dedent("""
        @triton.jit
        def kernel(out, exp):
            floor = exp + 1
            tl.store(out, max(floor, exp))
        """))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = triton.load(tmp_path / "main.py", "kernel")
    assert result(torch, kernel, 1, 3) == [4]


def test_names_that_triton_keeps_to_itself(torch, tmp_path):
    written(tmp_path, main=HEAD + textwrap.dedent("""
        import triton.language.core as core
        from triton.language.standard import _log2, _indicator, _take_slice, zeros_like
        @triton.jit
        def kernel(out, x, N: core.constexpr = core.CONSTEXPR_0):
            i = core.arange(0, 8)
            bits = core.load(x + i).to(core.get_int_dtype(bitwidth=32, signed=True), bitcast=True)
            halves = core.reshape(i, [2, 2, 2])
            first = core.reshape(_take_slice(halves, 3, 2, 0), [4])
            core.store(out + i, bits * (_log2(8) - 2) + zeros_like(bits))
            core.store(out + 8 + core.arange(0, 4), first)
        """))
    x = torch.from_numpy(np.arange(8, dtype=np.float32))
    kernel = triton.load(tmp_path / "main.py", "kernel")
    expected = list(np.arange(8, dtype=np.float32).view(np.int32)) + [0, 1, 2, 3]
    assert result(torch, kernel, 12, x, dtype=np.int32) == expected


def test_files_ask_what_they_are_compiled_for(tmp_path):
    written(tmp_path, main=HEAD + textwrap.dedent("""
        def is_hip():
            return triton.runtime.driver.active.get_current_target().backend == "hip"
        configs = [triton.Config({"N": 4}, num_stages=s) for s in ([1] if is_hip() else [2, 3])]
        @triton.autotune(configs, key=[])
        @triton.jit
        def kernel(out, N: tl.constexpr):
            tl.store(out, N)
        """))
    assert [c.num_stages for c in triton.load(tmp_path / "main.py", "kernel").configs] == [2, 3]


def test_limits_of_numbers_that_a_file_takes_from_torch(torch, tmp_path):
    written(tmp_path, main=HEAD + textwrap.dedent("""
        import torch
        LEAST: tl.constexpr = torch.finfo(torch.float16).min
        MOST: tl.constexpr = tl.constexpr(torch.iinfo(torch.int32).max)
        DEVICES = torch.cuda.device_count() if False else 0
        @triton.jit
        def kernel(out, DTYPE: tl.constexpr = torch.float32):
            FILL = tl.constexpr(torch.finfo(torch.bfloat16).eps)
            tl.static_assert(DTYPE is tl.float32)
            tl.store(out, LEAST)
            tl.store(out + 1, MOST)
            tl.store(out + 2, FILL)
        @triton.jit
        def hopeless(out):
            tl.store(out, torch.cuda.device_count())
        """))
    assert result(torch, triton.load(tmp_path / "main.py", "kernel"), 3) == [-65504, np.float32(2**31 - 1), 2**-7]
    with pytest.raises(AttributeError, match="cuda"):
        result(torch, triton.load(tmp_path / "main.py", "hopeless"))


COMPILED = '''
from torch._inductor.async_compile import AsyncCompile
async_compile = AsyncCompile()

triton_poi_fused_relu_0 = async_compile.triton('triton_poi_fused_relu_0', \'\'\'
import triton
import triton.language as tl
from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
triton_helpers.set_driver_to_gpu()

@triton_heuristics.pointwise(size_hints={'x': 8}, filename=__file__)
@triton.jit
def triton_(out_ptr0, in_ptr0, xnumel, XBLOCK : tl.constexpr):
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    tmp0 = tl.load(in_ptr0 + (xindex), xmask)
    tmp1 = tl.full([1], 0, tl.int32)
    tmp2 = triton_helpers.maximum(tmp1, tmp0)
    tl.store(out_ptr0 + (xindex), tl_math.abs(tmp2), xmask)
\'\'\', device_str='cuda')

triton_red_fused_sum_1 = async_compile.triton('triton_red_fused_sum_1', \'\'\'
import triton
import triton.language as tl
from torch._inductor.runtime import triton_helpers
@triton.jit
def triton_(out_ptr0, in_ptr0, xnumel, XBLOCK : tl.constexpr):
    tmp0 = tl.load(in_ptr0 + tl.arange(0, XBLOCK)[None, :])
    value, index = triton_helpers.max_with_index(tmp0, tl.arange(0, XBLOCK)[None, :], 1)
    rows, order = triton_helpers.sort_with_index(tmp0, tl.arange(0, XBLOCK)[None, :], None, 1, stable=False, descending=True)
    tl.store(out_ptr0 + tl.arange(0, 1), index)
    tl.store(out_ptr0 + 1 + tl.arange(0, XBLOCK)[None, :], order)
\'\'\', device_str='cuda')
'''


def test_kernels_that_torchs_compiler_has_written(torch, tmp_path):
    file = tmp_path / "output_code.py"
    file.write_text(COMPILED)
    x = torch.from_numpy(np.array([3, -1, 7, 0, -5, 2, 1, 4], np.float32))
    relu = triton.load(file, "triton_poi_fused_relu_0")
    assert result(torch, relu, 8, x, 8, XBLOCK=8) == [3, 0, 7, 0, 0, 2, 1, 4]
    assert COMPILED.splitlines()[relu.fn.__code__.co_firstlineno - 1] == "@triton.jit"
    order = [2, 7, 0, 5, 6, 3, 1, 4]  # of 7, 4, 3, 2, 1, 0, −1, −5
    assert result(torch, triton.load(file, "triton_red_fused_sum_1"), 9, x, 8, XBLOCK=8, dtype=np.int32) == [2] + order


def test_a_file_that_imports_torch_says_to_cut_the_kernel_out(tmp_path):
    written(tmp_path, wants_torch="""
        import triton
        import torch
        """)
    program = textwrap.dedent("""
        import importlib.util, sys
        sys.modules.pop("torch", None)
        sys.meta_path[:] = [f for f in sys.meta_path if "torch" not in repr(f)]
        import kernbench as kb
        kb.triton.install()
        kb.triton.install()
        assert importlib.util.find_spec("torch") is None  # who only asks whether it is there is told
        try:
            import nothing_of_that_name
        except ModuleNotFoundError as error:
            assert "kb.triton" not in str(error)
        import wants_torch
        """)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path,
                         env={**os.environ, "PYTHONPATH": os.environ["PYTHONPATH"] + os.pathsep + str(tmp_path)})
    assert run.returncode == 1 and "cut the kernel out: kb.triton.load(" in run.stderr
    assert "wants_torch.py\", line 3" in run.stderr
