"""A system and data of one's own on the command line."""

import re
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from support.tables import cell

import hypergnn as hg
import hypergnn.experiments.markdown
import hypergnn.report.reproductions  # both take the tables when they are loaded: before a test replaces those
from hypergnn.cli import main
from hypergnn.experiments import beyond
from hypergnn.experiments.cells import Cell, Table
from hypergnn.experiments.results import Results
from hypergnn.experiments.systems import running

PAGE = Path(__file__).parents[2] / "docs" / "own_system.md"
NETWORK = Cell("systems", "digits/ours", "Ours", "digits", "digits", cell("net", model="mlp").config, None)
RIVAL = Cell("systems", "digits/gcn", "GCN*", "digits", "digits", cell("gcn", model="gcn").config, None)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with the module of the documentation; the tables of systems are small."""
    monkeypatch.chdir(tmp_path)
    for name in ("my_system", "my_data", "faulty_system", "faulty_module"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    table = Table("systems", "Systems", (NETWORK, RIVAL))
    monkeypatch.setattr(beyond, "ALL", {"systems": table, "baselines": Table("baselines", "Other", (RIVAL,))})
    code = re.search(r"(?ms)^```python\n(>>> from dataclasses.*?)^```$", PAGE.read_text())[1]
    tmp_path.joinpath("my_system.py").write_text("\n".join(line[4:] for line in code.splitlines()))
    return tmp_path


def run(*command):
    return main(["reproduce", *map(str, command)])


@pytest.mark.slow
def test_the_system_of_the_documentation_is_in_table_page_and_statistics(folder, capsys):
    assert run("systems", "--system", "my_system:Smoothed", "--trials", 2, "--jobs", 1, "--quiet") == 0
    printed = capsys.readouterr().out
    (row,) = re.findall(
        r"(?m)^Logistic regression on smoothed features +digits +(\d\d\.\d\d) +1, deterministic", printed
    )
    assert float(row) > 90
    assert re.search(r"(?m)^Logistic regression on smoothed features +digits +-\d\d\.\d\d ", printed), "the test"
    page = (folder / "runs" / "paper" / "report.html").read_text()
    assert page.count("Logistic regression on smoothed features") > 4
    assert "Accuracy against training time" in page
    assert [name for name in Results.read("runs/paper").runs if "system-smoothed-" in name]
    assert "my_system.py" not in printed


FAULTY = """
from dataclasses import dataclass
from typing import ClassVar

@dataclass(frozen=True)
class Faulty:
    name: ClassVar[str] = "faulty"
    title: ClassVar[str] = "Faulty"
    is_deterministic: ClassVar[bool] = False

    @classmethod
    def for_dataset(cls, dataset):
        return cls()

    def fit(self, data, seed):
        raise ValueError("no graph")


class Bare:
    name = "bare"


@dataclass(frozen=True)
class Odd(Faulty):
    name: ClassVar[str] = "../odd"


class Plain:
    name, title, is_deterministic, for_dataset, fit = "plain", "Plain", True, None, None


def no_data():
    return 7


Taken = type("Taken", (Faulty,), {"title": "GCN*"})
"""


FEW = {"epochs": 3, "label_batches": 3, "graph_batches": 3, "walks": 1}
"""What systems call the length of their training."""


@pytest.fixture
def in_this_process(monkeypatch):
    """Fit systems here and briefly, which saves the start of another process; what they learn is tested elsewhere."""

    def answers(system, data, missing, _):
        system = replace(system, **{one.name: FEW[one.name] for one in fields(system) if one.name in FEW})
        for seed in missing:
            try:
                found = np.asarray(system.fit(data, seed))
            except ValueError as error:
                yield running.Failure(seed, f"raised ValueError: {error}")
                return
            yield seed, {"seconds": 0.1, "cpu_seconds": 0.1, "peak_megabytes": 1.0}, found

    monkeypatch.setattr(running, "_answers", answers)


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_a_system_that_fails_is_a_line_and_an_exit_code(folder, monkeypatch, capsys):
    monkeypatch.setattr("hypergnn.report.write_results", lambda _, out, **__: Path(out))
    folder.joinpath("faulty_system.py").write_text(FAULTY)
    both = ("--system", "faulty_system:Faulty", "--system", "my_system:Smoothed")
    assert run("systems", *both, "--trials", 1, "--jobs", 1, "--quiet", "--keep", "kept") == 1
    printed = capsys.readouterr()
    assert re.search(r"(?m)^Faulty +digits +– +0 +failed$", printed.out)
    assert "Faulty failed on digits. Seed 0: the system raised ValueError: no graph." in printed.out
    assert re.search(r"(?m)^Logistic regression on smoothed features +digits +9\d", printed.out), "the others go on"
    assert printed.err == ""
    assert len(Results.read("kept").runs) == 4


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["systems", "--system", "my_system"], "--system must be MODULE:NAME, for example"),
        (["systems", "--system", "no_such_module:A"], "--system must name a module in this folder or an installed"),
        (["systems", "--system", "my_system:Other"], "--system must name something in the module my_system; it has no"),
        (["systems", "--system", "faulty_module:Bare"], "--system must name a dataclass with name, title,"),
        (["systems", "--system", "faulty_module:Plain"], "it is not a dataclass. See docs/own_system.md."),
        (["systems", "--system", "faulty_module:Odd"], "name of faulty_module:Odd must be lower-case letters"),
        (
            ["systems", "--system", "faulty_module:Taken"],
            "title of Taken must be new; the table systems already has a row 'GCN*'",
        ),
        (["baselines", "--system", "my_system:Smoothed"], "--system and --data must be combined with TABLE sota or"),
        (["systems", "--data", "nowhere"], "--data must be a folder with tables, or MODULE:FUNCTION; nowhere is"),
        (["systems", "--data", "."], "--data must hold incidences.csv and labels.csv"),
        (["systems", "--data", "faulty_module:no_data"], "--data must name a function that returns a Dataset;"),
    ],
)
def test_mistakes_are_one_line(command, message, folder, capsys):
    folder.joinpath("faulty_module.py").write_text(FAULTY)
    assert run(*command) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("hypergnn: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert not (folder / "runs").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("form", ["folder", "function"])
def test_data_of_ones_own_is_a_column(form, folder, monkeypatch, capsys):
    pages = []
    monkeypatch.setattr("hypergnn.report.write_results", lambda _, out, **given: pages.append(given) or Path(out))
    wine = hg.datasets.load("wine")
    if form == "folder":
        folder.joinpath("mine").mkdir()
        H = wine.hypergraph
        pairs = "\n".join(f"v{one},e{two}" for one, two in zip(H.vertex.tolist(), H.hyperedge.tolist(), strict=True))
        folder.joinpath("mine", "incidences.csv").write_text(f"vertex,hyperedge\n{pairs}\n")
        labels = "\n".join(f"v{one},class {label}" for one, label in enumerate(wine.y))
        folder.joinpath("mine", "labels.csv").write_text(f"vertex,label\n{labels}\n")
    else:
        folder.joinpath("my_data.py").write_text(
            "from dataclasses import replace\nimport hypergnn as hg\n"
            "def mine():\n    return replace(hg.datasets.load('wine'), name='mine')\n"
        )
    named = "mine" if form == "folder" else "my_data:mine"
    monkeypatch.setattr("hypergnn.experiments.paper.config_of", lambda *_: cell("net", model="mlp").config)
    options = ("--trials", 2, "--jobs", 1, "--quiet")
    assert run("systems", "--data", named, "--system", "my_system:Smoothed", *options) == 0
    printed = capsys.readouterr().out
    assert re.search(r"(?m)^Logistic regression on smoothed features +mine +\d\d\.\d\d +1, deterministic", printed)
    assert re.search(r"(?m)^Ours +mine +\d\d\.\d\d ± ", printed)
    assert "digits" not in printed, "only the own data is run"
    assert {run.partition("/")[0] for run in Results.read("runs/paper").runs} == {"mine"}
    assert list(pages[0]["datasets"]) == ["mine"]
    assert pages[0]["tables"][0].columns == ("digits", "mine")
