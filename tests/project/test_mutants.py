"""Every mutant is noticed: the fault that it stands for makes the test that it names fail."""

import ast
import os
from functools import cache

import pytest
from support import laboratory, places
from support.mutants import MUTANTS
from support.mutation import Mutant, StaleMutantError, live_functions

ALL = pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)


@pytest.mark.slow
@ALL
def test_a_mutant_names_what_exists(mutant):
    """Raises where the function or the place in it is gone."""
    mutant.changed()
    file, _, test = mutant.noticed_by.partition("::")
    assert test in names_of_tests(file), mutant.noticed_by


@cache
def names_of_tests(file):
    tree = ast.parse((laboratory.ROOT / "tests" / file).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.fixture(scope="module")
def opened_laboratory():
    if not hasattr(os, "fork"):
        pytest.skip("mutants run in forked processes")
    with laboratory.opened() as opened:
        yield opened


@pytest.mark.mutant
@pytest.mark.slow
@ALL
def test_a_mutant_is_noticed(opened_laboratory, mutant):
    """The test fails with the fault, and the same case passes without it."""
    changed = opened_laboratory.run(mutant)
    assert changed.code == pytest.ExitCode.TESTS_FAILED, changed.output
    unchanged = opened_laboratory.run_unchanged(changed.failed, mutant.backend)
    assert unchanged.code == pytest.ExitCode.OK, unchanged.output


PROGRAM = "def f(x, weight):\n    if x > 0:\n        y = weight * g(x, 2)\n    return y[0] + 1\n"


@pytest.mark.parametrize(
    ("place", "replacement", "line"),
    [
        (places.factor("weight"), "1", "y = 1 * g(x, 2)"),
        (places.call("g"), "_ + _", "y = weight * (g(x, 2) + g(x, 2))"),
        (places.call("g"), places.swapped(0, 1), "y = weight * g(2, x)"),
        (places.argument("g", 1), "3", "y = weight * g(x, 3)"),
        (places.condition("x"), "not (_)", "if not x > 0:"),
        (places.value("y"), "_.detach()", "y = (weight * g(x, 2)).detach()"),
        (places.statement("y", "g"), "pass", "pass"),
        (places.element("y"), "y", "return y + 1"),
        (places.index("y"), "1", "return y[1] + 1"),
        (places.term("1"), "2", "return y[0] + 2"),
        (places.within(places.result(), places.constant(1)), "2", "return y[0] + 2"),
        (places.name("weight"), "x", "y = x * g(x, 2)"),
        (places.nth(places.name("x"), 1), "0", "y = weight * g(0, 2)"),
    ],
)
def test_one_place_changes(tmp_path, monkeypatch, place, replacement, line):
    tmp_path.joinpath("mutated_example.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    mutant = Mutant("example", "mutated_example:f", place, replacement, "")
    before, after = PROGRAM.splitlines(), ast.unparse(mutant.changed()).splitlines()
    changed = [new.strip() for old, new in zip(before, after, strict=True) if old != new]
    assert changed == [line]


@pytest.mark.parametrize(
    ("function", "place", "replacement", "message"),
    [
        ("mutated_example:g", places.result(), "0", "0 modules of mutated_example define g"),
        ("mutated_example:f", places.call("h"), "0", "no such place"),
        ("mutated_example:f", places.factor("weight"), "weight", "does not change"),
        ("no_such_module:f", places.result(), "0", "no_such_module is no module"),
    ],
)
def test_a_stale_mutant_is_an_error(tmp_path, monkeypatch, function, place, replacement, message):
    tmp_path.joinpath("mutated_example.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(StaleMutantError, match=message):
        Mutant("example", function, place, replacement, "").changed()


@pytest.mark.slow
def test_a_mutant_changes_a_function_wherever_it_was_imported(tmp_path, monkeypatch):
    tmp_path.joinpath("imported_example.py").write_text("class A:\n    def f(self):\n        return 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    from imported_example import A

    bound = A().f
    live_functions.cache_clear()
    Mutant("example", "imported_example:A.f", places.constant(1), "2", "").apply()
    assert bound() == A().f() == 2


@pytest.mark.slow
def test_a_mutant_leaves_overloads_alone(tmp_path, monkeypatch):
    stub = "    @overload\n    def f(self, x: int) -> int: ...\n"
    program = f"from typing import overload\nclass A:\n{stub}{stub}    def f(self, x):\n        return x + 1\n"
    tmp_path.joinpath("overloaded_example.py").write_text(program)
    monkeypatch.syspath_prepend(tmp_path)
    from overloaded_example import A

    live_functions.cache_clear()
    Mutant("example", "overloaded_example:A.f", places.constant(1), "2", "").apply()
    assert A().f(1) == 3
