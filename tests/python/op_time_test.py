"""What each operation of the kernel language costs: the class it is of, and how often it passes over its elements."""
import pytest

import kernbench as kb

N = 1024  # i32: 4096 bytes are 16 vectors of 256 bytes; a cycle is 1 ns
CLASSES = "simple", "divide", "transcendental"


def time_of(op, dtype, setting):
    with kb.Torch(kb.Machine("small", [setting]), data=False) as torch:
        x = torch.empty((N,), dtype)

        def kernel(x, tl):
            op(tl, tl.load(tl.shard(x).ptr, (N,), dtype))

        run = torch.launch("kernel", kernel, x, grid=(1, 1))
        torch.wait(run)
        return run.trace.pe_exec_ns


# 2^10 = 1024 elements: a scan passes 10 times, a bitonic sort 10 · 11 / 2 times.
OPS = {
    "xor": (lambda tl, x: tl.xor(x, x), "i32", "simple", 1),
    "and": (lambda tl, x: tl.logical_and(x, x), "i32", "simple", 1),
    "or": (lambda tl, x: tl.logical_or(x, x), "i32", "simple", 1),
    "not": (lambda tl, x: tl.logical_not(x), "i32", "simple", 1),
    "shl": (lambda tl, x: tl.shl(x, 3), "i32", "simple", 1),
    "shr": (lambda tl, x: tl.shr(x, 3), "i32", "simple", 1),
    "umulhi": (lambda tl, x: tl.umulhi(x, x), "u32", "divide", 1),
    "floor": (lambda tl, x: tl.floor(x), "f32", "simple", 1),
    "ceil": (lambda tl, x: tl.ceil(x), "f32", "simple", 1),
    "log2": (lambda tl, x: tl.log2(x), "f32", "transcendental", 1),
    "bitcast": (lambda tl, x: tl.bitcast(x, "i32"), "f32", "simple", 1),
    "argmin": (lambda tl, x: tl.argmin(x), "f32", "simple", 1),
    "prod": (lambda tl, x: tl.prod(x), "f32", "simple", 1),
    "xor_sum": (lambda tl, x: tl.xor_sum(x), "i32", "simple", 1),
    "cumsum": (lambda tl, x: tl.cumsum(x), "f32", "simple", 10),
    "cumprod": (lambda tl, x: tl.cumprod(x), "f32", "simple", 10),
    "cummax": (lambda tl, x: tl.cummax(x), "f32", "simple", 10),
    "cummin": (lambda tl, x: tl.cummin(x), "f32", "simple", 10),
    "flip": (lambda tl, x: tl.flip(x), "f32", "simple", 1),
    "sort": (lambda tl, x: tl.sort(x), "f32", "simple", 55),
    "maximum_number": (lambda tl, x: tl.maximum_number(x, x), "f32", "simple", 1),
    "minimum_number": (lambda tl, x: tl.minimum_number(x, x), "f32", "simple", 1),
    "max_number": (lambda tl, x: tl.max_number(x), "f32", "simple", 1),
    "argmin_number": (lambda tl, x: tl.argmin_number(x), "f32", "simple", 1),
    "gather": (lambda tl, x: tl.gather(x, x), "i32", "divide", 1),
    "histogram": (lambda tl, x: tl.histogram(x, N), "i32", "divide", 1),
}


@pytest.mark.parametrize("name", OPS)
def test_an_operation_takes_the_cycles_of_its_class_for_each_pass(name):
    op, dtype, of_class, passes = OPS[name]
    for other in CLASSES:
        more = time_of(op, dtype, f"pe.pe_math.{other}_cycles=100") - time_of(op, dtype, f"pe.pe_math.{other}_cycles=0")
        assert more == (16 * 100 * passes if other == of_class else 0)


@pytest.mark.parametrize("dtype, vectors", [("i8", 4), ("u8", 4), ("i16", 8), ("u16", 8), ("u32", 16), ("i64", 32), ("u64", 32)])
def test_wider_elements_take_more_vectors(dtype, vectors):
    def xor(tl, x):
        tl.xor(x, x)

    more = time_of(xor, dtype, "pe.pe_math.simple_cycles=100") - time_of(xor, dtype, "pe.pe_math.simple_cycles=0")
    assert more == vectors * 100


def test_an_atomic_is_a_read_and_a_write_of_all_its_lanes():
    with kb.Torch("small", data=False) as torch:
        x = torch.empty((N,), "i32")

        def kernel(x, tl):
            tl.atomic("add", tl.shard(x).ptr, tl.full((N,), 1, "i32"))

        torch.wait(torch.launch("kernel", kernel, x, grid=(1, 1)))
        kinds = list(torch.log().column("kind"))
        assert [k for k in kinds if k.startswith("dma")] == ["dma_read", "dma_write"]
