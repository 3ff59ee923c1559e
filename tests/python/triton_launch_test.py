"""Launches: many programs, programs that are dealt unevenly, hazards between them, refusals with their lines, options without effect."""
import inspect
import threading

import numpy as np
import pytest

import kernbench as kb
from kernbench import triton
import kernbench.triton.language as tl
from kernbench.triton._jit import IGNORED

HERE = "triton_launch_test.py"


@pytest.fixture
def torch():
    with kb.Torch("small", hazards=True) as torch:
        yield torch


def line_of(kernel, text):
    lines, first = inspect.getsourcelines(getattr(kernel, "fn", kernel))
    return first + next(i for i, line in enumerate(lines) if text in line)


@triton.jit
def add_one_kernel(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


def test_4096_programs_on_128_pes():
    a = np.arange(4096 * 16 - 5, dtype=np.float32)
    with kb.Torch("default", hazards=True) as torch:
        x = torch.from_numpy(a, dp=kb.interleaved())
        add_one_kernel[(4096,)](x, a.size, BLOCK=16)
        assert np.array_equal(x.numpy(), a + 1) and not torch.hazards()
        log = torch.log()
        writes = np.asarray(log.column("kind")) == "dma_write"
        places = np.array([log.array["cube"], log.array["pe"]]).T[writes]
        assert len(np.unique(places, axis=0)) == 128 and writes.sum() == 4096  # 32 programs on each


@pytest.mark.parametrize("programs", [1, 31, 33, 100])
def test_programs_that_do_not_divide_by_the_pes(torch, programs):
    # 32 PEs: the first (programs mod 32) have one more than the others.
    a = np.zeros(programs * 8, np.float32)
    x = torch.from_numpy(a)
    add_one_kernel[(programs,)](x, a.size, BLOCK=8)
    assert (x.numpy() == 1).all() and not torch.hazards()
    log = torch.log()
    writes = np.asarray(log.column("kind")) == "dma_write"
    counts = np.unique(np.array([log.array["cube"], log.array["pe"]]).T[writes], axis=0, return_counts=True)[1]
    expected = [programs // 32 + 1] * (programs % 32) + [programs // 32] * (32 - programs % 32)
    assert sorted(counts) == sorted(n for n in expected if n)


@triton.jit
def shifted_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i + 1, mask=i + 1 < n)
    tl.store(x + i, v, mask=i < n)


def test_a_program_that_reads_what_another_writes_is_a_hazard(torch):
    x = torch.from_numpy(np.zeros(64, np.float32))
    shifted_kernel[(4,)](x, x, 64, BLOCK=16)
    x.numpy()
    texts = [h.text for h in torch.hazards()]
    assert texts and all(f"{HERE}:{line_of(shifted_kernel, 'tl.load')}" in t and f"{HERE}:{line_of(shifted_kernel, 'tl.store')}" in t
                         for t in texts)


@triton.jit
def unmasked_kernel(out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * 12 + tl.arange(0, BLOCK)
    tl.store(out + i, i.to(tl.float32))


def test_a_missing_mask_that_makes_two_programs_write_one_byte_is_a_hazard(torch):
    out = torch.from_numpy(np.zeros(28, np.float32))
    unmasked_kernel[(2,)](out, BLOCK=16)
    out.numpy()
    (hazard,) = torch.hazards()
    assert "write-write" in hazard.kind and f"{HERE}:{line_of(unmasked_kernel, 'tl.store')}" in hazard.text


@triton.jit
def mixed_atomics_kernel(out):
    if tl.program_id(0) == 0:
        tl.atomic_add(out, 1.0)
    else:
        tl.atomic_max(out, 1.0)


def test_atomics_of_two_kinds_on_one_place_are_a_hazard(torch):
    out = torch.from_numpy(np.zeros(1, np.float32))
    mixed_atomics_kernel[(2,)](out)
    out.numpy()
    assert len(torch.hazards()) == 1


@triton.jit
def summed_kernel(out, counts):
    tl.atomic_add(out, 1.0, sem="relaxed", scope="gpu")
    tl.atomic_add(counts, 1)
    tl.atomic_max(out + 1, 1.0)


def test_a_launch_says_that_the_bits_of_float_sums_may_depend_on_the_order(torch):
    out, counts = torch.from_numpy(np.zeros(2, np.float32)), torch.from_numpy(np.zeros(1, np.int32))
    launch = summed_kernel[(4,)](out, counts)
    assert list(out.numpy()) == [4, 1] and list(counts.numpy()) == [4]
    (note,) = launch.notes  # sums of integers and largest numbers are the same in any order
    assert note.startswith(f"atomic_add of fp32 at {HERE}:{line_of(summed_kernel, '1.0, sem')}") and "the last bits may depend" in note
    assert note in str(launch)


def test_two_threads_record_into_contexts_of_their_own():
    results = {}

    def work(number):
        for _ in range(5):
            with kb.Torch("small") as torch:
                x = torch.from_numpy(np.full(64, number, np.float32))
                add_one_kernel[(8,)](x, 64, BLOCK=8)
                results.setdefault(number, []).append(bool((x.numpy() == number + 1).all()))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: [True] * 5 for n in range(4)}


# ── refusals ──

@triton.jit
def float_mask_store(out, x):
    i = tl.arange(0, 4)
    v = tl.load(x + i)
    tl.store(out + i, v, mask=v > 1)


@triton.jit
def float_address(out, x):
    v = tl.load(x)
    p = out + v.to(tl.int32)
    tl.store(p, v)


@triton.jit
def float_branch(out, x):
    v = tl.load(x)
    if v > 0:
        tl.store(out, v)


@triton.jit
def float_loop(out, x):
    v = tl.load(x)
    for i in range(v.to(tl.int32)):
        tl.store(out + i, v)


@triton.jit
def used_atomic(out, x):
    old = tl.atomic_add(out, 1.0)
    tl.store(out + 1, old)


@triton.jit
def atomic_in_sum(out, x):
    old = tl.atomic_add(out, 1.0)
    tl.store(out + 1, tl.load(x) + old)


@triton.jit
def atomic_in_address(out, x):
    old = tl.atomic_max(out, 1.0)
    tl.store(out + old, 1.0)


@triton.jit
def atomic_in_branch(out, x):
    if tl.atomic_add(out, 1.0) == 0:
        tl.store(out + 1, 1.0)


@triton.jit
def atomic_in_function(out, x):
    old = tl.atomic_add(out, 1.0)
    tl.store(out + 1, tl.where(old > 0, 1.0, 0.0))


@triton.jit
def atomic_in_method(out, x):
    tl.store(out + 1, tl.atomic_add(out, 1.0).to(tl.float32))


@triton.jit
def atomic_in_not(out, x):
    if not tl.atomic_add(out, 1.0):
        tl.store(out + 1, 1.0)


@triton.jit
def spin_wait(out, x):
    while tl.atomic_cas(out, 0, 1) == 1:
        pass


@triton.jit
def swapped(out, x):
    tl.atomic_xchg(out, 0)


@triton.jit
def assembly(out, x):
    v = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [tl.load(x)], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(out, v)


@triton.jit
def scaled_product(out, x):
    i = tl.arange(0, 2)[:, None] + tl.arange(0, 2)[None, :]
    tl.store(out + i, tl.dot_scaled(tl.load(x + i), None, "e4m3", tl.load(x + i), None, "e4m3"))


@triton.jit
def double_precision(out, x):
    v = tl.load(x).to(tl.float64)
    tl.store(out, (v * v).to(tl.float32))


@triton.jit
def outside(out, x):
    i = tl.arange(0, 4)
    tl.store(out + i + 1000000, tl.load(x + i))


@triton.jit
def float_mask_atomic(out, x):
    v = tl.load(x)
    tl.atomic_add(out, v, mask=v > 0)


@triton.jit
def stored_pointer(out, x):
    tl.store(out, x)


@triton.jit
def clock(out, x):
    tl.store(out, tl.extra.cuda.globaltimer() if hasattr(tl.extra.cuda, "globaltimer") else tl.globaltimer())


REFUSALS = [
    (float_mask_store, "mask=v > 1", "which lanes are written must be known"), (float_address, "p = out", "not on floating-point values"),
    (float_branch, "if v > 0", "computed after the kernel was recorded"), (float_loop, "for i in range", "computed after the kernel was recorded"),
    (used_atomic, "tl.store", "which program comes first is known only after the simulation"),
    (atomic_in_sum, "tl.load(x) + old", "which program comes first"), (atomic_in_address, "out + old", "which program comes first"),
    (atomic_in_branch, "== 0", "which program comes first"), (atomic_in_function, "old > 0", "which program comes first"),
    (atomic_in_method, ".to(", "which program comes first"), (atomic_in_not, "not tl", "which program comes first"),
    (spin_wait, "while", "which program comes first is known only after the simulation"),
    (swapped, "atomic_xchg", "which program comes first is known only after the simulation"),
    (assembly, "inline_asm", "assembly of another machine"), (scaled_product, "dot_scaled", "no block scales"),
    (double_precision, "v = ", "fp64 has no unit"), (outside, "tl.store", "no tensor lies"),
    (float_mask_atomic, "atomic_add", "which lanes take part must be known"), (stored_pointer, "tl.store", "a pointer cannot be stored"),
    (clock, "tl.store", "it has no clock"),
]


@pytest.mark.parametrize("kernel, at, text", REFUSALS, ids=[k.__name__ for k, _, _ in REFUSALS])
def test_a_refusal_says_why_and_has_the_kernels_line(torch, kernel, at, text):
    out, x = torch.from_numpy(np.zeros(8, np.float32)), torch.from_numpy(np.ones(8, np.float32))
    with pytest.raises(triton.TritonError, match=text) as error:
        kernel[(1,)](out, x)
    lines = [entry.lineno + 1 for entry in error.traceback if entry.path.name == HERE]  # pytest counts from 0
    assert line_of(kernel, at) in lines


@triton.jit
def twice_masked_kernel(out, x):
    i = tl.arange(0, 4)
    v = tl.load(x + i)
    tl.store(out + i, tl.load(x + i + 1000000, mask=v > 1, other=0.0))


def test_a_load_by_a_computed_mask_needs_addresses_that_are_mapped(torch):
    x = torch.from_numpy(np.ones(4, np.float32))
    with pytest.raises(ValueError, match="no tensor lies") as error:
        twice_masked_kernel[(1,)](torch.from_numpy(np.zeros(4, np.float32)), x)
    assert f"{HERE}:{line_of(twice_masked_kernel, '1000000')}" in str(error.value)


@triton.jit
def steered_kernel(out, lengths):
    for i in range(tl.load(lengths)):
        tl.store(out + i, 1.0)


@triton.jit
def three_kernel(lengths):
    tl.store(lengths, 3)


def test_integers_steer_without_data_only_if_the_host_wrote_them():
    with kb.Torch("small", data=False) as torch:
        out, lengths = torch.empty((4,), "f32"), torch.empty((1,), "i32")
        three_kernel[(1,)](lengths)
        with pytest.raises(kb.KernelError, match="data is off and a launch may have written there") as error:
            steered_kernel[(1,)](out, lengths)
        assert f"{HERE}:{line_of(steered_kernel, 'tl.load')}" in str(error.value) and "turn data on" in str(error.value)
        given = torch.from_numpy(np.array([3], np.int32))
        steered_kernel[(1,)](out, given)


# ── mistakes ──

@triton.jit
def shapes_kernel(x, n, BLOCK: tl.constexpr):
    tl.join(tl.zeros([4], tl.float32), tl.zeros([8], tl.float32))


@triton.jit
def range_kernel(x, n, BLOCK: tl.constexpr):
    tl.arange(0, BLOCK)


@triton.jit
def mask_kernel(x, n, BLOCK: tl.constexpr):
    tl.load(x + tl.arange(0, 4), mask=tl.arange(0, 8) < n)


@triton.jit
def iterated_kernel(x, n, BLOCK: tl.constexpr):
    for _ in tl.load(x + tl.arange(0, 4)):
        pass


@pytest.mark.parametrize("call, text", [
    (lambda x: add_one_kernel[(1.5,)](x, 8, BLOCK=8), r"a grid of \[1.5\]: extents are whole numbers; triton.cdiv"),
    (lambda x: add_one_kernel[(-1,)](x, 8, BLOCK=8), r"a grid of \[-1\]: no extent is below 0"),
    (lambda x: add_one_kernel[(1,)](x, 8), r"add_one_kernel\(\): missing a required argument: 'BLOCK'; it has x, n, BLOCK"),
    (lambda x: add_one_kernel[(1,)](x, 8, 8, 8), r"add_one_kernel\(\): too many positional arguments; it has x, n, BLOCK"),
    (lambda x: add_one_kernel[(1,)](np.zeros(8), 8, BLOCK=8), "'x' is a NumPy array: torch.from_numpy makes a tensor of it"),
    (lambda x: add_one_kernel[(1,)](x, x, BLOCK=8), r"lt of int32 and pointer<fp32>: was a tensor passed where a number was meant\?"),
    (lambda x: range_kernel[(1,)](x, 8, BLOCK=x), r"an index of type pointer<fp32>"),
    (lambda x: shapes_kernel[(1,)](x, 8, BLOCK=8), r"blocks of shapes \[4\] and \[8\] do not broadcast"),
    (lambda x: mask_kernel[(1,)](x, 8, BLOCK=8), r"blocks of shapes \[4\] and \[8\] do not broadcast"),
    (lambda x: iterated_kernel[(1,)](x, 8, BLOCK=8), "a kernel works on whole blocks")])
def test_a_mistake_is_told(torch, call, text):
    with pytest.raises((TypeError, ValueError), match=text):
        call(torch.from_numpy(np.zeros(8, np.float32)))


@triton.jit
def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


@triton.jit
def recursive_kernel(x, n):
    tl.store(x, factorial(n))


def test_a_function_may_call_itself(torch):
    x = torch.from_numpy(np.zeros(1, np.float32))
    recursive_kernel[(1,)](x, 5)
    assert x.numpy()[0] == 120


# ── accepted, and without effect ──

@triton.jit(do_not_specialize=["n"], debug=True, noinline=True)
def plain_kernel(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i) * 2)


@triton.jit(do_not_specialize_on_alignment=["x"], launch_metadata=None, repr=None, version=1)
def hinted_kernel(x, n, BLOCK: tl.constexpr):
    tl.assume(n > 0)
    i = tl.max_contiguous(tl.multiple_of(tl.max_constancy(tl.arange(0, BLOCK), 1), 16), 16)
    for _ in tl.range(0, 1, num_stages=3, loop_unroll_factor=2, flatten=True, warp_specialize=True, disallow_acc_multi_buffer=True,
                      disable_licm=True):
        v = tl.load(x + i, cache_modifier=".cg", eviction_policy="evict_last", volatile=True)
    tl.debug_barrier()
    tl.device_print("v", v)
    tl.static_assert(BLOCK > 0, "block")
    tl.device_assert(n > 0, "n")
    tl.extra.cuda.gdc_wait()
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(x + i, v * 2, cache_modifier=".wb", eviction_policy="evict_first")


OPTIONS = {"num_warps": 8, "num_stages": 4, "num_ctas": 1, "maxnreg": 64, "enable_fp_fusion": False, "waves_per_eu": 2, "kpack": 2,
           "matrix_instr_nonkdim": 16, "launch_cooperative_grid": False, "launch_pdl": True, "num_buffers_warp_spec": 2,
           "num_consumer_groups": 1, "reg_dec_producer": 8, "reg_inc_consumer": 8, "debug": True, "sanitize_overflow": True}


def outcome(kernel, **options):
    with kb.Torch("small") as torch:
        x = torch.from_numpy(np.arange(8, dtype=np.float32))
        launch = kernel[(1,)](x, 8, BLOCK=8, **options)
        return list(x.numpy()), launch.trace.pe_exec_ns


@pytest.mark.parametrize("option", sorted(IGNORED | OPTIONS.keys()))
def test_a_launch_option_of_a_compiler_changes_neither_numbers_nor_time(option):
    assert outcome(plain_kernel, **{option: OPTIONS.get(option, 1)}) == outcome(plain_kernel)


def test_hints_in_a_kernel_change_neither_numbers_nor_time():
    assert outcome(hinted_kernel) == outcome(plain_kernel)


@triton.jit
def product_kernel(out, a, b, HINTS: tl.constexpr):
    i = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    if HINTS:
        c = tl.dot(tl.load(a + i), tl.load(b + i), allow_tf32=False, input_precision="ieee", max_num_imprecise_acc=0)
        c = tl.maximum(c, 0.0, propagate_nan=tl.PropagateNan.ALL)
    else:
        c = tl.dot(tl.load(a + i), tl.load(b + i))
        c = tl.maximum(c, 0.0)
    tl.store(out + i, c)


def test_how_a_product_is_rounded_inside_has_no_effect(torch):
    rng = np.random.default_rng(1)
    a, b = (torch.from_numpy(rng.standard_normal((16, 16)).astype(np.float16)) for _ in range(2))
    outs = [torch.from_numpy(np.zeros((16, 16), np.float32)) for _ in range(2)]
    times = [product_kernel[(1,)](out, a, b, HINTS=hints).trace.pe_exec_ns for out, hints in zip(outs, (False, True))]
    assert times[0] == times[1] and np.array_equal(outs[0].numpy(), outs[1].numpy())


def test_padding_and_boundary_checks_act(torch):
    @triton.jit
    def padded_kernel(out, x, n, PADDING: tl.constexpr):
        p = tl.make_block_ptr(x, (n,), (1,), (0,), (4,), (0,))
        tl.store(out + tl.arange(0, 4), tl.load(p, boundary_check=(0,), padding_option=PADDING))

    x = torch.from_numpy(np.ones(4, np.float32))
    for padding, expected in (("zero", [1, 1, 0, 0]), ("nan", [1, 1, np.nan, np.nan])):
        out = torch.from_numpy(np.zeros(4, np.float32))
        padded_kernel[(1,)](out, x, 2, PADDING=padding)
        assert np.array_equal(out.numpy(), expected, equal_nan=True)
