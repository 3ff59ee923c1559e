"""Takes a kernel out of a file that imports things which are not there."""

import ast
import importlib
import os
import sys
import tokenize
import types as python_types
import warnings

from ._record import KernelValueError


def install():
    """From now on `import triton` means this package, in every file of this process."""
    from . import language, runtime, testing
    package = sys.modules[__package__]
    names = {"triton": package, "triton.language": language, "triton.runtime": runtime, "triton.testing": testing,
             "triton.runtime.jit": sys.modules[f"{__package__}._jit"],
             "triton.runtime.autotuner": sys.modules[f"{__package__}._jit"]}
    prefix = f"{__package__}.language"
    for name, module in list(sys.modules.items()):
        if name.startswith(prefix + "."):
            names["triton.language" + name[len(prefix):]] = module
    sys.modules.update(names)


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

    def add(self, name, node):
        self.of.setdefault(name, []).append(node)

    def visit_FunctionDef(self, node):
        self.add(node.name, node)

    def visit_ClassDef(self, node):
        self.add(node.name, node)

    def visit_Assign(self, node):
        for target in node.targets:
            for name in ast.walk(target):
                if isinstance(name, ast.Name):
                    self.add(name.id, node)

    def visit_AnnAssign(self, node):
        if isinstance(node.target, ast.Name) and node.value is not None:
            self.add(node.target.id, node)

    def visit_Import(self, node):
        for alias in node.names:
            self.add(alias.asname or alias.name.split(".")[0], node)

    def visit_ImportFrom(self, node):
        for alias in node.names:
            self.add(alias.asname or alias.name, node)

    def visit_Expr(self, node):
        pass


def _reads(node):
    """The names that a statement reads, in the order in which they stand."""
    names = []
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id not in names:
            names.append(part.id)
    return names


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
        self.module = python_types.ModuleType(os.path.splitext(os.path.basename(self.path))[0])
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
        if name in self.made or name not in self.definitions:
            return
        self.made.add(name)
        failures = []
        for node in reversed(self.definitions[name]):
            try:
                self._execute(node, name)
                return
            except Exception as e:
                failures.append((node, e))
        node, error = failures[0]
        self.made.discard(name)
        self.failed[name] = error
        raise KernelValueError(
            f"{os.path.basename(self.path)}:{node.lineno}: '{name}', which {why} reaches, cannot be made: {error}. "
            f"Give it to load as names={{'{name}': …}}") from error

    def _execute(self, node, name):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self.space[name] = self._imported(node, name)
        elif isinstance(node, ast.FunctionDef):
            self._define(node)
        else:
            for read in _reads(node):
                self.make(read, name)
            self._run([node])

    def _run(self, nodes):
        exec(compile(ast.fix_missing_locations(ast.Module(list(nodes), [])), self.path, "exec"), self.space)

    def _define(self, node):
        """A function with the decorators that are known here, and what its body reads."""
        kept = [d for d in node.decorator_list if self._keeps(d, node)]
        stripped = ast.FunctionDef(node.name, _without_annotations(node.args), node.body, kept, None, None)
        ast.copy_location(stripped, node)
        for statement in [*node.args.defaults, *[d for d in node.args.kw_defaults if d], *kept]:
            for read in _reads(statement):
                self.make(read, node.name)
        self._run([stripped])
        self._mark_constexprs(node)
        own = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        for statement in node.body:
            for read in _reads(statement):
                if read not in own:
                    self.make(read, node.name)

    def _mark_constexprs(self, node):
        """Annotations are left out, for they may name anything; which parameters are constexpr is kept."""
        made = self.space[node.name]
        while hasattr(made, "fn") and not hasattr(made, "constexprs"):
            made = made.fn
        if hasattr(made, "constexprs"):
            arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
            made.constexprs = {i for i, a in enumerate(arguments) if a.annotation and "constexpr" in ast.unparse(a.annotation)}

    def _keeps(self, decorator, function):
        name = _decorator_name(decorator)
        if name not in ("jit", "autotune", "heuristics", "constexpr_function"):
            return False
        try:
            for read in _reads(decorator):
                self.make(read, function.name)
            if name != "jit":
                eval(compile(ast.fix_missing_locations(ast.Expression(decorator)), self.path, "eval"), self.space)
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
                module = self._module(alias.name if alias.asname else alias.name.split(".")[0])
                if module is None:
                    raise ImportError(f"module '{alias.name}' is not there")
                return module
            return self._from(node, alias.name)
        raise ImportError(name)

    def _module(self, dotted):
        if dotted == "triton" or dotted.startswith("triton."):
            own = __package__ + dotted[len("triton"):]
            try:
                return importlib.import_module(own)
            except ImportError:
                raise ImportError(f"kernbench.triton has no '{dotted}'") from None
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
        """A name of a neighbouring file of the same project."""
        for path in self._candidates(node, name):
            if not os.path.isfile(path):
                continue
            other = self.others.get(path)
            if other is None:
                other = self.others[path] = _File(path)
                other.others = self.others
            if name in other.definitions or name in other.made:
                other.make(name, f"{os.path.basename(self.path)}")
                return other.space[name]
        dots = "." * node.level
        raise ImportError(f"'{name}' comes from '{dots}{node.module or ''}', which is not there")

    def _candidates(self, node, name):
        parts = (node.module or "").split(".") if node.module else []
        folder = os.path.dirname(self.path)
        if node.level:
            for _ in range(node.level - 1):
                folder = os.path.dirname(folder)
            folders = [folder]
        else:
            folders = []
            while True:
                folders.append(folder)
                if os.path.dirname(folder) == folder:
                    break
                folder = os.path.dirname(folder)
        for base in folders:
            stem = os.path.join(base, *parts)
            yield stem + ".py"
            yield os.path.join(stem, "__init__.py")
            yield os.path.join(stem, name + ".py")


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
