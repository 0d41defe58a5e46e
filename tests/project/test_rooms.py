"""The rooms of the package: which may import which, and that tests import the internals of their own room only."""

import ast
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from hypergnn import kernels

ROOT = Path(__file__).parents[2]
SOURCE, TESTS = ROOT / "src" / "hypergnn", ROOT / "tests"

# From the bottom up: a room may import itself and the rooms of the lines before its own. Rooms on one line do not
# import each other. The longest matching name counts, so that a module may have another place than its room.
ORDER = [
    ["_utils"],
    ["persistence", "persistence.files"],
    ["persistence.array_files"],
    [
        "persistence.allowed",
        "persistence.json_lines",
        "persistence.locks",
        "persistence.name_tensors",
        "persistence.tensor_files",
    ],
    ["structures.incidence"],
    ["structures"],
    ["kernels"],
    ["functional", "reference"],
    ["layers", "loader"],
    ["models", "pyg"],
    ["persistence.models", "persistence.compiled_state"],
    ["persistence.onnx", "persistence.object_writer", "persistence.object_reader", "construct", "io"],
    ["datasets", "drawing"],
    ["training"],
    ["distributed"],
    ["explanations", "experiments", "spark"],
    ["estimators", "report"],
    ["model_selection", "persistence.estimators"],
    ["cli"],
    ["__main__"],
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}

# Modules of the kernels that other rooms import. Like the steps of `kernels/__init__.py`, their functions choose the
# backend themselves.
WITHOUT_BACKEND = {"checks", "dropout", "id_loops", "memory", "stopwatch"}

# Rooms of the modules that have no folder of tests of their own.
TESTED_IN = {"reference": "functional", "drawing": "explanations", "model_selection": "estimators"}


def name_of(path: Path) -> str:
    """Dotted name of a module within the package: ``kernels.cpu.jit``; that of the package itself is empty."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix("__init__").removesuffix(".")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imported(tree: ast.AST) -> Iterator[str]:
    """What a file imports of the package, wherever it does so: ``functional``, ``kernels.cpu.jit.compiled``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            raise AssertionError("relative imports hide where an arrow points")
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("hypergnn."):
            for alias in node.names:
                yield f"{node.module}.{alias.name}".removeprefix("hypergnn.")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if f"{alias.name}.".startswith("hypergnn."):
                    yield alias.name.removeprefix("hypergnn").removeprefix(".")


@cache
def imports_of(path: Path) -> frozenset[str]:
    return frozenset(imported(parsed(path)))


def room_of(name: str) -> str | None:
    """The entry of the order that a module or a name in it belongs to."""
    parts = name.split(".")
    return next((room for end in range(len(parts), 0, -1) if (room := ".".join(parts[:end])) in RANK), None)


def modules() -> list[object]:
    paths = sorted(path for path in SOURCE.rglob("*.py") if name_of(path))
    return [pytest.param(path, id=name_of(path)) for path in paths]


@pytest.mark.slow
@pytest.mark.parametrize("path", modules())
def test_a_module_imports_only_from_rooms_below_its_own(path):
    own = room_of(name_of(path))
    assert own is not None, f"{name_of(path)} has no place in the order of rooms"
    for name in imports_of(path):
        if name == "__version__":
            continue
        other = room_of(name)
        assert other is not None, f"{name_of(path)} imports {name}, which has no place in the order of rooms"
        assert other == own or RANK[other] < RANK[own], f"{name_of(path)} must not import {name}"


def test_every_room_of_the_order_exists():
    assert [name for name in RANK if find_spec(f"hypergnn.{name}") is None] == []


def of_kernels(path: Path) -> set[str]:
    """What a file imports from the package of the kernels, or takes from it: modules and names."""
    found = {name.split(".")[1] for name in imports_of(path) if name.startswith("kernels.")}
    taken = (node for node in ast.walk(parsed(path)) if isinstance(node, ast.Attribute))
    return found | {node.attr for node in taken if isinstance(node.value, ast.Name) and node.value.id == "kernels"}


@pytest.mark.parametrize("path", modules())
def test_no_module_outside_the_kernels_sees_a_backend(path):
    if room_of(name_of(path)) != "kernels":
        assert of_kernels(path) <= WITHOUT_BACKEND | {*kernels.__all__}, name_of(path)


def test_a_module_that_sees_a_backend_is_found(tmp_path):
    for number, line in enumerate(
        (
            "from hypergnn.kernels import dispatch",
            "from hypergnn.kernels.dispatch import is_compiled",
            "import hypergnn.kernels.cpu.buffers",
            "from hypergnn import kernels\nkernels.is_compiled('cpu', None)",
        )
    ):
        path = tmp_path / f"{number}.py"
        path.write_text(line)
        assert not of_kernels(path) <= WITHOUT_BACKEND | {*kernels.__all__}, line


@pytest.mark.slow
def test_of_structures_kernels_import_the_incidence_and_the_cache_only():
    found = {name for path in (SOURCE / "kernels").rglob("*.py") for name in imports_of(path)}
    assert {name for name in found if room_of(name) == "structures"} == {"structures.base.derived"}


def test_the_reference_is_imported_by_tests_only():
    for path in SOURCE.rglob("*.py"):
        assert "reference" not in {room_of(name) for name in imports_of(path)}, path


def internals(tree: ast.AST) -> Iterator[str]:
    """Internals of the package that a file imports, or takes from what it imports."""
    known = {}
    for node in ast.walk(tree):
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else []:
            module = node.module if isinstance(node, ast.ImportFrom) else None
            known[alias.asname or alias.name] = f"{module}.{alias.name}" if module else alias.name
    known = {name: full for name, full in known.items() if f"{full}.".startswith("hypergnn.")}
    yield from (full for full in known.values() if is_internal(full))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in known and is_internal(node.attr):
            yield f"{known[ast.unparse(node.value)]}.{node.attr}"
        elif isinstance(node, ast.Constant) and str(node.value).startswith("hypergnn.") and is_internal(node.value):
            yield node.value


def is_internal(name: str) -> bool:
    """Whether a dotted name is private: a part has one underscore before it and none after it, or is compiled."""
    is_private = any(part.startswith("_") and not part.startswith("__") and part[-1] != "_" for part in name.split("."))
    return is_private or ".kernels.cpu" in name


def files_of_tests() -> list[object]:
    paths = [path for path in sorted(TESTS.rglob("*.py")) if "mutants" not in path.parts]
    return [pytest.param(path, id=path.relative_to(TESTS).as_posix()) for path in paths]


@pytest.mark.slow
@pytest.mark.parametrize("path", files_of_tests())
def test_internals_are_imported_by_tests_of_their_own_room_only(path):
    own = path.relative_to(TESTS).parts[0]
    for name in internals(parsed(path)):
        room = name.split(".")[1]
        assert TESTED_IN.get(room, room) == own, f"{name} is private to {room}"


# What tests take from another room although it does not export it and their own room does not use it.
EXCEPTIONS = {
    ("cli", "datasets.download"): "commands run without a network",
    ("cli", "training.worker"): "a worker is lost during a command",
    ("cli", "experiments.jobs"): "progress of a job, which the command prints",
    ("cli", "experiments.markdown"): "must be loaded before a test replaces the tables",
    ("cli", "report.reproductions"): "must be loaded before a test replaces the tables",
    ("cli", "experiments.systems.running"): "a system fails during a command",
    ("distributed", "functional.projection"): "dropout of a part of sparse features must be that of the whole",
    ("distributed", "kernels.dropout"): "the same",
    ("experiments", "report.comparison"): "text and report must show the same numbers",
    ("experiments", "report.reproductions"): "the same",
    ("experiments", "report.systems"): "the same",
    ("experiments", "report.tables"): "the same",
    ("layers", "distributed.exchange"): "operators of users must work in several processes",
    ("layers", "distributed.shards"): "the same",
    ("models", "training.engine"): "networks must train alone as they do with others",
    ("models", "training.losses"): "the loss of a network with several draws",
    ("models", "training.plan"): "networks must train alone as they do with others",
    ("persistence", "experiments.paper"): "files of earlier versions of all rooms are read",
    ("persistence", "experiments.results"): "the same",
    ("persistence", "training.ledger"): "the same",
    ("persistence", "kernels.dispatch"): "an export must leave the backend as it was",
    ("persistence", "structures.stored"): "the files of structures",
    ("report", "experiments.runner"): "a reproduction that the report shows",
    ("spark", "persistence.tensor_files"): "executors write files without torch that must be those of the library",
}
# Not of a room: they serve all tests, or test the package as a whole.
SHARED = {"conftest.py", "support", "project"}
# The command line as a function, which is public as the program is.
PROGRAM = "cli.main"


def module_of(name: str) -> str:
    """The module that a dotted name of the package stands for or in: ``training.plan`` for ``training.plan.Task``."""
    is_module = (SOURCE / f"{name.replace('.', '/')}.py").exists() or (SOURCE / name.replace(".", "/")).is_dir()
    return name if is_module else name.rpartition(".")[0]


@cache
def exported(room: str) -> frozenset[str]:
    return frozenset(getattr(import_module(f"hypergnn.{room}"), "__all__", ()))


@cache
def used_by(room: str) -> frozenset[str]:
    """Modules that a room of the package imports something from."""
    paths = [path for path in SOURCE.rglob("*.py") if TESTED_IN.get(one := name_of(path).split(".")[0], one) == room]
    return frozenset(module_of(name) for path in paths for name in imports_of(path))


def borrowed(path: Path) -> Iterator[str]:
    """What a test imports from another room that neither exports it nor has it used by the room of the test."""
    own = path.relative_to(TESTS).parts[0]
    for name in imports_of(path):
        room, _, rest = name.partition(".")
        if not rest or name == PROGRAM or TESTED_IN.get(room, room) == own or rest in exported(room):
            continue
        if module_of(name) not in used_by(own):
            yield name


@pytest.mark.slow
@pytest.mark.parametrize("path", files_of_tests())
def test_tests_take_from_other_rooms_what_these_export_or_their_own_room_uses(path):
    own = path.relative_to(TESTS).parts[0]
    if own not in SHARED:
        assert {module_of(name) for name in borrowed(path)} <= {module for room, module in EXCEPTIONS if room == own}


@pytest.mark.slow
def test_every_exception_is_used():
    paths = [param.values[0] for param in files_of_tests()]
    found = {(path.relative_to(TESTS).parts[0], module_of(name)) for path in paths for name in borrowed(path)}
    assert EXCEPTIONS.keys() <= found
