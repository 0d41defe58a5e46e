"""The package as a whole: how fast it loads, that its names are documented, its style, and the map of the paper."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import hypergnn

ROOT = Path(__file__).parents[2]


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
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
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
