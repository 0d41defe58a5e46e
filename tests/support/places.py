"""Places in the syntax tree of a function: what a mutant replaces.

Each function here returns a place: given a tree, it yields the nodes to replace. Where a place takes ``mentions``, it
yields only nodes in which all these names, attributes (``H.weight`` or just ``weight``) or literals occur.
"""

import ast
from collections.abc import Callable, Iterator

Place = Callable[[ast.AST], Iterator[ast.AST]]


def call(function: str, *mentions: str) -> Place:
    """Calls of a function or method by this name."""
    return _where(lambda node: isinstance(node, ast.Call) and _last_name(node.func) == function, mentions)


def argument(function: str, which: int | str, *mentions: str) -> Place:
    """An argument of such calls, by position or keyword."""

    def find(tree: ast.AST) -> Iterator[ast.AST]:
        for node in call(function, *mentions)(tree):
            if isinstance(which, str):
                yield from (keyword.value for keyword in node.keywords if keyword.arg == which)
            elif which < len(node.args):
                yield node.args[which]

    return find


def value(target: str, *mentions: str) -> Place:
    """What is assigned to a variable, an attribute or an element of it; for a tuple, the matching part."""

    def find(tree: ast.AST) -> Iterator[ast.AST]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                pairs = [pair for one in node.targets for pair in _pairs(one, node.value)]
            elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
                pairs = [(node.target, node.value)]
            else:
                pairs = []
            yield from (new for to, new in pairs if _base_name(to) == target and _mentions(new, mentions))

    return find


def condition(*mentions: str) -> Place:
    """Conditions of ``if``, ``while``, ``… if … else …`` and comprehensions that mention all these names."""

    def find(tree: ast.AST) -> Iterator[ast.AST]:
        for node in ast.walk(tree):
            tests = [node.test] if isinstance(node, ast.If | ast.IfExp | ast.While) else []
            tests += node.ifs if isinstance(node, ast.comprehension) else []
            yield from (test for test in tests if _mentions(test, mentions))

    return find


def result(*mentions: str) -> Place:
    """Returned expressions that mention all these names."""

    def find(tree: ast.AST) -> Iterator[ast.AST]:
        returns = (node.value for node in ast.walk(tree) if isinstance(node, ast.Return) and node.value is not None)
        yield from (node for node in returns if _mentions(node, mentions))

    return find


def factor(*mentions: str) -> Place:
    """Operands of ``*``, ``/`` and ``@`` that mention all these names; of a longer product, the single operand."""
    return _operands((ast.Mult, ast.Div, ast.MatMult), mentions)


def term(*mentions: str) -> Place:
    """Operands of ``+`` and ``-`` that mention all these names; of a longer sum, the single operand."""
    return _operands((ast.Add, ast.Sub), mentions)


def element(base: str, *mentions: str) -> Place:
    """Subscripts that are read: ``base[…]``."""

    def is_read(node: ast.AST) -> bool:
        return isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _last_name(node.value) == base

    return _where(is_read, mentions)


def index(base: str, *mentions: str) -> Place:
    """What stands between the brackets of ``base[…]``, read or written."""

    def find(tree: ast.AST) -> Iterator[ast.AST]:
        is_of = _where(lambda node: isinstance(node, ast.Subscript) and _last_name(node.value) == base, mentions)
        yield from (node.slice for node in is_of(tree))

    return find


def name(text: str) -> Place:
    """A variable or an attribute wherever it is read: ``weight``, ``self.bias``."""

    def is_read(node: ast.AST) -> bool:
        is_name = isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
        return is_name and ast.unparse(node) == text

    return _where(is_read, ())


def constant(number: object) -> Place:
    """A literal."""

    def is_equal(node: ast.AST) -> bool:
        return isinstance(node, ast.Constant) and type(node.value) is type(number) and node.value == number

    return _where(is_equal, ())


def comparison(*mentions: str) -> Place:
    """Comparisons that mention all these names."""
    return _where(lambda node: isinstance(node, ast.Compare), mentions)


def choice(*mentions: str) -> Place:
    """Expressions ``… if … else …`` that mention all these names."""
    return _where(lambda node: isinstance(node, ast.IfExp), mentions)


def statement(*mentions: str) -> Place:
    """Simple statements (no ``if``, no loop) that mention all these names."""
    simple = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Raise, ast.Delete)
    return _where(lambda node: isinstance(node, simple), mentions)


def within(outer: Place, inner: Place) -> Place:
    """The inner places inside the outer ones."""

    def find(tree: ast.AST) -> Iterator[ast.AST]:
        for node in outer(tree):
            yield from inner(node)

    return find


def nth(place: Place, number: int) -> Place:
    """One of several places, counted from 0 in the order of the source."""

    def find(tree: ast.AST) -> Iterator[ast.AST]:
        found = sorted(place(tree), key=lambda node: (node.lineno, node.col_offset))
        yield from found[number : number + 1]

    return find


def swapped(one: int, other: int) -> Callable[[ast.expr], ast.expr]:
    """A replacement for calls: two of their arguments change places."""

    def swap(node: ast.expr) -> ast.expr:
        if not isinstance(node, ast.Call) or len(node.args) <= max(one, other):
            raise TypeError(f"no arguments {one} and {other} to swap in {ast.unparse(node)}.")
        node.args[one], node.args[other] = node.args[other], node.args[one]
        return node

    return swap


def _where(holds: Callable[[ast.AST], bool], mentions: tuple[str, ...]) -> Place:
    def find(tree: ast.AST) -> Iterator[ast.AST]:
        yield from (node for node in ast.walk(tree) if holds(node) and _mentions(node, mentions))

    return find


def _operands(operators: tuple[type[ast.operator], ...], mentions: tuple[str, ...]) -> Place:
    def find(tree: ast.AST) -> Iterator[ast.AST]:
        for node in ast.walk(tree):
            if isinstance(node, ast.BinOp) and isinstance(node.op, operators):
                for side in (node.left, node.right):
                    nested = isinstance(side, ast.BinOp) and isinstance(side.op, operators)
                    if not nested and _mentions(side, mentions):
                        yield side

    return find


def _pairs(target: ast.expr, new: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(new, ast.Tuple) and len(target.elts) == len(new.elts):
        for one, part in zip(target.elts, new.elts, strict=True):
            yield from _pairs(one, part)
    else:
        yield target, new


def _base_name(node: ast.expr) -> str | None:
    while isinstance(node, ast.Subscript):
        node = node.value
    return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else None


def _last_name(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def _mentions(tree: ast.AST, names: tuple[str, ...]) -> bool:
    found: set[object] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            found |= {_last_name(node), ast.unparse(node)}
        elif isinstance(node, ast.Constant):
            found.add(str(node.value))
        elif isinstance(node, ast.keyword):
            found.add(node.arg)
    return found >= set(names)
