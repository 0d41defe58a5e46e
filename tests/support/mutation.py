"""Mutants: one function with one fault, to show that some test notices it.

A mutant names a function, a place in its syntax tree and what stands there instead, so it survives reformatting and
moves within a package:

    Mutant("no weight in the product", "hypergnn.functional:scalings", factor("weight"), "1", noticed_by="…")

In the replacement, ``_`` stands for what was there before. A function or a place that no longer exists is an error.
"""

import ast
import copy
import gc
import importlib
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from support.places import Place

Change = Callable[[ast.AST], ast.AST]


class StaleMutantError(LookupError):
    """A mutant names something that no longer exists."""


@dataclass(frozen=True)
class Mutant:
    """A function with one fault.

    Args:
        name: What is wrong.
        function: ``package.module:function`` or ``package.module:Class.method``. A package stands for all its modules.
        place: What is replaced: see :mod:`support.places`.
        replacement: An expression in which ``_`` stands for what was there, a statement for a statement, or a function
            that changes the node.
        noticed_by: The test that must fail: ``room/test_file.py::test_name``.
        backend: The kernels that the test runs with: ``torch`` or ``numba``.
    """

    name: str
    function: str
    place: Place
    replacement: str | Change
    noticed_by: str
    backend: str = "torch"

    def source(self) -> tuple[Path, str]:
        """File and qualified name of the function."""
        package, _, qualified = self.function.partition(":")
        found = [path for path in _files(package) if qualified in _functions_of(path, path.stat().st_mtime_ns)]
        if len(found) != 1:
            raise StaleMutantError(f"{self.name}: {len(found)} modules of {package} define {qualified}; expected one.")
        return found[0], qualified

    def load(self) -> None:
        """Import the module that defines the function."""
        path, _ = self.source()
        top = self.function.partition(":")[0].partition(".")[0]
        parts = path.with_suffix("").parts
        named = parts[len(parts) - 1 - parts[::-1].index(top) :]
        importlib.import_module(".".join(named).removesuffix(".__init__"))

    def change(self, function: ast.AST) -> ast.AST:
        """The syntax tree of the function with the fault; changes the tree that is passed."""
        before = ast.dump(function)
        places = {id(node) for node in self.place(function)}
        if not places:
            raise StaleMutantError(f"{self.name}: {self.function} has no such place any more.")
        _Replace(places, self.replacement).visit(function)
        if ast.dump(function) == before:
            raise StaleMutantError(f"{self.name}: the replacement does not change {self.function}.")
        return ast.fix_missing_locations(function)

    def changed(self) -> ast.AST:
        """The syntax tree of the function with the fault."""
        path, qualified = self.source()
        return self.change(copy.deepcopy(_functions_of(path, path.stat().st_mtime_ns)[qualified]))

    def apply(self) -> None:
        """Change the function in this process, wherever it has been imported to."""
        self.load()
        path, qualified = self.source()
        module = ast.parse(path.read_text())
        line = _first_line(_functions(module)[qualified])
        self.change(_functions(module)[qualified])
        code = _code(compile(module, str(path), "exec", dont_inherit=True), qualified, line)
        alive = live_functions().get((str(path.resolve()), qualified), [])
        changed = [one for one in alive if one.__code__.co_firstlineno == line]
        if not changed:
            raise StaleMutantError(f"{self.name}: {self.function} is not loaded.")
        for function in changed:
            function.__code__ = code
        _forget_compiled(changed)


class _Replace(ast.NodeTransformer):
    """Puts a replacement in some places; inner places first, so that they may be nested."""

    def __init__(self, places: set[int], replacement: str | Change) -> None:
        self.places, self.replacement = places, replacement

    def visit(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        if id(node) not in self.places:
            return node
        if not isinstance(self.replacement, str):
            return self.replacement(node)
        new = ast.parse(self.replacement).body[0]
        if isinstance(node, ast.stmt):
            return ast.copy_location(new, node)
        if not isinstance(new, ast.Expr) or not isinstance(node, ast.expr):
            raise TypeError(f"{self.replacement!r} cannot replace a {type(node).__name__}.")
        return ast.copy_location(_Fill(node).visit(new.value), node)


class _Fill(ast.NodeTransformer):
    """Puts an expression where ``_`` stands."""

    def __init__(self, expression: ast.expr) -> None:
        self.expression = expression

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.expression if node.id == "_" else node


def _files(package: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise StaleMutantError(f"{package} is no module.")
    path = Path(spec.origin)
    return sorted(path.parent.rglob("*.py")) if path.name == "__init__.py" else [path]


def _functions(tree: ast.AST, prefix: str = "") -> dict[str, ast.AST]:
    """Functions of a module and methods of its classes, by qualified name."""
    found = {}
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[prefix + node.name] = node
        elif isinstance(node, ast.ClassDef):
            found |= _functions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.If | ast.Try | ast.With):
            found |= _functions(node, prefix)
    return found


@cache
def _functions_of(path: Path, _: int) -> dict[str, ast.AST]:
    """All functions of a file; read again when the time of its last change is another."""
    return _functions(ast.parse(path.read_text()))


def _first_line(function: ast.AST) -> int:
    """Where a function begins, with its decorators: this tells it from its overloads, which have the same name."""
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        raise TypeError(f"a {type(function).__name__} is not a function.")
    return min(node.lineno for node in (function, *function.decorator_list))


def _code(module: CodeType, qualified: str, line: int) -> CodeType:
    for part in module.co_consts:
        if isinstance(part, CodeType):
            if part.co_qualname == qualified and part.co_firstlineno == line:
                return part
            if qualified.startswith(f"{part.co_qualname}."):
                return _code(part, qualified, line)
    raise StaleMutantError(f"{qualified} is not defined.")


@cache
def live_functions() -> dict[tuple[str, str], list[FunctionType]]:
    """All functions of this process, by file and qualified name; looked for once."""
    found: dict[tuple[str, str], list[FunctionType]] = {}
    for thing in gc.get_objects():
        if type(thing) is FunctionType:
            code = thing.__code__
            found.setdefault((os.path.realpath(code.co_filename), code.co_qualname), []).append(thing)
    return found


@cache
def dispatchers() -> list[Any]:
    """All functions of this process that numba compiles; looked for once."""
    from numba.core.dispatcher import Dispatcher

    return [thing for thing in gc.get_objects() if issubclass(type(thing), Dispatcher)]


def _forget_compiled(changed: list[FunctionType]) -> None:
    """Have numba compile the changed functions and all that call them, whatever its cache holds."""
    from numba.core.caching import NullCache

    stale = {id(one) for one in dispatchers() if one.py_func in changed}
    size = 0
    while len(stale) > size:
        size = len(stale)
        stale |= {id(one) for one in dispatchers() if any(id(used) in stale for used in _uses(one.py_func))}
    for one in dispatchers():
        if id(one) in stale:
            if one.signatures:
                raise RuntimeError(f"{one.py_func.__qualname__} was compiled before it could be changed.")
            one._cache = NullCache()


def _uses(function: FunctionType) -> list[object]:
    """What a function refers to: globals, attributes of modules, and variables of the function around it."""
    names = set(function.__code__.co_names)
    used = [function.__globals__[name] for name in names if name in function.__globals__]
    used += [
        vars(module)[name] for module in used if hasattr(module, "__spec__") for name in names & vars(module).keys()
    ]
    return used + [cell.cell_contents for cell in function.__closure__ or ()]
