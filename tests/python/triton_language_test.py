"""The language by itself: values, Python inside kernels, errors with their lines, grids, schedules, tuning."""
import inspect
import textwrap

import numpy as np
import pytest

import kernbench as kb
from kernbench import triton
import kernbench.triton.language as tl


def line_of(function, text):
    """The line of the file on which a kernel has that text."""
    lines, first = inspect.getsourcelines(getattr(function, "fn", function))
    return first + next(i for i, line in enumerate(lines) if text in line)


@pytest.fixture
def torch():
    with kb.Torch("small", hazards=True) as torch:
        yield torch


def outcome(torch, kernel, n=8, *args, grid=(1,), dtype=np.float32, **meta):
    """What a kernel leaves in an array of n numbers."""
    out = torch.from_numpy(np.zeros(n, dtype))
    kernel[grid](out, *args, **meta)
    return out.numpy()


@triton.jit
def logic_kernel(out, n):
    i = tl.arange(0, 8)
    inside = i >= 2 and i < n
    outside = not inside
    edge = i == 0 or i == 7
    tl.store(out + i, tl.where(inside, 1, 0) + tl.where(outside and edge, 10, 0))


def test_and_or_not_work_on_blocks(torch):
    assert list(outcome(torch, logic_kernel, 8, 6)) == [10, 0, 1, 1, 1, 1, 0, 10]


@triton.jit
def chained_kernel(out):
    i = tl.arange(0, 8)
    tl.store(out + i, tl.where(2 <= i < 5, 1, 0))


def test_chained_comparisons_work_on_blocks(torch):
    assert list(outcome(torch, chained_kernel)) == [0, 0, 1, 1, 1, 0, 0, 0]


@triton.jit
def division_kernel(out, a, b):
    i = tl.arange(0, 2)
    tl.store(out + i, tl.where(i == 0, a // b, a % b))


@pytest.mark.parametrize("a, b, quotient, rest", [(7, 2, 3, 1), (-7, 2, -3, -1), (7, -2, -3, 1), (-7, -2, 3, -1)])
def test_integer_division_truncates_toward_zero(torch, a, b, quotient, rest):
    assert list(outcome(torch, division_kernel, 2, a, b, dtype=np.int32)) == [quotient, rest]


@triton.jit
def square(x):
    return x * x


@triton.jit
def apply_kernel(out, FN: tl.constexpr, SCALE: tl.constexpr = None):
    i = tl.arange(0, 8)
    x = FN(i.to(tl.float32))
    if SCALE is not None:
        x = x * SCALE
    tl.store(out + i, x)


def test_helpers_are_passed_as_constexpr_and_none_is_none(torch):
    assert list(outcome(torch, apply_kernel, FN=square)) == [i * i for i in range(8)]
    assert list(outcome(torch, apply_kernel, FN=square, SCALE=2)) == [2 * i * i for i in range(8)]


@triton.jit
def pair(x):
    return x + 1, x - 1


@triton.jit
def flow_kernel(out, n, STEPS: tl.constexpr):
    pid = tl.program_id(0)
    if pid >= n:
        return
    TWO: tl.constexpr = STEPS.value // STEPS.value + 1
    up, down = pair(pid.to(tl.int64))
    total = up * down if pid > 0 else up
    count = 0
    while count < TWO:
        total += 1
        count += 1
    tl.store(out + pid, total)


def test_early_return_while_tuples_ternaries_and_constexpr_locals(torch):
    # program 0: 1 + 2; program p: (p + 1)(p − 1) + 2
    assert list(outcome(torch, flow_kernel, 4, 3, grid=(4,), dtype=np.int32, STEPS=5)) == [3, 2, 5, 0]


@triton.jit
def either_kernel(out, x, n):
    v = tl.load(x)
    v = 0.0 if v == float("inf") else v
    w = tl.load(x + 1)
    w = float("-inf") if w > 100 else w * 2 if n > 0 else w
    tl.store(out, v)
    tl.store(out + 1, w)


@pytest.mark.parametrize("x, expected", [((np.inf, 1), [0, 2]), ((5, 200), [5, -np.inf])])
def test_a_ternary_by_a_computed_scalar_selects(torch, x, expected):
    assert list(outcome(torch, either_kernel, 2, torch.from_numpy(np.array(x, np.float32)), 1)) == expected


@triton.jit
def smaller(a, b):
    if a <= b:
        return a
    else:
        return b


@triton.jit
def signed(x):
    if x > 0:
        return 1.0
    if x < 0:
        return -1.0
    return 0.0


@triton.jit
def later_largest(value, index, other, other_index):
    return (value, index) if value > other else (other, other_index)


@triton.jit
def scalar_functions_kernel(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, tl.associative_scan(v, 0, smaller))
    tl.store(out + N + i, tl.map_elementwise(signed, v))
    value, index = tl.reduce((v, i), 0, later_largest)
    tl.store(out + 2 * N, value)
    tl.store(out + 2 * N + 1, index)
    tl.store(out + 2 * N + 2, signed(tl.load(x)))


def test_functions_of_scalars_branch_for_each_element(torch):
    a = np.array([3, 5, -2, 0, 7, -9, 7, 1], np.float32)
    got = outcome(torch, scalar_functions_kernel, 19, torch.from_numpy(a), N=8)
    assert list(got[:8]) == list(np.minimum.accumulate(a)) and list(got[8:16]) == list(np.sign(a))
    assert got[16] == 7 and got[17] in (4, 6) and got[18] == 1


@triton.jit
def block_branch_kernel(out, x):
    i = tl.arange(0, 4)
    tl.store(out + i, signed(tl.load(x + i)))


def test_a_block_is_branched_on_only_by_functions_of_scalars(torch):
    with pytest.raises(TypeError, match="the truth value of"):
        outcome(torch, block_branch_kernel, 4, torch.from_numpy(np.ones(4, np.float32)))


@triton.jit
def types_kernel(out, x):
    i = tl.arange(0, 4)
    v = tl.load(x + i)
    if x.dtype.element_ty == tl.float16 and v.dtype == tl.float16:
        v = v.to(tl.float32)
    tl.static_assert(v.dtype == tl.float32, "widened")
    tl.store(out + i, v)


def test_types_are_compared_while_recording(torch):
    x = torch.from_numpy(np.arange(4, dtype=np.float16))
    assert list(outcome(torch, types_kernel, 4, x)) == [0, 1, 2, 3]


@triton.jit
def steering_kernel(out, lengths, order):
    seq = tl.program_id(0)
    n = tl.load(lengths + seq)
    total = 0
    for i in range(n):
        total += tl.load(order + i)
    if n == 0:
        total = -1
    tl.store(out + seq, total)


def test_loaded_integers_steer_loops_and_branches(torch):
    lengths = torch.from_numpy(np.array([0, 2, 4], np.int32))
    order = torch.from_numpy(np.array([5, 6, 7, 8], np.int32))
    assert list(outcome(torch, steering_kernel, 3, lengths, order, grid=(3,), dtype=np.int32)) == [-1, 11, 26]


@triton.jit
def double_kernel(x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i) * 2)


def test_what_a_launch_before_wrote_is_seen(torch):
    lengths = torch.from_numpy(np.array([0, 1, 2, 0], np.int32))
    order = torch.from_numpy(np.array([5, 6, 7, 8], np.int32))
    double_kernel[(1,)](lengths, BLOCK=4)
    assert list(outcome(torch, steering_kernel, 3, lengths, order, grid=(3,), dtype=np.int32)) == [-1, 11, 26]


@triton.jit
def racing_kernel(x):
    pid = tl.program_id(0)
    n = tl.load(x + 1 - pid)
    tl.store(x + pid, n)


def test_an_integer_that_another_program_writes_is_refused_with_both_lines(torch):
    x = torch.from_numpy(np.zeros(2, np.int32))
    with pytest.raises(ValueError) as e:
        racing_kernel[(2,)](x)
    assert f"triton_language_test.py:{line_of(racing_kernel, 'n = tl.load')}" in str(e.value)
    assert f"triton_language_test.py:{line_of(racing_kernel, 'tl.store')}" in str(e.value)
    assert "in no order" in str(e.value)


@triton.jit
def branch_kernel(out, x):
    v = tl.load(x)
    if v > 0:
        tl.store(out, v)


def test_branching_on_a_computed_value_says_why(torch):
    x = torch.from_numpy(np.ones(1, np.float32))
    with pytest.raises(TypeError, match="computed after the kernel was recorded") as e:
        outcome(torch, branch_kernel, 1, x)
    lines = [entry.lineno for entry in e.traceback if entry.path.name == "triton_language_test.py"]
    assert line_of(branch_kernel, "if v > 0") - 1 in lines  # pytest counts from 0


@triton.jit
def outside_kernel(out, n):
    i = tl.arange(0, 8)
    tl.store(out + i * 1000, i, mask=i < n)


def test_lanes_that_are_off_are_never_touched_and_those_on_must_lie_somewhere(torch):
    assert list(outcome(torch, outside_kernel, 1, 1, dtype=np.int32)) == [0]
    with pytest.raises(ValueError) as e:
        outcome(torch, outside_kernel, 1, 2, dtype=np.int32)
    assert "lane 1 of [8] is on" in str(e.value) and "Is a mask missing?" in str(e.value)
    assert f":{line_of(outside_kernel, 'tl.store')}" in str(e.value)


@triton.jit
def data_mask_kernel(out, x):
    i = tl.arange(0, 4)
    v = tl.load(x + i)
    w = tl.load(x + i, mask=v > 1, other=-1.0)
    tl.store(out + i, w)


def test_a_mask_of_computed_values_selects_after_a_load(torch):
    x = torch.from_numpy(np.arange(4, dtype=np.float32))
    assert list(outcome(torch, data_mask_kernel, 4, x)) == [-1, -1, 2, 3]


@triton.jit
def data_mask_store_kernel(out, x):
    i = tl.arange(0, 4)
    v = tl.load(x + i)
    tl.store(out + i, v, mask=v > 1)


@triton.jit
def computed_address_kernel(out, x):
    v = tl.load(x)
    tl.store(out + v.to(tl.int32), v)


@triton.jit
def used_atomic_kernel(out, x):
    old = tl.atomic_add(out, 1)
    tl.store(out + 1, old)


@triton.jit
def swap_kernel(out, x):
    tl.atomic_cas(out, 0, 1)


@triton.jit
def assembly_kernel(out, x):
    tl.inline_asm_elementwise("mov", "=r", [x], dtype=tl.int32, is_pure=True, pack=1)


@triton.jit
def scaled_dot_kernel(out, x):
    tl.dot_scaled(x, x, "e4m3", x, x, "e4m3")


@pytest.mark.parametrize("kernel, text", [
    (data_mask_store_kernel, "mask depends on computed values"), (computed_address_kernel, "not on floating-point values"),
    (used_atomic_kernel, "is used"), (swap_kernel, "which program comes first"), (assembly_kernel, "assembly of another machine"),
    (scaled_dot_kernel, "no block scales")])
def test_what_cannot_be_is_refused_with_the_reason(torch, kernel, text):
    x = torch.from_numpy(np.ones(4, np.float32))
    with pytest.raises(triton.TritonError, match=text):
        outcome(torch, kernel, 4, x, dtype=np.int32)


@triton.jit
def ids_kernel(out):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    place = x + tl.num_programs(0) * (y + tl.num_programs(1) * z)
    tl.store(out + place, x + 10 * y + 100 * z)


@pytest.mark.parametrize("grid", [(5,), (3, 2), (2, 3, 4), (70,)])
@pytest.mark.parametrize("schedule", [None, "round_robin", "blocks", lambda i, n, places: places[-1]])
def test_grids_and_schedules(torch, grid, schedule):
    n = int(np.prod(grid))
    out = torch.from_numpy(np.zeros(n, np.int32))
    ids_kernel[grid](out, schedule=schedule)
    full = tuple(grid) + (1,) * (3 - len(grid))
    expected = [x + 10 * y + 100 * z for z in range(full[2]) for y in range(full[1]) for x in range(full[0])]
    assert list(out.numpy()) == expected


@triton.jit
def overlap_kernel(out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * (BLOCK - 1) + tl.arange(0, BLOCK)
    tl.store(out + i, i.to(tl.float32), mask=i < n)


@pytest.mark.parametrize("schedule", ["round_robin", lambda i, n, places: 0])
def test_two_programs_that_write_one_byte_are_a_hazard_also_on_one_pe(torch, schedule):
    out = torch.from_numpy(np.zeros(15, np.float32))
    overlap_kernel[(2,)](out, 15, BLOCK=8, schedule=schedule)
    out.numpy()
    hazards = torch.hazards()
    assert len(hazards) == 1 and "write-write" in hazards[0].kind
    assert f":{line_of(overlap_kernel, 'tl.store')}" in hazards[0].text


@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n"])})
@triton.jit
def heuristic_kernel(out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, BLOCK, mask=i < n)


def test_heuristics_see_the_arguments_by_name(torch):
    assert list(outcome(torch, heuristic_kernel, 5, 5, dtype=np.int32)) == [8] * 5


@triton.autotune(configs=[triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((32, 1), (256, 4), (1024, 8))], key=["n"])
@triton.jit
def tuned_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def test_autotune_takes_the_fastest_and_leaves_the_clock_alone():
    n = 8192
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    array = np.arange(n, dtype=np.float32)
    times = {}
    for block in (32, 256, 1024):
        with kb.Torch("small") as own:
            x, out = own.from_numpy(array), own.empty((n,), "f32")
            times[block] = tuned_kernel.fn[grid](x, out, n, BLOCK=block).trace.pe_exec_ns
    with kb.Torch("small") as torch:
        x, out = torch.from_numpy(array), torch.empty((n,), "f32")
        before = torch.now_ns
        tuned_kernel.cache.clear()
        launch = tuned_kernel[grid](x, out, n)
        assert torch.now_ns == before
        assert tuned_kernel.best_config.kwargs["BLOCK"] == min(times, key=times.get)
        assert launch.trace.pe_exec_ns == min(times.values())
        assert {c.kwargs["BLOCK"]: t for c, t in next(iter(tuned_kernel.timings.values())).items()} == times
        assert np.array_equal(out.numpy(), 2 * array)


@triton.autotune(configs=[triton.Config({"BLOCK": b}, num_warps=w) for b in (4, 8) for w in (1, 2, 4)], key=[])
@triton.jit
def counted_kernel(out, BLOCK: tl.constexpr):
    tl.static_print("recorded")
    tl.store(out + tl.arange(0, BLOCK), 1.0)


def test_configurations_that_differ_only_for_a_compiler_are_simulated_once(torch, capsys):
    outcome(torch, counted_kernel, 8)
    assert capsys.readouterr().out.count("recorded") == 3  # two kinds of configurations, and the launch
    assert len(next(iter(counted_kernel.timings.values()))) == 6


@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (4, 8)], key=[])
@triton.jit
def pointed_kernel(table, sizes, BLOCK: tl.constexpr):
    x = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    n = tl.load(sizes + tl.program_id(0))
    for first in range(0, n, BLOCK):
        i = first + tl.arange(0, BLOCK)
        tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


def test_autotune_follows_tables_of_pointers(torch):
    xs = [torch.from_numpy(np.zeros(n, np.float32)) for n in (5, 16)]
    table = torch.from_numpy(np.array([x.data_ptr() for x in xs], np.int64))
    pointed_kernel[(2,)](table, torch.from_numpy(np.array([5, 16], np.int32)))
    assert all((x.numpy() == 1).all() for x in xs) and len(next(iter(pointed_kernel.timings.values()))) == 2


@triton.jit
def ignored_kernel(out, num_stages):
    i = tl.arange(0, 4)
    x = tl.load(out + i, cache_modifier=".cg", eviction_policy="evict_last", volatile=True)
    tl.store(out + i, x + num_stages, cache_modifier=".wb", eviction_policy="evict_first")
    tl.debug_barrier()


def test_what_steers_a_compiler_has_no_effect_and_a_parameter_of_that_name_has(torch):
    out = torch.from_numpy(np.zeros(4, np.float32))
    ignored_kernel[(1,)](out, num_stages=3, num_warps=8, maxnreg=64)
    assert list(out.numpy()) == [3, 3, 3, 3]
    with pytest.raises(TypeError, match="no parameter 'BLOK'"):
        ignored_kernel[(1,)](out, 1, BLOK=3)


LIBRARY = '''
import torch
import some_framework.ops as ops
from some_framework import missing
import triton
import triton.language as tl
try:
    from triton.language.extra.cuda import libdevice
except ImportError:
    from triton.language.math import libdevice
from .not_there import decorate

exp = tl.math.exp
LOG2 = 0.6931471805599453
TWICE = 2 * 2 // 2


def host(x: torch.Tensor):
    return missing(x)


@triton.jit
def scaled(x):
    """Umläute sind erlaubt: ä ö ü → ∑"""
    return exp(x * LOG2) * TWICE


@decorate(level=3)
@triton.jit
def kernel(out: torch.Tensor, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, scaled(i.to(tl.float32)), mask=i < n and i >= 0)


@triton.jit
def broken(out):
    tl.store(out, ops.thing)
'''


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_kernel_is_taken_out_of_a_file_whose_imports_are_not_there(torch, tmp_path, newline):
    file = tmp_path / "library.py"
    file.write_bytes(LIBRARY.replace("\n", newline).encode())
    kernel = triton.load(file, "kernel")
    assert np.allclose(outcome(torch, kernel, 4, 4, BLOCK=4), [2, 4, 8, 16], rtol=1e-5)
    assert kernel.fn.__code__.co_filename == str(file)
    with pytest.raises(ValueError, match="library.py:.*'ops'.*names="):
        triton.load(file, "broken")
    with pytest.raises(ValueError, match="no function 'nothing'; it has host, scaled, kernel, broken"):
        triton.load(file, "nothing")


def test_a_helper_of_a_neighbouring_file_is_found(torch, tmp_path):
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "tools.py").write_text("import triton\nimport triton.language as tl\n\n@triton.jit\ndef one(x):\n    return x + 1\n")
    (tmp_path / "pkg" / "main.py").write_text(textwrap.dedent("""
        import triton
        import triton.language as tl
        from .tools import one
        @triton.jit
        def kernel(out):
            tl.store(out, one(1))
        """))
    kernel = triton.load(tmp_path / "pkg" / "main.py", "kernel")
    assert list(outcome(torch, kernel, 1, dtype=np.int32)) == [2]


def test_tensors_whose_addresses_are_not_row_major_are_refused(torch):
    x = torch.zeros((8, 64), "f32", dp=kb.DPPolicy(cube="column_wise", pe="column_wise"))
    with pytest.raises(ValueError, match="row-major.*kb.interleaved"):
        ids_kernel[(1,)](x)
