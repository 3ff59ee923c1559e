"""Takes a kernel out of a file that imports things which are not there."""

import ast
import builtins
import importlib
import os
import sys
import tokenize
import types as python_types
import warnings

from ._record import KernelValueError


def _own_modules():
    """The modules of Triton that there are here, under Triton's names."""
    from . import _jit
    modules = {"triton.runtime.jit": _jit, "triton.runtime.autotuner": _jit}
    for name, module in list(sys.modules.items()):
        if name == __package__ or name.startswith(__package__ + "."):
            parts = name[len(__package__):].split(".")
            if not any(part.startswith("_") for part in parts):
                modules["triton" + ".".join(parts)] = module
    return modules


def install():
    """From now on `import triton` means this package, in every file of this process."""
    sys.modules.update(_own_modules())
    if not any(isinstance(finder, _NoTorch) for finder in sys.meta_path):
        sys.meta_path.append(_NoTorch())


class _NoTorch:
    """Comes last of all who look for a module: says what to do about a kernel's file that imports torch where there is none."""

    def find_spec(self, name, path=None, target=None):
        asks_only = sys._getframe(1).f_back.f_globals.get("__name__") == "importlib.util"
        if name != "torch" or asks_only:
            return None
        raise ModuleNotFoundError("No module named 'torch'. To run a kernel of a file that imports it, cut the kernel out: "
                                  "kb.triton.load('file.py', 'kernel') takes it with what it reaches and nothing else", name=name)


def _source(path):
    try:
        with tokenize.open(path) as file:
            return file.read()
    except OSError as e:
        raise KernelValueError(f"{path}: {e.strerror}") from e


class _Definitions(ast.NodeVisitor):
    """What a file's own level defines: name → the statements that bind it, last one first choice; branches are all taken."""

    def __init__(self):
        self.of = {}
        self.stars = []
        self.inner = {}  # functions inside functions and classes
        self.in_handler = False

    def add(self, name, node):
        node.is_fallback = self.in_handler or _is_none(node)
        self.of.setdefault(name, []).append(node)

    def visit_ExceptHandler(self, node):
        before, self.in_handler = self.in_handler, True
        self.generic_visit(node)
        self.in_handler = before

    def visit_FunctionDef(self, node):
        self.add(node.name, node)
        self._look_inside(node)

    def visit_ClassDef(self, node):
        self.add(node.name, node)
        self._look_inside(node)

    def _look_inside(self, node):
        for part in ast.walk(node):
            if part is not node and isinstance(part, ast.FunctionDef):
                part.is_fallback = False
                self.inner.setdefault(part.name, []).append(part)

    def visit_Assign(self, node):
        kernel = self._kernel_in_text(node)
        if kernel is not None:
            return self.add(node.targets[0].id, kernel)
        for target in node.targets:
            for name in ast.walk(target):
                if isinstance(name, ast.Name):
                    self.add(name.id, node)

    def _kernel_in_text(self, node):
        """`name = async_compile.triton("name", text)`, as torch's compiler writes it: the kernel in the text, at the file's lines."""
        if not isinstance(node.value, ast.Call) or not isinstance(node.targets[0], ast.Name):
            return None
        texts = [a for a in node.value.args if isinstance(a, ast.Constant) and isinstance(a.value, str) and "@triton.jit" in a.value]
        if not texts:
            return None
        tree = ast.parse(texts[0].value)
        ast.increment_lineno(tree, texts[0].lineno - 1)
        self.visit(tree)
        kernels = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
        return kernels[-1] if kernels else None

    def visit_AnnAssign(self, node):
        if isinstance(node.target, ast.Name) and node.value is not None:
            self.add(node.target.id, node)

    def visit_Import(self, node):
        for alias in node.names:
            self.add(alias.asname or alias.name.split(".")[0], node)

    def visit_ImportFrom(self, node):
        if node.names[0].name == "*":
            self.stars.append(node)
        for alias in node.names:
            self.add(alias.asname or alias.name, node)

    def visit_Expr(self, node):
        pass


def _is_none(node):
    """`triton = None`: what a file says where something is not there."""
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is None


def _choices(nodes):
    """What binds a name, the likeliest first: kernels, then what stands last, then what is said if something is not there."""
    def rank(place_and_node):
        place, node = place_and_node
        is_jit = isinstance(node, ast.FunctionDef) and any(_decorator_name(d) == "jit" for d in node.decorator_list)
        return (not is_jit, node.is_fallback, -place)
    return [node for _, node in sorted(enumerate(nodes), key=rank)]


def _reads(node):
    """The names that a statement reads, in the order in which they stand."""
    names = []
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id not in names:
            names.append(part.id)
    return names


def _writes(function):
    """The names that a function binds itself."""
    return {part.id for part in ast.walk(function) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def _without_arguments(decorator):
    """`@triton.jit(repr=…)` as `@triton.jit`: what a jit is told only steers a compiler, and may need what is not there.

    Of autotune's keywords those that choose configurations are kept.
    """
    if not isinstance(decorator, ast.Call) or _decorator_name(decorator) not in ("jit", "autotune"):
        return decorator
    if _decorator_name(decorator) == "jit":
        return decorator.func
    kept = [k for k in decorator.keywords if k.arg in ("configs", "key", "prune_configs_by")]
    return ast.copy_location(ast.Call(decorator.func, decorator.args, kept), decorator)


def _decorator_name(node):
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


class _File:
    """A file whose names are made when they are reached."""

    def __init__(self, path, names=None):
        self.path = os.path.abspath(path)
        self.text = _source(path)
        try:
            tree = ast.parse(self.text, self.path)
        except SyntaxError as e:
            raise KernelValueError(f"{path}:{e.lineno}: {e.msg}") from e
        definitions = _Definitions()
        definitions.visit(tree)
        self.definitions = definitions.of
        self.inner = definitions.inner
        self.stars = definitions.stars
        self.module = _Module(self, os.path.splitext(os.path.basename(self.path))[0])
        self.module.__file__ = self.path
        self.space = self.module.__dict__
        self.made = set()
        self.failed = {}
        self.others = {self.path: self}
        for name, value in (names or {}).items():
            self.space[name] = value
            self.made.add(name)

    # ── making a name ──
    def make(self, name, why):
        if name in self.made:
            return
        if name not in self.definitions:
            return self._make_missing(name, why)
        self.made.add(name)
        failures = []
        for node in _choices(self.definitions[name]):
            try:
                self._execute(node, name)
                return
            except Exception as e:
                failures.append((node, e))
        node, error = failures[0]
        if isinstance(node, ast.ImportFrom) and self._take_from_triton(name, why):
            return
        self.made.discard(name)
        self.failed[name] = error
        raise KernelValueError(
            f"{os.path.basename(self.path)}:{node.lineno}: '{name}', which {why} reaches, cannot be made: {error}. "
            f"Give it to load as names={{'{name}': …}}") from error

    def _make_missing(self, name, why):
        """From a star import; or, where a kernel was cut out and its alias lost, the function of tl.math that is called so."""
        for node in self.stars:
            try:
                self.space[name] = self._from(node, name)
                return
            except ImportError:
                continue
        if not hasattr(builtins, name):
            self._take_from_triton(name, why)

    def _take_from_triton(self, name, why):
        from .language import math, standard
        module = "standard" if name.startswith("_") else "math"
        found = getattr(standard if module == "standard" else math, name, None)
        if not callable(found) or name.startswith("__"):
            return False
        warnings.warn(f"{os.path.basename(self.path)}: '{name}', which {why} reaches, is not there; tl.{module}.{name} is taken",
                      stacklevel=2)
        self.space[name] = found
        return True

    def _execute(self, node, name):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self.space[name] = self._imported(node, name)
        elif isinstance(node, ast.FunctionDef):
            self._define(node)
            self.space[name] = self.space[node.name]
        else:
            reads = _reads(node)
            if name in reads:  # kernel = triton.jit(kernel): what it was before comes first
                self._execute_before(node, name)
            for read in reads:
                self.make(read, name)
            self._run([node])

    def _execute_before(self, node, name):
        before = self.definitions[name][:self.definitions[name].index(node)]
        if before:
            self._execute(before[-1], name)

    def _run(self, nodes):
        exec(compile(ast.fix_missing_locations(ast.Module(list(nodes), [])), self.path, "exec"), self.space)

    def _define(self, node):
        """A function with the decorators that are known here, and what its body reads."""
        kept = [_without_arguments(d) for d in node.decorator_list if self._keeps(d, node)]
        stripped = ast.FunctionDef(node.name, _without_annotations(node.args), node.body, kept, None, None)
        ast.copy_location(stripped, node)
        for statement in [*node.args.defaults, *[d for d in node.args.kw_defaults if d], *kept]:
            for read in _reads(statement):
                self.make(read, node.name)
        self._run([stripped])
        self._mark_constexprs(node)
        own = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)} | _writes(node)
        for statement in node.body:
            for read in _reads(statement):
                if read not in own:
                    self.make(read, node.name)

    def _mark_constexprs(self, node):
        """Annotations are left out, for they may name anything; which parameters are constexpr is kept."""
        made = self.space[node.name]
        while hasattr(made, "fn") and not hasattr(made, "constexprs"):
            made = made.fn
        arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
        if hasattr(made, "constexprs") or isinstance(made, python_types.FunctionType):
            made.constexprs = {i for i, a in enumerate(arguments) if a.annotation and "constexpr" in ast.unparse(a.annotation)}

    def _keeps(self, decorator, function):
        name = _decorator_name(decorator)
        if name not in ("jit", "autotune", "heuristics", "constexpr_function"):
            return False
        try:
            for read in _reads(_without_arguments(decorator)):
                self.make(read, function.name)
            if name != "jit":
                expression = ast.fix_missing_locations(ast.Expression(_without_arguments(decorator)))
                eval(compile(expression, self.path, "eval"), self.space)
            return True
        except Exception as e:
            if name == "jit":
                raise
            warnings.warn(f"{os.path.basename(self.path)}:{decorator.lineno}: @{name} of {function.name} is left out, for {e}; "
                          "give its meta-parameters at the launch", stacklevel=4)
            return False

    # ── imports ──
    def _imported(self, node, name):
        for alias in node.names:
            if (alias.asname or (alias.name if isinstance(node, ast.ImportFrom) else alias.name.split(".")[0])) != name:
                continue
            if isinstance(node, ast.Import):
                dotted = alias.name if alias.asname else alias.name.split(".")[0]
                module = self._module(dotted) or self._neighbour(dotted.split("."), 0)
                if module is None:
                    raise ImportError(f"module '{alias.name}' is not there")
                return module
            return self._from(node, alias.name)
        raise ImportError(name)

    def _module(self, dotted):
        if dotted == "triton" or dotted.startswith("triton."):
            try:
                return _own_modules().get(dotted) or importlib.import_module(__package__ + dotted[len("triton"):])
            except ImportError:
                raise ImportError(f"kernbench.triton has no '{dotted}'") from None
        if dotted == "torch":
            from . import _torch_numbers
            return _torch_numbers
        if dotted.split(".")[0] in sys.stdlib_module_names or dotted.split(".")[0] == "numpy":
            return importlib.import_module(dotted)
        return None

    def _from(self, node, name):
        if node.level == 0:
            module = self._module(node.module)
            if module is not None:
                if hasattr(module, name):
                    return getattr(module, name)
                return importlib.import_module(f"{module.__name__}.{name}")
        return self._from_file(node, name)

    def _from_file(self, node, name):
        """A name of a neighbouring file of the same project, or such a file itself."""
        parts = (node.module or "").split(".") if node.module else []
        for path in self._paths(parts, node.level):
            other = self._file(path)
            if other is not None and (name in other.definitions or name in other.made or other.stars):
                other.make(name, os.path.basename(self.path))
                if name in other.space:
                    return other.space[name]
        module = self._neighbour([*parts, name], node.level)
        if module is not None:
            return module
        if name in _STAND_INS:
            return self._module(_STAND_INS[name])
        dots = "." * node.level
        raise ImportError(f"'{name}' comes from '{dots}{node.module or ''}', which is not there")

    def _neighbour(self, parts, level):
        """A file of the same project as a module whose names are made when they are asked for."""
        for path in self._paths(parts, level):
            other = self._file(path)
            if other is not None:
                return other.module
        return None

    def _file(self, path):
        if path not in self.others and os.path.isfile(path):
            self.others[path] = _File(path)
            self.others[path].others = self.others
        return self.others.get(path)

    def _paths(self, parts, level):
        folder = os.path.dirname(self.path)
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
        folders = [folder]
        while level == 0 and os.path.dirname(folder) != folder:
            folder = os.path.dirname(folder)
            folders.append(folder)
        for base in folders:
            stem = os.path.join(base, *parts)
            yield stem + ".py"
            yield os.path.join(stem, "__init__.py")


class _Module(python_types.ModuleType):
    """A neighbouring file whose names are made when they are asked for."""

    def __init__(self, file, name):
        super().__init__(name)
        self.__dict__["__kb_file__"] = file

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self.__kb_file__.make(name, self.__name__)
        if name not in self.__dict__:
            raise AttributeError(f"{self.__name__} has no '{name}'")
        return self.__dict__[name]


# What projects import from a module of their own that wraps Triton: `from vllm.triton_utils import tl, triton`.
_STAND_INS = {"triton": "triton", "tl": "triton.language", "libdevice": "triton.language.extra.libdevice",
              "tldevice": "triton.language.extra.libdevice", "math": "triton.language.math",
              "triton_lang_extension": "triton.language", "triton_helpers": "triton._inductor"}


def _without_annotations(arguments):
    plain = lambda a: a and ast.copy_location(ast.arg(a.arg, None, None), a)
    return ast.arguments([plain(a) for a in arguments.posonlyargs], [plain(a) for a in arguments.args], plain(arguments.vararg),
                         [plain(a) for a in arguments.kwonlyargs], arguments.kw_defaults, plain(arguments.kwarg),
                         arguments.defaults)


def load(path, kernel, names=None):
    """The kernel of that name out of a file, with the jit functions, aliases and constants it reaches, and nothing else.

    What the file imports need not be there. Lines are the file's own. `names` gives values for names that cannot be made.
    """
    file = _File(os.fspath(path), names)
    if kernel not in file.definitions and kernel in file.inner:
        file.definitions[kernel] = file.inner[kernel]
    if kernel not in file.definitions:
        functions = [n for n, d in file.definitions.items() if isinstance(d[-1], ast.FunctionDef)]
        raise KernelValueError(f"{path} has no function '{kernel}'; it has {', '.join(functions) or 'none'}")
    file.make(kernel, "load")
    found = file.space[kernel]
    if isinstance(found, python_types.FunctionType):
        from ._jit import jit
        file.space[kernel] = found = jit(found)
        file._mark_constexprs(file.definitions[kernel][-1])
    return found
