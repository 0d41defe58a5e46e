"""The paper's tables from the command line, with tables small enough for a test."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.tables import SMALL, compact

import hypergnn as hg
from hypergnn.cli import main, progress
from hypergnn.experiments import beyond, paper, runner
from hypergnn.experiments.cells import Cell
from hypergnn.experiments.jobs import Job
from hypergnn.experiments.results import Results
from hypergnn.experiments.runner import Progress
from hypergnn.models import Config
from hypergnn.training import Progress as RunProgress


@pytest.fixture
def small(tmp_path, monkeypatch):
    """The small table in the place of all others, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(beyond, "ALL", {"small": SMALL, "baselines": SMALL})
    monkeypatch.setattr(paper, "TABLES", {"baselines": SMALL})
    monkeypatch.setattr("hypergnn.report.write_results", lambda _, out, **__: Path(out))
    return tmp_path


def run(*command):
    return main(["reproduce", *map(str, command)])


@pytest.mark.slow
def test_tables_are_printed_and_kept(small, capsys):
    assert run("small", "--trials", 2, "--jobs", 1, "--keep", "kept") == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("A small table\n")
    assert "95 % interval" in printed.out
    assert "conv better than gcn (digits)" in printed.out
    assert printed.out.endswith("\nrecords: kept\n\npage: runs/paper/report.html\n")
    lines = printed.err.splitlines()
    assert "0/2 runs, 0/4 trials | small, conv on digits: 0/2, test –, " in lines[0]
    assert "0:00 left, 2/2 runs, 4/4 trials | small, gcn on digits: 2/2, test " in lines[-1]
    assert Results.read("kept").runs == compact(Results.read("runs/paper").runs)
    assert run("small", "--trials", 1, "--jobs", 1, "--keep", "kept", "--quiet", "--out", "other") == 0
    assert Results.read("kept").runs == compact(Results.read("runs/paper").runs), "fewer trials replace nothing"
    hg.training.fit(hg.datasets.load("digits"), Config(max_epochs=1), out="other/digits/of-no-table")
    Results({"digits/before": []}, {}).over(Results.read("kept")).write("kept")
    assert run("small", "--trials", 1, "--keep", "kept", "--quiet", "--out", "other") == 0
    found = Results.read("kept").runs
    assert found == {**compact(Results.read("runs/paper").runs), "digits/before": []}, "other runs are unchanged"
    capsys.readouterr()
    assert run("small", "--keep", small / "kept" / "results.jsonl") == 2
    assert "the place for records must be a folder; " in capsys.readouterr().err
    assert run("small", "--trials", 2, "--quiet", "--out", small / "runs" / "paper") == 0
    assert capsys.readouterr().err == ""
    assert run("small", "--trials", 3, "--jobs", 1) == 0
    assert capsys.readouterr().err.splitlines()[0] == "resuming: 4 of 6 trials are finished"


@pytest.mark.usefixtures("small")
def test_the_page_gets_the_results_and_the_data_that_were_used(monkeypatch):
    seen = []

    def write_results(results, out, *, datasets, tables, on_step):
        assert tables == [SMALL]
        seen.append((results, out, list(datasets), on_step))
        return out

    monkeypatch.setattr("hypergnn.report.write_results", write_results)
    assert run("small", "--trials", 1, "--jobs", 1, "--quiet") == 0
    ((results, out, datasets, on_step),) = seen
    assert results == Results.read("runs/paper")
    assert (out, datasets, on_step) == (Path("runs/paper/report.html"), ["digits"], None)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ([], (["small"], ["cora"], 10)),
        (["--quick", "--trials", "3"], (["small"], ["cora"], 3)),
        (["--all"], (["small"], None, 100)),
        (["small", "small"], (["small"], None, 100)),
        (["--all", "--dataset", "cora", "digits", "--jobs", "2"], (["small"], ["cora", "digits"], 100)),
    ],
)
def test_what_is_asked_for(command, expected, monkeypatch, capsys):
    seen = []

    def keep(tables, trials, datasets, **options):
        seen.append(([table.name for table in tables], datasets, trials))
        seen.append(options)
        raise ValueError("enough")

    monkeypatch.setattr(runner, "reproduce", keep)
    assert run(*command) == 2
    assert seen[0] == expected
    assert seen[1]["jobs"] == (2 if "--jobs" in command else None)
    assert seen[1]["out"] == "runs/paper"
    capsys.readouterr()


@pytest.mark.usefixtures("small")
def test_cells_are_chosen_by_their_names(monkeypatch):
    seen = []

    def keep(tables, *_, **__):
        seen.extend([cell.name for cell in table.cells] for table in tables)
        raise ValueError("enough")

    monkeypatch.setattr(runner, "reproduce", keep)
    assert run("small", "--cell", "[cg]*") == 2
    assert seen == [["conv", "gcn"]]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["tables"], "TABLE must be one of 'datasets', 'baselines'"),
        (["--dataset", "core"], "--dataset must be one of 'cora'"),
        (["baselines", "--all"], "TABLE must not be combined with --all or --quick."),
        (["--trials", "0"], "trials must be at least 1; got 0"),
        (["--out", "file"], "file: Not a directory"),
        (
            ["deep", "--cell", "cora/9"],
            "--cell must match the name of a cell of deep, such as cora/plain/2; got 'cora/9'.",
        ),
        (["--dataset", "pubmed"], "--dataset must name a dataset of baselines: citeseer, cora; got pubmed."),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(command, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    assert run(*command) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("hypergnn: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_without_cora_the_digits_are_compared(small, monkeypatch, capsys):
    def load(name, **_):
        if name != "digits":
            raise hg.datasets.DataNotFoundError(f"no source has {name}")
        return hg.datasets.load(name)

    far = Cell("baselines", "cora/gcn", "GCN*", "Cora", "cora", Config(max_epochs=3), None)
    monkeypatch.setattr(runner, "load", load)
    monkeypatch.setitem(beyond.ALL, "baselines", paper.Table("baselines", "far", (far,)))
    monkeypatch.setattr(paper, "STAND_IN", SMALL)
    assert run("--trials", 1, "--keep", "kept") == 0
    printed = capsys.readouterr()
    assert "nothing was added to kept: the digits are not in the paper." in printed.err
    assert not Path("kept").exists()
    assert "no source has cora" in printed.err
    assert "Running the same comparison on the digits of scikit-learn instead." in printed.err
    assert printed.out.startswith("A small table\n")
    assert len(list((small / "runs" / "paper" / "digits").iterdir())) == 2
    monkeypatch.setitem(beyond.ALL, "depth", paper.Table("depth", "far", (far,)))
    assert run("depth") == 2
    assert capsys.readouterr().err == "hypergnn: no source has cora\n"


@pytest.mark.usefixtures("small")
def test_an_interrupt_says_how_to_go_on(monkeypatch, capsys):
    whole = runner.reproduce

    def stopped(*arguments, on_progress, **options):
        def stop(progress):
            on_progress(progress)
            if progress.trials_done == 1:
                raise KeyboardInterrupt

        return whole(*arguments, on_progress=stop, **options)

    monkeypatch.setattr(runner, "reproduce", stopped)
    assert run("small", "--trials", 2, "--jobs", 1) == 130
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "stopped: 1 trial finished, in runs/paper. To resume:\n  hypergnn reproduce small --trials 2" in printed.err

    def stop_early(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "load", stop_early)
    assert run("small", "--trials", 2, "--jobs", 1) == 130
    assert "stopped: 1 trial finished" in capsys.readouterr().err, "also while nothing is in training"


@pytest.mark.slow
def test_an_interrupt_before_the_first_run_is_no_obstacle(small, monkeypatch, capsys):
    def stop():
        raise KeyboardInterrupt

    monkeypatch.setitem(beyond.ALL, "small", replace(SMALL, cells=SMALL.cells[:3]))  # nothing is counted
    with monkeypatch.context() as patched:
        patched.setattr("hypergnn.training.ledger.environment", stop)
        assert run("small", "--trials", 1, "--jobs", 1, "--out", "new") == 130
    assert [path.name for path in (small / "new").rglob("*.*")] == ["run.lock"]
    assert "stopped: 0 trials finished, in new" in capsys.readouterr().err
    assert run("small", "--trials", 1, "--jobs", 1, "--out", "new") == 0
    assert capsys.readouterr().out.startswith("A small table")


def test_help_names_all_tables(capsys):
    with pytest.raises(SystemExit):
        run("--help")
    assert ", ".join(beyond.ALL) in " ".join(capsys.readouterr().out.split())


def test_lines_come_with_each_run_and_now_and_then():
    job = Job("digits/a", "digits", Config(), SMALL.cells[:1])

    def at(seconds, runs, trials):
        return Progress(job, runs, 3, trials, 30, RunProgress(1, 10, 2, 100, (80.0,), (50,)), seconds, 61.0)

    teller = progress._TablesStatus()
    told = [(0, 0, 0), (1, 0, 0), (2, 0, 1), (6, 0, 1), (6, 0, 2), (7, 0, 3), (8, 1, 10), (14, 1, 10)]
    assert [teller.is_news(at(*one)) for one in told] == [True, False, False, True, False, False, True, False]
    assert teller.text(at(5, 1, 12)) == (
        "0:05 + 1:01 left, 1/3 runs, 12/30 trials | small, conv on digits: 1/10, test 80.00 %, 100 epochs"
    )
    job = Job("cora/a", "cora", Config(), (paper.TABLES["hidden"].cell("gcn/8"),))
    assert "| hidden, GCN* on cora (8): 1/10" in teller.text(at(5, 1, 12))


@pytest.mark.slow
def test_a_signal_stops_in_good_order_without_any_data(tmp_path):
    command = [sys.executable, "-m", "hypergnn", "reproduce", "--trials", "2", "--jobs", "1", "--out", "run"]
    source = str(Path(hg.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "PYTHONUNBUFFERED": "1"}
    environment |= {"HYPERGNN_DATA": "nowhere", "HYPERGNN_CACHE": str(tmp_path / "cache"), "PIP_NO_INDEX": "1"}
    environment |= {"https_proxy": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    for line in process.stderr:
        if "| digits, GCN* on digits:" in line:
            break
    process.send_signal(signal.SIGINT)
    printed, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert printed == ""
    assert "finished, in run. To resume:" in told
    assert (tmp_path / "run" / "digits").exists()
