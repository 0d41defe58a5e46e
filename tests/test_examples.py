"""The examples run, and show what they say."""

import importlib.util
import re
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name: str):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_digits_are_told_better_with_structure(capsys):
    load("digits").main(epochs=25)
    plain, convolution, attention = map(float, re.findall(r"([\d.]+) % correct", capsys.readouterr().out))
    assert convolution > plain
    assert attention > plain
