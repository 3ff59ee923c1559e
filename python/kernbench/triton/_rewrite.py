"""What Python does not let a value overload: `and`, `or`, `not`, `a if c else b`, `if c: return a`, chained comparisons, `assert`,
min(), max() and range(); and numbers that are assigned.

The kernel's syntax tree is changed so that they ask the values; lines stay those of the file. A number that is assigned becomes
a scalar of the kernel (int32, float32 …), as in Triton, unless the name is annotated constexpr; range() counts in such scalars.
"""

import ast
import builtins
import inspect
import types as python_types

from . import _arithmetic
from ._loops import Loop, names_that_steer
from ._record import current
from ._tensor import tensor
from ._values import as_tensor, is_number


def _is_block(x):
    return isinstance(x, tensor) and (bool(x.shape) or not x.known)


def both(left, right):
    """`left and right`; the right one is a function, called only if it matters."""
    if not _is_block(left):
        return right() if left else left
    return _arithmetic.logical("bit_and", left, right())


def either(left, right):
    if not _is_block(left):
        return left if left else right()
    return _arithmetic.logical("bit_or", left, right())


def negation(x):
    return _arithmetic.invert(_arithmetic.truth(x)) if _is_block(x) else not x


def chosen(condition, left, right):
    """`left if condition else right`; by a computed scalar, or element by element, both are made and one is selected."""
    if isinstance(condition, tensor) and (current().by_element if condition.shape else not condition.known):
        return _selected(condition, left(), right())
    return left() if condition else right()


def _selected(condition, left, right):
    from . import language
    if isinstance(left, tuple) and isinstance(right, tuple):
        return tuple(language.where(condition, a, b) for a, b in zip(left, right))
    return language.where(condition, left, right)


def checked(condition, message=None):
    """An assert: what is known is checked, what is computed is not."""
    from . import language
    language.device_assert(condition, str(message() if message else ""))


def value_of(x):
    """`x.value`: of a constexpr, which is a plain value here, the value itself."""
    if isinstance(x, (int, float, str, bool, tuple, list, type(None))):
        return x
    return x.value if hasattr(x, "value") else x


def largest(*values, **options):
    return _extreme(builtins.max, "maximum", values, options)


def smallest(*values, **options):
    return _extreme(builtins.min, "minimum", values, options)


def assigned(value):
    """What a name is bound to: a number becomes a scalar of the kernel, also inside a tuple or list."""
    if is_number(value):
        return as_tensor(value)
    if type(value) in (tuple, list) and any(is_number(v) or isinstance(v, (tuple, list)) for v in value):
        return type(value)(map(assigned, value))
    return value


def counted(*bounds):
    from . import language
    return language.range(*bounds)


def _extreme(plain, name, values, options):
    if options or not any(isinstance(v, tensor) for v in values):
        return plain(*values, **options)
    from . import language
    result = values[0]
    for value in values[1:]:
        result = getattr(language, name)(result, value)
    return result


HELPERS = {"__kb_and__": both, "__kb_or__": either, "__kb_not__": negation, "__kb_choose__": chosen, "__kb_assert__": checked,
           "__kb_value__": value_of, "__kb_max__": largest, "__kb_min__": smallest, "__kb_range__": counted,
           "__kb_assigned__": assigned, "__kb_begin_loop__": Loop, "__kb_locals__": locals}


class _Rewriter(ast.NodeTransformer):
    def __init__(self, builtin_names):
        self.builtin_names = builtin_names
        self.loops = 0

    def _call(self, at, helper, *args):
        call = ast.Call(ast.Name(helper, ast.Load()), list(args), [])
        return ast.copy_location(ast.fix_missing_locations(ast.copy_location(call, at)), at)

    def _later(self, at, expression):
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.copy_location(ast.Lambda(nothing, expression), at)

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        helper = "__kb_and__" if isinstance(node.op, ast.And) else "__kb_or__"
        result = node.values[-1]
        for value in reversed(node.values[:-1]):
            result = self._call(node, helper, value, self._later(node, result))
        return result

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return self._call(node, "__kb_not__", node.operand) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node):
        self.generic_visit(node)
        return self._call(node, "__kb_choose__", node.test, self._later(node, node.body), self._later(node, node.orelse))

    def visit_If(self, node):
        """`if c: return a` with an `else: return b` is `return a if c else b`."""
        self.generic_visit(node)
        values = [_returned(branch) for branch in (node.body, node.orelse)]
        if None in values:
            return node
        chosen = self._call(node, "__kb_choose__", node.test, *[self._later(value, value) for value in values])
        return ast.copy_location(ast.Return(chosen), node)

    def visit_FunctionDef(self, node):
        node.body = _with_else(node.body)
        return self.generic_visit(node)

    def visit_Compare(self, node):
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        parts = [node.left, *node.comparators]
        pairs = [ast.copy_location(ast.Compare(a, [op], [b]), node) for a, op, b in zip(parts, node.ops, parts[1:])]
        return self.visit_BoolOp(ast.copy_location(ast.BoolOp(ast.And(), pairs), node))

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if node.attr == "value" and isinstance(node.ctx, ast.Load):
            return self._call(node, "__kb_value__", node.value)
        return node

    def visit_Assert(self, node):
        self.generic_visit(node)
        args = [node.test] + ([self._later(node, node.msg)] if node.msg else [])
        return ast.copy_location(ast.Expr(self._call(node, "__kb_assert__", *args)), node)

    def visit_Name(self, node):
        if node.id in self.builtin_names and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Name(f"__kb_{node.id}__", ast.Load()), node)
        return node

    def visit_While(self, node):
        """A loop that changes nothing it depends on is refused: see _loops.py."""
        steering = sorted(names_that_steer(node))
        self.generic_visit(node)
        self.loops += 1
        name = f"__kb_loop_{self.loops}__"
        names = ast.Tuple([ast.Constant(n) for n in steering], ast.Load())
        begun = ast.Assign([ast.Name(name, ast.Store())], self._call(node.test, "__kb_begin_loop__", names))
        node.test = self._call(node.test, name, node.test, self._call(node.test, "__kb_locals__"))
        return [ast.fix_missing_locations(ast.copy_location(begun, node)), node]

    def visit_Assign(self, node):
        self.generic_visit(node)
        node.value = self._assigned(node.value)
        return node

    def visit_AugAssign(self, node):
        """`name += x` is `name = name + x`."""
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        before = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        total = ast.copy_location(ast.BinOp(before, node.op, node.value), node)
        return ast.copy_location(ast.Assign([node.target], self._assigned(total)), node)

    def visit_AnnAssign(self, node):
        is_constexpr = "constexpr" in ast.unparse(node.annotation)
        node.annotation = ast.copy_location(ast.Constant(None), node)
        self.generic_visit(node)
        if node.value is not None and not is_constexpr:
            node.value = self._assigned(node.value)
        return node

    def _assigned(self, value):
        """The value as a name is bound to it; what is plainly no number is left alone."""
        if isinstance(value, ast.Constant) and not isinstance(value.value, (bool, int, float)):
            return value
        return self._call(value, "__kb_assigned__", value)


def _returned(statements):
    """What a branch returns that does nothing else; None if it is no such branch."""
    return statements[0].value if len(statements) == 1 and isinstance(statements[0], ast.Return) else None


def _with_else(statements):
    """`if c: return a` right before a last `return b` takes that as its else; so do those before it."""
    *before, last = statements
    if _returned([last]) is None:
        return statements
    while before and isinstance(before[-1], ast.If) and not before[-1].orelse and _returned(before[-1].body) is not None:
        test = before.pop()
        last = ast.copy_location(ast.If(test.test, test.body, [last]), test)
    return [*before, last]


def _definition(function):
    lines, first = inspect.getsourcelines(function)
    is_inner = lines[0][:1].isspace()  # a function inside another one; comments in it may stand further left
    tree = ast.parse("".join(["if True:\n"] * is_inner + lines))
    ast.increment_lineno(tree, first - 1 - is_inner)
    found = [n for n in (tree.body[0].body if is_inner else tree.body) if isinstance(n, ast.FunctionDef)]
    return found[0] if found else None


def _find_code(code, name):
    for constant in code.co_consts:
        if isinstance(constant, python_types.CodeType):
            if constant.co_name == name:
                return constant
            found = _find_code(constant, name)
            if found:
                return found
    return None


def rewritten(function):
    """The function with its tree changed; the function itself where its source is not to be had."""
    try:
        node = _definition(function)
    except (OSError, TypeError, SyntaxError, IndentationError):
        return function
    if node is None:
        return function
    own = set(function.__code__.co_varnames) | set(function.__code__.co_freevars) | set(function.__globals__)
    node.decorator_list = []
    node.returns = None
    for argument in node.args.posonlyargs + node.args.args + node.args.kwonlyargs + [node.args.vararg, node.args.kwarg]:
        if argument is not None:
            argument.annotation = None
    node.args.defaults, node.args.kw_defaults = [], [None] * len(node.args.kwonlyargs)
    node = ast.fix_missing_locations(_Rewriter({"max", "min", "range"} - own).visit(node))
    return _compiled(function, node)


def _compiled(function, node):
    """Compiled inside a function that has its free variables, so that it can have the same cells."""
    free = function.__code__.co_freevars
    outer = ast.parse(f"def __kb_outer__({', '.join(free)}):\n    pass").body[0]
    node.name = "__kb_inner__"  # under its own name it would be a variable of the outer one for itself
    outer.body = [node]
    module = ast.fix_missing_locations(ast.Module([outer], []))
    code = _find_code(compile(module, function.__code__.co_filename, "exec"), node.name).replace(co_name=function.__name__)
    cells = dict(zip(free, function.__closure__ or ()))
    function.__globals__.update({k: v for k, v in HELPERS.items() if k not in function.__globals__})
    made = python_types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__,
                                     tuple(cells[name] for name in code.co_freevars))
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    return made
