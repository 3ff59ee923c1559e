"""1,000 random programs: what the kernel computes is what NumPy computes, bit by bit."""
import numpy as np

import kernbench as kb

ARITHMETIC = [("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("maximum", np.maximum), ("minimum", np.minimum)]
COMPARE = [("lt", np.less), ("ge", np.greater_equal), ("eq", np.equal)]
NUMPY = {"f32": np.float32, "i32": np.int32}


class Program:
    """Steps that a kernel records and NumPy follows: each takes values made before and makes one."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.dtype = str(self.random.choice(["f32", "i32"]))
        self.rows, self.columns = (int(n) for n in self.random.integers(1, 9, 2))
        self.steps = [self.pick() for _ in range(int(self.random.integers(3, 12)))]

    def pick(self):
        kinds = ["binary", "scalar", "where", "slice", "negate", "row", "clamp"]
        if self.dtype == "i32":
            kinds += ["sum", "mod"]
        if self.dtype == "f32":
            kinds += ["divide", "half", "sqrt"]
        return (str(self.random.choice(kinds)), *(int(n) for n in self.random.integers(0, 1 << 30, 4)))

    def inputs(self):
        shape = (3, self.rows, self.columns)
        if self.dtype == "i32":
            return self.random.integers(-1000, 1000, shape).astype(np.int32)
        return self.random.normal(0, 4, shape).astype(np.float32)

    # The same walk for both sides: `do` has the operations.
    def run(self, do, values):
        for kind, a, b, c, d in self.steps:
            x, y, z = (values[n % len(values)] for n in (a, b, c))
            values.append(getattr(do, kind)(x, y, z, d))
        return values[-1]


class InNumpy:
    def binary(self, x, y, z, n): return ARITHMETIC[n % 5][1](x, y)
    def scalar(self, x, y, z, n): return ARITHMETIC[n % 5][1](x, x.dtype.type(n % 7))
    def where(self, x, y, z, n): return np.where(COMPARE[n % 3][1](x, y), y, z)
    def slice(self, x, y, z, n): return np.broadcast_to(x[n % x.shape[0]], x.shape).copy()
    def negate(self, x, y, z, n): return -x
    def row(self, x, y, z, n): return x + y[:1]
    def clamp(self, x, y, z, n): return np.minimum(np.maximum(x, x.dtype.type(-5)), x.dtype.type(n % 9))
    def sum(self, x, y, z, n): return np.broadcast_to(x.sum(axis=1, keepdims=True, dtype=np.int32), x.shape).copy()
    def mod(self, x, y, z, n): return np.fmod(x, np.int32(n % 11 + 1))  # the sign of x, as in C and Triton
    def divide(self, x, y, z, n): return x / np.float32(n % 6 + 1.5)
    def half(self, x, y, z, n): return np.clip(x, -60000, 60000).astype(np.float16).astype(np.float32)
    def sqrt(self, x, y, z, n): return np.sqrt(np.abs(x))


class InKernel:
    def __init__(self, tl): self.tl = tl
    def binary(self, x, y, z, n):
        return [x + y, x - y, x * y, None, None][n % 5] if n % 5 < 3 else getattr(self.tl, ARITHMETIC[n % 5][0])(x, y)
    def scalar(self, x, y, z, n): return getattr(self.tl, ARITHMETIC[n % 5][0])(x, n % 7)
    def where(self, x, y, z, n): return self.tl.where([x < y, x >= y, x == y][n % 3], y, z)
    def slice(self, x, y, z, n): return self.tl.broadcast_to(x[n % x.shape[0]], x.shape)
    def negate(self, x, y, z, n): return -x
    def row(self, x, y, z, n): return x + y[:1]
    def clamp(self, x, y, z, n): return self.tl.clamp(x, -5, n % 9)
    def sum(self, x, y, z, n): return self.tl.broadcast_to(self.tl.sum(x, axis=1, keep_dims=True), x.shape)
    def mod(self, x, y, z, n): return x % (n % 11 + 1)
    def divide(self, x, y, z, n): return x / (n % 6 + 1.5)
    def half(self, x, y, z, n): return self.tl.clamp(x, -60000, 60000).to("f16").to("f32")
    def sqrt(self, x, y, z, n): return self.tl.sqrt(abs(x))


def difference(seed):
    """None, or how the two differ."""
    program = Program(seed)
    inputs = program.inputs()
    with np.errstate(all="ignore"):
        expected = np.ascontiguousarray(program.run(InNumpy(), list(inputs)))
    size = inputs[0].nbytes

    def kernel(x, out, tl):
        values = [tl.load(x + k * size, inputs[0].shape, program.dtype) for k in range(3)]
        tl.store(out, tl.copy(program.run(InKernel(tl), values)))

    got = kb.run_functional(kernel, 1, "none", [[inputs, np.zeros_like(inputs[0])]]).tensors[0][1]
    if np.array_equal(got, expected, equal_nan=program.dtype == "f32"):
        return None
    return f"seed {seed}: {program.steps}\n{got}\n{expected}"


def test_1000_random_programs_are_numpys():
    different = [d for d in map(difference, range(1000)) if d]
    assert not different, f"{len(different)} differ; the first: {different[0]}"
