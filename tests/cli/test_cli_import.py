"""``--import``: networks of the user's own on the command line."""

import sys

import pytest

from hypergnn.cli import main
from hypergnn.models import KINDS

MODULE = """
import hypergnn as hg

class Largest(hg.layers.Operator):
    def to_vertices(self, messages, x, H):
        return hg.functional.to_vertices(messages, H, reduce="max")

hg.models.register("largest", Largest)
"""
TINY = ["--hidden", "2", "--heads", "2", "--max-epochs", "3", "--quiet", "--jobs", "1"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "largest_of.py").write_text(MODULE)
    yield tmp_path
    KINDS.pop("largest", None)
    sys.modules.pop("largest_of", None)


def run(*command):
    return main([*map(str, command)])


def test_a_registered_network_is_trained_and_predicts(folder, capsys):
    before = list(sys.path)
    assert run("train", "wine", "--import", "largest_of", "--model", "largest", *TINY) == 0
    assert "runs/wine-largest" in capsys.readouterr().out
    assert sys.path == before
    assert run("predict", "runs/wine-largest", "--import", "largest_of", "--out", "out.csv", "--quiet") == 0
    assert len((folder / "out.csv").read_text().splitlines()) == 179


@pytest.mark.usefixtures("folder")
def test_without_the_import_the_error_says_what_to_do(capsys):
    assert run("train", "wine", "--import", "largest_of", "--model", "largest", *TINY) == 0
    KINDS.pop("largest")
    capsys.readouterr()
    assert run("predict", "runs/wine-largest") == 2
    said = capsys.readouterr().err
    assert "'largest', which is not registered" in said
    assert "--import MODULE" in said
    assert said.count("\n") == 1
    assert run("train", "wine", "--model", "largest", *TINY) == 2
    assert "model must be one of" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_module_that_is_not_there_is_one_clear_error(capsys):
    assert run("train", "wine", "--import", "nowhere", *TINY) == 2
    said = capsys.readouterr().err
    assert "--import must name a module in this folder or an installed one, without .py; got 'nowhere'" in said
    assert said.count("\n") == 1


@pytest.mark.usefixtures("folder")
def test_a_module_that_exits_does_not_end_the_command_as_if_it_were_done(capsys, folder):
    (folder / "leaves.py").write_text("raise SystemExit(0)")
    assert run("train", "wine", "--import", "leaves", *TINY) == 2
    assert "--import must name a module that can be imported; leaves raised SystemExit(0)" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_more_trials_than_fit_into_memory_are_refused(capsys):
    assert run("train", "wine", *TINY, "--trials", str(10**23)) == 2
    assert "trials must be at most" in capsys.readouterr().err
