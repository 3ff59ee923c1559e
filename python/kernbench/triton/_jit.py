"""Decorators and launches: from `kernel[grid](…)` to programs on PEs."""

import functools
import inspect
import math
import operator
import os
import warnings

import numpy as np

from .. import _core
from . import _types as types
from ._errors import at_launch, checked_call, in_kernel, meant, no_parameter
from ._memory import Spans, TensorDescriptor
from ._own_writes import OwnWrites
from ._record import Instance, KernelRuntimeError, KernelTypeError, KernelValueError, Places, TritonError, kernel_line, line_text, running
from ._rewrite import rewritten
from ._tensor import tensor
from ._types import pointer_type
from ._values import as_tensor, is_number
from .tools.tensor_descriptor import TensorDescriptor as HostDescriptor

# What only steers a compiler: accepted, and without effect.
IGNORED = frozenset("num_warps num_stages num_ctas maxnreg enable_fp_fusion enable_warp_specialization num_consumer_groups "
                    "num_buffers_warp_spec reg_dec_producer reg_inc_consumer waves_per_eu matrix_instr_nonkdim kpack "
                    "cluster_dims launch_cooperative_grid launch_pdl device stream warmup extern_libs allow_flush_denorm "
                    "sanitize_overflow debug optimize_epilogue ptx_version ir_override instrumentation_mode".split())


MOST_PROGRAMS = 1 << 22  # of a launch: each takes about a millisecond and a kilobyte to record


class TransferCount:
    """How a load or store of a line was moved: strided transfers, and scattered ones with their runs; bytes that were asked
    for, and bytes that memory moves for them in its bursts."""

    def __init__(self):
        self.strided = self.scattered = self.runs = self.lanes = self.asked = self.moved = 0

    def add(self, runs, asked, moved):
        self.strided += runs == 0
        self.scattered += runs > 0
        self.runs += runs
        self.asked += asked
        self.moved += moved

    def __repr__(self):
        text = f"{self.strided} strided"
        if self.scattered:
            text += f", {self.scattered} scattered in {self.runs} runs"
        if self.scattered or self.moved >= 2 * self.asked > 0:
            text += f": {self.moved:,} B moved for {self.asked:,} B asked"
        return text


class Launch:
    """A launch of a grid: what its programs share while they are recorded, and what is known of it afterwards."""

    def __init__(self, torch, name, grid, tensors):
        self.torch = torch
        self.name = name
        self.grid = grid
        self.spans = Spans([_Span(t, name) for name, t in tensors], torch._tensor_at)
        self.places = Places()
        self.transfers = {}  # by line of the kernel's file
        self.notes = []  # what a reader of its numbers should know, a sentence each
        self.handle = None
        self._pending = None

    def count(self, access):
        line = line_text(kernel_line())
        self._pending = self.transfers.get(line)
        if self._pending is None:
            self._pending = self.transfers[line] = TransferCount()
        self._pending.lanes += access.addresses.size

    def moved(self, runs, asked, moved):
        """How the transfer that was counted last went, as `tl.last_transfer` has it."""
        if self._pending is not None:
            self._pending.add(runs, asked, moved)
        self._pending = None

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    @property
    def trace(self):
        """When and how long; completes the launch."""
        self.torch.wait(self.handle)
        return self.handle.trace

    def wait(self):
        self.torch.wait(self.handle)
        return self

    def __repr__(self):
        lines = [f"<launch of {self.name} {list(self.grid)}"]
        lines += [f"  {line}: {count}" for line, count in sorted(self.transfers.items())]
        lines += [f"  note: {text}" for text in self.notes]
        return "\n".join(lines) + ">"


class _Span:
    """Where a tensor lies, under the name of the parameter through which the kernel has it."""

    def __init__(self, t, name):
        self.ptr, self.nbytes, self.name = t.data_ptr(), t.nbytes, name


def _is_tensor(value):
    return isinstance(value, _core.Tensor) or getattr(value, "_is_tensor", False)


def _tensors(value):
    """The tensors of a launch argument: itself, those of a tuple, that of a descriptor."""
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in _tensors(v)]
    value = value.base if isinstance(value, HostDescriptor) else value
    return [value] if _is_tensor(value) else []


def _named_argument(kernel, name, value, is_constexpr):
    if isinstance(value, np.ndarray) and value.ndim and not is_constexpr:
        raise KernelTypeError(f"{kernel}: argument '{name}' is a NumPy array; torch.from_numpy makes a tensor of it")
    try:
        return _argument(value, is_constexpr)
    except TritonError as error:
        error.args = (f"{kernel}: argument '{name}': {error}",)
        raise


def _argument(value, is_constexpr):
    """A launch argument as the kernel sees it."""
    if _is_tensor(value):
        return tensor(pointer_type(types.OF_CORE[str(value.dtype)]), (), value.data_ptr())
    if isinstance(value, HostDescriptor):
        return TensorDescriptor(_argument(value.base, False), value.shape, value.strides, value.block_shape, value.padding)
    if is_constexpr or value is None or isinstance(value, (str, types.dtype)) or callable(value):
        return value
    if is_number(value):
        return as_tensor(value, types.float32 if isinstance(value, (float, np.floating)) else None)
    if isinstance(value, (tuple, list)):
        return tuple(_argument(v, False) for v in value)
    return value


def _is_row_major(t):
    """Whether a tensor's addresses are its logical order."""
    dp = t.dp
    if getattr(dp, "is_interleaved", False):
        return True
    splits = {str(dp.cube), str(dp.pe)}
    if getattr(dp, "is_own", False) or any("tiled" in split for split in splits):
        return False
    if len({(s.cube, s.pe) for s in t.shards}) == 1 or splits <= {"replicate", "row_wise"}:
        return True
    return int(np.prod(t.shape[:-1])) == 1


def _check_placement(name, argument, t):
    """Pointer arithmetic of a kernel is row-major."""
    if not _is_row_major(t):
        raise KernelValueError(
            f"{name}: argument '{argument}' is placed by {t.dp}, so its addresses are not in row-major order. A Triton kernel "
            "needs kb.interleaved(), a whole tensor on one PE, or a split by rows (cube='row_wise', pe='row_wise')")


def _dealt(count, places, schedule):
    """Programs of each PE, in the order in which it runs them."""
    programs = [[] for _ in places]
    for i in range(count):
        programs[_place(schedule, i, count, places)].append(i)
    return programs


def _place(schedule, i, count, places):
    if schedule in (None, "round_robin"):
        return i % len(places)
    if schedule == "blocks":
        return i * min(count, len(places)) // count
    if callable(schedule):
        chosen = schedule(i, count, places)
        if isinstance(chosen, (int, np.integer)) and 0 <= chosen < len(places):
            return int(chosen)
        if tuple(chosen) in places:
            return places.index(tuple(chosen))
        raise KernelValueError(f"schedule put program {i} on {chosen!r}; expected a number below {len(places)} or (cube, pe)")
    raise KernelValueError(f"schedule is {schedule!r}; known: 'round_robin', 'blocks', or a function of (program, count, places)")


def _extents(kernel, grid, arguments):
    try:
        return _grid_of(grid, dict(arguments))
    except TritonError:
        raise
    except Exception as error:
        raise at_launch(error, kernel, "its grid: ") from error


def _grid_of(grid, meta):
    grid = grid(meta) if callable(grid) else grid
    grid = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    if not 1 <= len(grid) <= 3:
        raise KernelValueError(f"a grid has one to three axes, not {len(grid)}")
    try:
        extents = tuple(operator.index(n) for n in grid) + (1,) * (3 - len(grid))
    except TypeError:
        raise KernelTypeError(f"a grid of {list(grid)}: extents are whole numbers; triton.cdiv(n, BLOCK) divides upward") from None
    if any(n < 0 for n in extents):
        raise KernelValueError(f"a grid of {list(grid)}: no extent is below 0")
    if math.prod(extents) > MOST_PROGRAMS:
        raise KernelValueError(f"a grid of {list(grid)} has {math.prod(extents):,} programs; each is recorded on its own, and a "
                               f"launch takes at most {MOST_PROGRAMS:,}. Let each program do more: a larger block, or a loop")
    return extents


class KernelInterface:
    """What `kernel[grid](…)` works on: a jit function, or one behind autotune or heuristics."""

    def __getitem__(self, grid):
        return lambda *args, **options: self.run(*args, grid=grid, **options)

    __iter__ = None  # with __getitem__ alone Python would iterate without end

    def warmup(self, *args, grid=None, **options):
        """No effect: there is nothing to compile."""


class JITFunction(KernelInterface):
    """A kernel, or a function that kernels call."""

    def __init__(self, function, **options):
        functools.update_wrapper(self, function)
        self.fn = function
        self.signature = inspect.signature(function)
        self.arg_names = list(self.signature.parameters)
        self.params = list(self.signature.parameters.values())
        annotated = {i for i, p in enumerate(self.params) if "constexpr" in _annotation_text(p.annotation)}
        self.constexprs = getattr(function, "constexprs", annotated)
        self._body = None

    @property
    def body(self):
        if self._body is None:
            if inspect.isgeneratorfunction(self.fn) or inspect.iscoroutinefunction(self.fn):
                raise KernelTypeError(f"{self.__name__} has a `yield` or is `async`: a kernel is a plain function, which runs to its end")
            self._body = rewritten(self.fn)
        return self._body

    @property
    def src(self):
        return inspect.getsource(self.fn)

    def __call__(self, *args, **options):
        if running() is None:
            raise KernelRuntimeError(f"{self.__name__} is a @triton.jit function: launch it as {self.__name__}[grid](...), or call it "
                               "from another kernel")
        return self.body(*args, **options)

    def __repr__(self):
        return f"JITFunction({self.__name__})"

    def run(self, *args, grid, schedule=None, **options):
        if running() is not None:
            raise KernelTypeError(f"{self.__name__} is launched inside a kernel; call it instead")
        unused = [k for k in options if k not in self.arg_names]
        for key in unused:
            if key not in IGNORED:
                raise KernelTypeError(no_parameter(self.__name__, key, self.arg_names))
            options.pop(key)
        if "schedule" in self.arg_names and schedule is not None:
            options["schedule"], schedule = schedule, None
        try:
            bound = self.signature.bind(*args, **options)
        except TypeError as error:
            raise KernelTypeError(f"{self.__name__}(): {error}; it has {', '.join(self.arg_names)}") from None
        bound.apply_defaults()
        return self._launch(bound.arguments, grid, schedule)

    def _launch(self, arguments, grid, schedule):
        tensors = [(n, t) for n, v in arguments.items() for t in _tensors(v)]
        torch = _context([t for _, t in tensors], self.__name__, arguments)
        for name, t in tensors:
            _check_placement(self.__name__, name, t)
            t._name_once(name)
        values = {n: _named_argument(self.__name__, n, v, i in self.constexprs) for i, (n, v) in enumerate(arguments.items())}
        launch = Launch(torch, self.__name__, _extents(self.__name__, grid, arguments), tensors)
        count = math.prod(launch.grid)
        if count == 0:
            return launch
        places, shape = _places(torch.machine, count)
        programs = dict(zip(places, _dealt(count, places, schedule)))

        def body(*pointers, tl):
            mine = programs[(tl.program_id(1), tl.program_id(0))]
            with np.errstate(all="ignore"):  # numbers of a kernel overflow and divide as the machine's do
                for number in mine:
                    self._record(launch, tl, number, values)

        launch.handle = torch.launch(self.__name__, body, *[t for _, t in tensors], grid=shape)
        return launch

    def _record(self, launch, tl, number, values):
        x, y, _ = launch.grid
        tl.begin_instance()
        ids = (number % x, number // x % y, number // (x * y))
        with Instance(launch, tl, ids, OwnWrites()):
            try:
                self.body(**values)
            except Exception as error:
                raise in_kernel(error, self.__name__, ids) from None


def _places(machine, count):
    """The PEs that take part: all of the SIP, or as many cubes and PEs as there are programs."""
    pes, cubes = machine.pes, machine.cubes
    shape = (min(count, pes), min(-(-count // pes), cubes))
    return [(cube, pe) for cube in range(shape[1]) for pe in range(shape[0])], shape


def _annotation_text(annotation):
    if isinstance(annotation, str):
        return annotation
    return getattr(annotation, "__name__", "") or str(annotation)


def _context(tensors, name, arguments):
    contexts = {id(t._torch): t._torch for t in tensors}
    if len(contexts) == 1:
        return next(iter(contexts.values()))
    if contexts:
        raise KernelValueError(f"{name}: its tensors are of {len(contexts)} contexts; launch with tensors of one")
    arrays = [n for n, value in arguments.items() if isinstance(value, np.ndarray)]
    hint = f"; '{arrays[0]}' is a NumPy array: torch.from_numpy makes a tensor of it" if arrays else ""
    raise KernelTypeError(f"{name}: no argument is a tensor, so nothing says on which machine it runs{hint}")


def jit(fn=None, **options):
    """Makes a function a kernel. What steers the compiler is accepted and without effect."""
    if fn is None:
        return lambda function: jit(function, **options)
    return fn if isinstance(fn, KernelInterface) else JITFunction(fn, **options)


class Config:
    """One choice of meta-parameters."""

    def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, **ignored):
        self.kwargs, self.pre_hook = kwargs, pre_hook
        self.num_warps, self.num_stages, self.num_ctas, self.maxnreg = num_warps, num_stages, num_ctas, maxnreg

    def all_kwargs(self):
        return dict(self.kwargs)

    def __repr__(self):
        return ", ".join(f"{k}: {v}" for k, v in {**self.kwargs, "num_warps": self.num_warps,
                                                  "num_stages": self.num_stages}.items())

    def __eq__(self, other):
        return isinstance(other, Config) and repr(self) == repr(other)

    def __hash__(self):
        return hash(repr(self))


class _Wrapper(KernelInterface):
    def __init__(self, fn, arg_names):
        functools.update_wrapper(self, fn, updated=())
        self.fn, self.arg_names = fn, arg_names

    def __call__(self, *args, **options):
        return self.fn(*args, **options)


class Heuristics(_Wrapper):
    """Meta-parameters computed from the arguments, by name, at each launch."""

    def __init__(self, fn, values):
        super().__init__(fn, fn.arg_names)
        self.values = values

    def run(self, *args, grid, **options):
        for name, function in self.values.items():
            try:
                options[name] = function({**dict(zip(self.arg_names, args)), **options})
            except Exception as error:
                raise at_launch(error, self.__name__, f"the heuristic of {name}: ") from error
        return self.fn.run(*args, grid=grid, **options)


@checked_call
def heuristics(values):
    return lambda fn: Heuristics(fn, values)


class Autotuner(_Wrapper):
    """Simulates each configuration once, in a context of its own, and keeps the fastest for each key."""

    def __init__(self, fn, configs, key, prune_configs_by=None, pre_hook=None, post_hook=None):
        super().__init__(fn, fn.arg_names)
        self.configs = list(configs) or [Config({})]
        self.keys = self._checked(key)
        self.prune = prune_configs_by or {}
        self.pre_hook = pre_hook
        self.cache = {}  # key → Config
        self.timings = {}  # key → {Config: nanoseconds}
        self.left_out = {}  # key → {Config: why it cannot be had}
        self.best_config = None

    def _checked(self, key):
        """The key's names, each of which must be a parameter: any other would never tell two launches apart."""
        if isinstance(key, str):
            raise KernelTypeError(f"autotune of {self.__name__}: key is {key!r}; it must be a list of names of parameters, such as [{key!r}]")
        for name in key:
            if name not in self.arg_names:
                raise KernelValueError(f"autotune of {self.__name__}: key names '{name}', which is no parameter"
                                       f"{meant(str(name), self.arg_names)}; it has {', '.join(self.arg_names)}")
        return list(key)

    def run(self, *args, grid, **options):
        named = {**dict(zip(self.arg_names, args)), **options}
        key = self._key(named)
        if key not in self.cache:
            self._tune(key, args, grid, options, named)
        self.best_config = config = self.cache[key]
        if config.pre_hook:
            config.pre_hook({**named, **config.all_kwargs()})
        launch = self.fn.run(*args, grid=grid, **options, **config.all_kwargs())
        for without, why in self.left_out.get(key, {}).items():
            launch.note(f"autotune left out {without}: {why}")
        return launch

    def _key(self, named):
        numbers = tuple(named[k] for k in self.keys if k in named)
        return numbers + tuple(str(t.dtype) for v in named.values() for t in _tensors(v))

    def _tune(self, key, args, grid, options, named):
        configs = self._pruned(named)
        if len(configs) == 1:
            self.cache[key] = configs[0]
            return
        times, failures = {}, []
        for config in configs:
            same = next((c for c in times if _are_alike(c, config)), None)  # they differ in what only a compiler listens to
            try:
                times[config] = times[same] if same else self._simulate(config, args, grid, options)
            except Exception as failure:  # a configuration that does not fit the machine is no choice
                failures.append((config, failure))
        if not times:
            raise KernelValueError(f"autotune of {self.__name__}: every configuration failed; the first, "
                                   f"{failures[0][0]}: {failures[0][1]}") from failures[0][1]
        self.timings[key] = times
        self.left_out[key] = {config: str(failure) for config, failure in failures}
        for config, failure in failures:
            warnings.warn(f"autotune of {self.__name__} leaves out {config}: {failure}", stacklevel=4)
        self.cache[key] = min(times, key=times.get)
        if os.environ.get("TRITON_PRINT_AUTOTUNING") == "1":
            print(f"Triton autotuning for function {self.__name__}, best config: {self.cache[key]}: {times[self.cache[key]]} ns")

    def _pruned(self, named):
        configs = self.configs
        early = self.prune.get("early_config_prune")
        if early:
            configs = early(configs, named)
        return list(configs)

    def _simulate(self, config, args, grid, options):
        """The launch alone, on a machine of its own: the user's clock, log and data stay as they are."""
        from .. import Torch
        values = list(args) + list(options.values())
        torch = _tensors(values)[0]._torch
        with Torch(torch.machine, data=True) as own:
            if (device := torch.ahbm.current_device()) is not None:
                own.ahbm.set_device(device)
            copy = _Copies(torch, own)
            args = [copy(a) for a in args]
            options = {k: copy(v) for k, v in options.items()}
            if config.pre_hook:
                config.pre_hook({**dict(zip(self.arg_names, args)), **options, **config.all_kwargs()})
            return self.fn.run(*args, grid=grid, **options, **config.all_kwargs()).trace.pe_exec_ns


def _are_alike(one, other):
    return one.kwargs == other.kwargs and one.pre_hook is other.pre_hook is None


class _Copies:
    """Tensors like those of a context in another one; integers with their content, for they may steer."""

    def __init__(self, torch, own):
        self.torch, self.own = torch, own
        self.pointed = {}  # where a tensor begins that an integer points to → its copy

    def __call__(self, value):
        if isinstance(value, HostDescriptor):
            return value.with_base(self(value.base))
        if not _is_tensor(value):
            return value
        if types.OF_CORE[str(value.dtype)].is_int():
            return self.own.from_numpy(self._translated(self.torch._look(value)), dp=value.dp, name=value.name)
        return self.own.empty(value.shape, value.dtype, dp=value.dp, name=value.name)

    def _translated(self, numbers):
        """Tables of pointers point to the copies."""
        if numbers.dtype.itemsize < 8:
            return numbers
        pointers = {int(n): self._pointer(int(n)) for n in np.unique(numbers)}
        return np.vectorize(pointers.get, otypes=[numbers.dtype])(numbers) if numbers.size else numbers

    def _pointer(self, number):
        found = self.torch._layout_at(number) if number > 0 else None
        if found is None:
            return number
        begin, shape, dtype, dp = found
        if begin not in self.pointed:
            self.pointed[begin] = self.own.empty(shape, dtype, dp=dp)
        return number - begin + self.pointed[begin].data_ptr()


@checked_call
def autotune(configs, key, prune_configs_by=None, reset_to_zero=None, restore_value=None, pre_hook=None, post_hook=None,
             warmup=None, rep=None, use_cuda_graph=False, do_bench=None, cache_results=False):
    """`key` as in Triton; how a GPU would measure (warmup, rep, reset_to_zero …) has no effect."""
    return lambda fn: Autotuner(fn, configs, key, prune_configs_by, pre_hook, post_hook)
