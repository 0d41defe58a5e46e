"""The examples run, and show what they say."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PNG = b"\x89PNG"


def load(name: str):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_run_here():
    named = set(re.findall(r'load\("(\w+)"\)', Path(__file__).read_text()))
    assert named == {path.stem for path in EXAMPLES.glob("*.py")}


def test_examples_need_no_more_than_the_extra_that_the_readme_names():
    project = tomllib.loads((EXAMPLES.parent / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["plot"]]
    there = {re.match(r"[\w-]+", one)[0].replace("scikit-learn", "sklearn") for one in needed}
    for path in EXAMPLES.glob("*.py"):
        modules = {name.split(".")[0] for name in re.findall(r"(?m)^(?:import|from) ([\w.]+)", path.read_text())}
        assert modules - set(sys.stdlib_module_names) - {"hypergnn"} <= there, path.name


@pytest.mark.slow
def test_digits_are_told_better_with_structure(capsys):
    load("digits").main(epochs=25)
    plain, convolution, attention = map(float, re.findall(r"([\d.]+) % correct", capsys.readouterr().out))
    assert convolution > plain
    assert attention > plain


@pytest.mark.slow
def test_one_member_of_each_circle_tells_the_others(capsys, tmp_path):
    picture = tmp_path / "circles.png"
    load("southern_women").main(picture)
    rows = re.findall(r"(\w+ \w+) +(first|second) +([\d.]+)", capsys.readouterr().out)
    circles = {woman: circle for woman, circle, _ in rows}
    assert len(circles) == 18
    first = {woman.split()[0] for woman, circle in circles.items() if circle == "first"}
    assert {"Evelyn", "Laura", "Theresa", "Brenda", "Charlotte", "Frances", "Eleanor"} <= first
    assert not first & {"Nora", "Katherina", "Sylvia", "Myra", "Helen", "Verne"}
    assert picture.read_bytes().startswith(PNG)


@pytest.mark.slow
def test_growers_lie_further_apart_once_propagated(capsys, tmp_path):
    picture = tmp_path / "map.png"
    load("wine_map").main(picture)
    measured, propagated, learned = map(float, re.findall(r"(0\.\d\d)$", capsys.readouterr().out, re.M))
    assert min(propagated, learned) > measured + 0.1
    assert picture.read_bytes().startswith(PNG)


@pytest.mark.slow
def test_the_surest_mistake_is_explained_to_the_last_digit(capsys, tmp_path):
    picture = tmp_path / "mistake.png"
    load("diagnosis").main(picture, trials=1)
    shown = capsys.readouterr().out
    truth, taken_for = re.search(r"in truth (\w+):\nvertex .*: class (\w+), probability [\d.]+ %", shown).groups()
    assert truth != taken_for
    parts = [float(found) for found in re.findall(r"(?m)([+-]\d+\.\d{4})(?:\s+[\d.]+ %)?$", shown)]
    assert sum(parts[:-1]) == pytest.approx(parts[-1], abs=1e-3)
    assert picture.read_bytes().startswith(PNG)


@pytest.mark.slow
def test_words_in_common_help_where_labels_are_fewest(capsys):
    load("docstrings").main(draws=2)
    shares = re.findall(r"^(\D+?) +([\d.]+)%", capsys.readouterr().out, re.M)
    assert len(shares) == 3
    convolution, plain, _ = (float(share) for _, share in shares)
    assert convolution > plain


@pytest.mark.slow
def test_a_classifier_that_goes_on_knows_the_products_of_each_week(capsys):
    load("weekly_orders").main(weeks=5)
    rows = re.findall(r"(?m)^ +\d+ +\d+ +\d+ +(\d+)% +(\d+)%$", capsys.readouterr().out)
    fitted_once, going_on = (list(map(int, column)) for column in zip(*rows, strict=True))
    assert len(rows) == 4
    assert min(going_on) > 85
    assert fitted_once[-1] < 65  # all products are new
