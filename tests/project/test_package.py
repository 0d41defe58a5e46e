"""The package as a whole: which module may import which, how fast it loads, that its style and its map are kept."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hypergnn

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "hypergnn"

# Each module may import from those in the lines before its own.
ORDER = [
    ["incidence", "files", "extras"],
    ["display", "progress"],
    ["kernels", "storage"],
    ["randomness"],
    ["features"],
    ["checks"],
    ["naming"],
    ["stored"],
    ["hypergraph", "graph"],
    ["shared_graph"],
    ["functional", "reference", "field"],
    ["tabular"],
    ["layers", "construct", "io"],
    ["drawing"],
    ["datasets", "models"],
    ["saving"],
    ["training", "exporting"],
    ["explaining", "experiments"],
    ["estimator", "report"],
    ["cli"],
    ["__main__"],
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}


def imports(path: Path) -> set[str]:
    """Top-level modules of the package that a file imports, wherever in the file it does."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "hypergnn":
            parts = node.module.split(".")[1:]
            found |= {parts[0]} if parts else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("hypergnn.")}
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_each_module_imports_only_from_those_before_it(path):
    module = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if module == "__init__":
        return
    assert module in RANK, f"{module} has no place in the order of modules"
    for other in {name for name in imports(path) if not name.startswith("__")} - {module}:
        assert RANK[other] < RANK[module], f"{module} must not import {other}"


def test_the_reference_is_imported_by_tests_only():
    assert not [path for path in SOURCE.rglob("*.py") if "reference" in imports(path)]


@pytest.mark.timing
def test_importing_adds_less_than_a_second_to_torch():
    timed = "import hypergnn, hypergnn.layers, hypergnn.datasets"
    program = f"import time, torch; start = time.perf_counter(); {timed}; print(time.perf_counter() - start)"
    seconds = [
        float(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout)
        for _ in range(3)
    ]
    assert min(seconds) < 1


def test_every_public_name_is_there_and_documented():
    for name in hypergnn.__all__:
        assert getattr(hypergnn, name).__doc__, name


def test_the_paper_map_names_things_that_exist():
    text = (ROOT / "docs" / "paper_map.md").read_text()
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").glob("test_*.py"))
    named_tests = re.findall(r"`(test_\w+)`", text)
    assert len(named_tests) > 20
    for name in named_tests:
        assert re.search(rf"def {name}\(", tests), name
    for module, name in re.findall(r"`(functional|reference)\.(?!py`)(\w+)`", text):
        assert hasattr(getattr(__import__(f"hypergnn.{module}"), module), name), name
    for number in range(1, 14):
        assert f"| {number} |" in text, f"equation {number} has no row"


@pytest.mark.style
@pytest.mark.parametrize("command", ["ruff format --check .", "ruff check .", "mypy"])
def test_style_and_types(command):
    result = subprocess.run([sys.executable, "-m", *command.split()], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
