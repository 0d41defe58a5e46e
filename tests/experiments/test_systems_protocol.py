"""Systems under the protocol: trials in a process of their own, tables with systems, and what fails."""

import io
import os
import re
import time
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import psutil
import pytest
from support.own_systems import Centroid, Curious, Faulty, Forking, Tiny
from support.tables import cell, trial

import hypergnn as hg
from hypergnn.experiments.cells import Cell, Published, Table
from hypergnn.experiments.checking import check
from hypergnn.experiments.identity import LEAST_TRIALS, SHORT, identity_of, usual_trials
from hypergnn.experiments.jobs import TRIALS_ALONE
from hypergnn.experiments.own_cells import OWN, own_tables
from hypergnn.experiments.paper import TABLES
from hypergnn.experiments.ranking import against, cost_of
from hypergnn.experiments.remarks import remarks_of
from hypergnn.experiments.results import Results, recorded
from hypergnn.experiments.run_notes import FAILURE, INAPPLICABLE, seconds_of
from hypergnn.experiments.runner import reproduce
from hypergnn.experiments.systems import DoesNotApplyError, running, worker
from hypergnn.experiments.systems.rows import Inapplicable, with_data, with_system
from hypergnn.experiments.text import as_text, line_of, verdict_of
from hypergnn.experiments.verdicts import Verdict
from hypergnn.report import write
from hypergnn.training import ledger

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def data():
    return hg.datasets.load("digits")


@pytest.fixture
def here(monkeypatch):
    """Fit systems in this process, which saves the start of another one."""

    def answers(system, data, missing, _):
        for seed in missing:
            head, body = worker._trial(system, data, seed)
            if (failure := running.failure_in(head, seed)) is not None:
                yield failure
                return
            yield seed, head, np.frombuffer(body).reshape(head["shape"])

    monkeypatch.setattr(running, "_answers", answers)


def of(system, published=None, table="systems"):
    place = f"digits/{system.title}", system.title, "digits", "digits"
    return Cell(table, *place, None, published, system=system)


@pytest.mark.slow
def test_trials_run_in_a_process_of_their_own_and_are_resumed(data, tmp_path):
    def stop(progress):
        if progress.done == 1:
            raise KeyboardInterrupt

    stopped = running.fit(Tiny(0.3), data, trials=3, out=tmp_path / "run", jobs=1, on_progress=stop)
    assert stopped.interrupted
    assert [one.seed for one in stopped.records] == [0]
    seen = []
    done = running.fit(Tiny(0.3), data, trials=3, out=tmp_path / "run", jobs=2, on_progress=seen.append)
    assert [one.seed for one in done.records] == [0, 1, 2]
    assert done.records[0] == stopped.records[0], "a finished trial is not run again"
    assert (seen[0].done, seen[-1].done, seen[-1].total) == (1, 3, 3)
    assert min(one.cpu_seconds for one in done.records) > 0
    assert max(one.cpu_seconds for one in done.records) < 2
    assert min(one.peak_megabytes for one in done.records) > 1, "distances of all vertices to all means"
    assert max(one.peak_megabytes for one in done.records) < 200, "without torch and the data"
    expected = Tiny(0.3).fit(data, 2).argmax(axis=1) == data.y
    assert done.records[2].test_accuracy == 100 * expected[data.test].mean()
    assert ledger.read(tmp_path / "run").configuration["system"]["settings"] == {"noise": 0.3}
    assert check(tmp_path / "run").findings == []


@pytest.mark.slow
def test_a_crash_ends_the_run_and_loses_nothing(data, tmp_path, capfd):
    found = running.fit(Faulty(how="crashes", since=1), data, trials=3, out=tmp_path / "run", jobs=1)
    assert [one.seed for one in found.records] == [0]
    assert [str(one) for one in found.failures] == ["seed 1: its worker lost its process by SIGSEGV (exit code -11)"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("how", ["forks", "detaches"])
def test_a_process_that_a_system_started_does_not_keep_its_run_waiting(how, data, tmp_path):
    start = time.monotonic()
    (failure,) = running.fit(Faulty(how=how), data, trials=1, out=tmp_path / "run", jobs=1).failures
    assert failure.cause == "ended its process with exit code 7"
    assert time.monotonic() - start < 35


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_processes_that_a_system_started_end_with_the_run(data, tmp_path):
    running.fit(Forking(note=str(tmp_path / "pid")), data, trials=1, out=tmp_path / "run", jobs=1)
    child = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 10
    while psutil.pid_exists(child) and psutil.Process(child).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
def test_a_trial_that_takes_too_long_fails(data, tmp_path, monkeypatch):
    monkeypatch.setattr(Faulty, "time_limit", 0.5)
    (failure,) = running.fit(Faulty(how="waits"), data, trials=1, out=tmp_path / "run", jobs=1).failures
    assert failure.cause == "gave no answer in 0.5 seconds, its time_limit"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("raises", "raised ValueError: the graph must be connected."),
        ("lacks", "raised ModuleNotFoundError: No module named 'no_such_package'"),
        ("exits", "raised SystemExit: 3"),
        ("nan", "returned NaN or infinity for 1797 of 1797 vertices."),
        ("shape", "returned the shape (1797,); it must be (1797, 10), a row per vertex and a column per class."),
        ("scores", "which sum to 3; probabilities must be at least 0 and sum to 1."),
        ("text", "returned str; it must be an array of numbers."),
    ],
)
@pytest.mark.usefixtures("here")
def test_what_goes_wrong_is_one_line(how, message, data, tmp_path):
    found = running.fit(Faulty(how=how, since=1), data, trials=3, out=tmp_path / "run")
    assert [one.seed for one in found.records] == [0], "what was finished stays"
    (failure,) = found.failures
    assert message in failure.cause
    assert "\n" not in str(failure)


@pytest.mark.parametrize(
    "line",
    [
        b"[]\n",
        b"1\n",
        b'{"shape": [1]}\n',
        b"{" * 9 + b"\n",
        b"[" * 99_999 + b"\n",
    ],
)
def test_an_answer_that_makes_no_sense_ends_the_run(line, data, tmp_path, monkeypatch):
    """A system may write to any file of its process, even to the channel that its answers take."""
    start = running._Worker.start

    def confused(worker):
        worker.output.close()
        worker.output = io.BytesIO(line)
        start(worker)

    monkeypatch.setattr(running._Worker, "start", confused)
    monkeypatch.setattr(running, "_START", "import sys; sys.stdin.buffer.read()")  # its own answer would not be read
    (failure,) = running.fit(Tiny(), data, trials=1, out=tmp_path / "run").failures
    assert "no answer" in failure.cause


def test_a_system_that_cannot_be_sent_fails(data, tmp_path):
    class Local(Tiny):
        pass

    (failure,) = running.fit(Local(), data, trials=1, out=tmp_path / "run").failures
    assert "could not be sent to a process of its own" in failure.cause


@pytest.mark.usefixtures("here")
def test_labels_of_test_vertices_are_hidden(data, tmp_path):
    (record,) = running.fit(Curious(), data, trials=1, out=tmp_path / "run").records
    assert (record.train_accuracy, record.val_accuracy) == (100, 100)
    assert record.test_accuracy < 20
    assert (running._hidden(data).y[data.val] == data.y[data.val]).all()


def test_only_an_error_of_its_own_says_that_a_system_does_not_apply(data):
    head, _ = worker._trial(Faulty(how="lacks links"), data, 0)
    assert head == {"inapplicable": "it needs a list of links."}
    failure = running.failure_in(head, 0)
    assert failure.cause == "does not apply: it needs a list of links."
    assert failure.inapplicable == "it needs a list of links."
    other = running.failure_in({"error": "does not apply: so it prints."}, 0)
    assert (other.cause, other.inapplicable) == ("does not apply: so it prints.", None)
    assert running.failure_in({"shape": (1, 2)}, 0) is None


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_a_system_that_does_not_apply_is_no_failure(tmp_path):
    table = Table("systems", "Systems", (of(Faulty(how="lacks links")), of(Centroid())))
    (inapplicable, centroid), found = table.cells, []
    for trials in (1, 2):
        results = reproduce([table], trials=trials, out=tmp_path / "run", jobs=1).results
        results.write(tmp_path / "kept")
        found += [results, Results.read(tmp_path / "run"), Results.read(tmp_path / "kept")]
    for results in found:
        assert results.failures == {}
        assert verdict_of(inapplicable, results) == Verdict.NOT_APPLICABLE
        assert results.inapplicable(centroid) is None
        assert "Faulty does not apply to digits: it needs a list of links." in remarks_of(table, results)
        assert len(results.trials(centroid)) == 1
    assert check(tmp_path / "run").findings == []
    path = tmp_path / "run" / inapplicable.run / INAPPLICABLE
    path.write_text("{}")
    with pytest.raises(ValueError, match=r"inapplicable\.json must say why a system cannot run; it is corrupt"):
        Results.read(tmp_path / "run")


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_one_failing_system_leaves_the_others_alone(tmp_path):
    tiny, centroid, faulty = of(Tiny(0.3), Published(88.0)), of(Centroid(), Published(90.6)), of(Faulty())
    network = replace(cell("net"), table="systems", row="Ours")
    table = Table("systems", "Systems", (faulty, tiny, centroid, network))
    seen = []
    done = reproduce([table], trials=3, out=tmp_path, jobs=1, on_progress=seen.append)
    results = done.results
    assert [len(results.trials(one)) for one in table.cells] == [0, 3, 1, 3]
    assert results.failures == {faulty.run: "seed 0: the system raised ValueError: the graph must be connected."}
    assert (seen[-1].runs_done, seen[-1].runs_total) == (3, 3), "a run that failed is not waited for"
    assert (seen[-1].trials_done, seen[-1].trials_total) == (7, 7)
    assert verdict_of(faulty, results) == Verdict.FAILED
    assert verdict_of(centroid, results) == Verdict.REPRODUCED, "90.60 rounds to what was published"
    assert line_of(centroid, results).trials == "1, deterministic"
    text = as_text(table, results)
    assert "Faulty failed on digits. Seed 0: the system raised ValueError: the graph must be connected." in text
    again = reproduce([replace(table, cells=table.cells[1:3])], trials=4, out=tmp_path, jobs=1).results
    assert again.trials(tiny)[:3] == results.trials(tiny)
    assert len(again.trials(tiny)) == 4
    again.write(tmp_path / "kept")
    kept = Results.read(tmp_path / "kept")
    assert [one.cpu_seconds for one in kept.trials(tiny)] == [one.cpu_seconds for one in again.trials(tiny)]
    assert kept.trials(network)[0].cpu_seconds is None
    page = write(tmp_path / tiny.run, tmp_path / "page.html").read_text()
    assert "<h1>tiny on digits</h1>" in page


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_a_system_that_fails_later_is_not_judged_by_the_trials_before(tmp_path, monkeypatch):
    late, tiny, centroid = of(Faulty(since=2), Published(88.0)), of(Tiny(0.3)), of(Centroid())
    network = replace(cell("net"), table="systems", row="Ours")
    table, folder = Table("systems", "Systems", (late, tiny, centroid, network)), tmp_path / "run"
    done = reproduce([table], trials=3, out=folder, jobs=1, exactly=True).results
    done.write(tmp_path / "kept")
    for results in (done, Results.read(folder), Results.read(tmp_path / "kept")):
        assert results.failures == {late.run: "seed 2: the system raised ValueError: the graph must be connected."}
        assert verdict_of(late, results) == Verdict.FAILED
        assert (line_of(late, results).measured, line_of(late, results).trials) == ("–", 2)
        assert results.accuracies(late) == []
        assert cost_of(late, results) is None
        assert "Faulty" not in {one.other.row for one in against(table, results)}
        assert "Faulty failed on digits. Seed 2: the system raised" in as_text(table, results)
        assert not any("numbers quoted from others" in one for one in remarks_of(table, results))
    path = folder / late.run / FAILURE
    assert check(folder).findings == []
    path.write_text("{}")
    with pytest.raises(ValueError, match=r"failure\.json must say why a trial failed; it is corrupt"):
        Results.read(folder)
    path.write_text('{"why": "seed 2: it failed."}')
    fewer = reproduce([table], trials=2, out=folder, jobs=1, exactly=True).results
    assert verdict_of(late, fewer) == Verdict.FAILED, "it was not tried again"
    monkeypatch.setattr(Faulty, "fit", Tiny.fit)
    again = reproduce([table], trials=3, out=folder, jobs=1, exactly=True).results
    assert again.failures == {}
    assert len(again.trials(late)) == 3
    assert not path.exists()


@pytest.mark.usefixtures("here")
def test_a_network_that_cannot_be_trained_fails_its_own_cell(data, tmp_path):
    network = replace(cell("net"), table="systems", row="Ours", dataset="mine", column="mine")
    tiny = replace(of(Tiny(0.3)), dataset="mine", column="mine")
    table = Table("systems", "Systems", (network, tiny))
    own = {"mine": replace(data, name="mine", val=np.empty(0, dtype=np.int64))}
    results = reproduce([table], trials=1, out=tmp_path / "run", jobs=1, own=own).results
    assert list(results.failures) == [network.run]
    assert results.failures[network.run].startswith("mine must have train, val and test vertices; val is empty.")
    assert [verdict_of(one, results) for one in table.cells] == [Verdict.FAILED, None]
    assert len(results.trials(tiny)) == 1, "the others go on"
    results.write(tmp_path / "kept")
    assert verdict_of(network, Results.read(tmp_path / "kept")) == Verdict.FAILED
    own = {"mine": replace(data, name="mine")}
    again = reproduce([table.only("net")], trials=1, out=tmp_path / "run", jobs=1, own=own).results
    assert again.failures == {}


@pytest.mark.usefixtures("here")
def test_what_a_network_costs_alone_is_measured_with_a_few_trials(tmp_path):
    ours = replace(cell("net"), table="systems", row="Ours", alone=Tiny(0.5))
    table = Table("systems", "Systems", (ours,))
    results = reproduce([table], trials=4, out=tmp_path, jobs=1).results
    assert [len(results.runs[run]) for run in (ours.run, ours.run_alone)] == [4, TRIALS_ALONE]
    assert cost_of(ours, results).megabytes is not None
    assert cost_of(ours, results).seconds < 1
    kept = results.of([table])
    assert set(kept.runs) == {ours.run, ours.run_alone}
    assert len(results.accuracies(ours)) == 4
    assert cost_of(replace(ours, alone=None), results).megabytes is None


def test_a_run_is_named_by_the_settings_and_the_source_of_a_system(tmp_path, monkeypatch):
    one = of(Tiny(0.3))
    assert one.run.startswith("digits/system-tiny-")
    assert one.run == of(Tiny(0.3), Published(1.0)).run
    assert one.run != of(Tiny(0.2)).run
    assert one.is_trained
    assert not one.is_quoted
    before = one.run
    assert set(identity_of(Tiny())) == {"class", "name", "settings", "source"}
    changed = tmp_path / "own_systems.py"
    changed.write_text("another version")
    monkeypatch.setattr("support.own_systems.__file__", str(changed))
    assert of(Tiny(0.3)).run != before, "another source is another system"

    class Plain:
        name = "plain"

    with pytest.raises(TypeError, match=r"Plain must be a dataclass whose fields are its settings; add @dataclass\."):
        identity_of(Plain())


def test_a_change_of_what_a_system_imports_is_another_system(tmp_path, monkeypatch):
    own = tmp_path / "own_package"
    own.mkdir()
    files = {
        own / "__init__.py": "",
        own / "system.py": "from . import steps\nimport numpy\nfrom dataclasses import dataclass\n"
        "@dataclass(frozen=True)\nclass Mine:\n    name = 'mine'\n"
        "    def fit(self, data, seed):\n        import beside_it\n",
        own / "steps.py": "from own_package.deeper import more\n",
        own / "deeper.py": "more = 1\n",
        own / "other.py": "",
        tmp_path / "beside_it.py": "",
    }
    for path, text in files.items():
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    mine = import_module("own_package.system").Mine()
    before = identity_of(mine)["source"]
    for path, text in files.items():
        path.write_text(f"{text}\n# changed")
        assert (identity_of(mine)["source"] == before) is (path.name == "other.py"), path
        path.write_text(text)
    assert identity_of(mine)["source"] == before


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_the_page_of_a_folder_has_the_rows_and_columns_of_ones_own(data, tmp_path):
    ours = Cell("systems", "digits/ours", "Ours", "digits", "digits", cell("net").config, None)
    table = with_system(Table("systems", "Systems", (ours,)), Centroid)
    mine = replace(table.cell("digits/Nearest centroid"), name="mine/Nearest centroid", column="mine", dataset="mine")
    of_mine = replace(ours, name="mine/ours", column="mine", dataset="mine", alone=Tiny(0.5))
    own = {"mine": replace(data, name="mine")}
    for cells in ((ours, table.cells[1]), (mine, of_mine)):
        reproduce([replace(table, cells=cells)], trials=1, out=tmp_path, jobs=1, own=own)
    (found,) = own_tables(tmp_path)
    assert [one.name for one in found.cells] == ["digits/Nearest centroid", "mine/Nearest centroid", "mine/ours"]
    assert [one.run for one in found.cells] == [table.cells[1].run, mine.run, of_mine.run]
    assert [one.is_deterministic for one in found.cells] == [True, True, False]
    assert found.cells[2].run_alone == of_mine.run_alone
    page = write(tmp_path, tmp_path / "page.html").read_text()
    assert "Nearest centroid" in page
    assert "mine" in page
    assert check(tmp_path).findings == []
    for text in ("{", "[]", '{"sota": {"a": {}}}', '{"other": {}}'):
        tmp_path.joinpath(OWN).write_text(text)
        with pytest.raises(ValueError, match=r"own\.json must name cells of your own; it is corrupt"):
            reproduce([table], trials=1, out=tmp_path)
    assert len(check(tmp_path).findings) == 1


def test_short_trials_are_more():
    assert usual_trials(Centroid(), 100) == 1
    assert usual_trials(Centroid(), 100, exactly=True) == 1
    assert usual_trials(Tiny(), 100) == LEAST_TRIALS, "until it is known how long they take"
    assert usual_trials(Tiny(), 100, [SHORT] * (LEAST_TRIALS - 1)) == LEAST_TRIALS
    assert usual_trials(Tiny(), 100, [SHORT] * LEAST_TRIALS) == 100
    assert usual_trials(Tiny(), 100, [*[SHORT] * LEAST_TRIALS, 10 * SHORT]) == 100, "the first decide"
    assert usual_trials(Tiny(), 100, [SHORT + 0.1] * LEAST_TRIALS) == LEAST_TRIALS
    assert usual_trials(Tiny(), 50, exactly=True) == 50
    assert usual_trials(Tiny(), 3) == 3


@pytest.mark.slow
@pytest.mark.parametrize(("short", "expected"), [(60.0, 7), (0.0, 4)])
@pytest.mark.usefixtures("here")
def test_a_system_with_short_trials_goes_on_after_the_first(short, expected, tmp_path, monkeypatch):
    monkeypatch.setattr("hypergnn.experiments.identity.LEAST_TRIALS", 4)
    monkeypatch.setattr("hypergnn.experiments.identity.SHORT", short)
    table, seen = Table("systems", "Systems", (of(Tiny(0.3)),)), []
    results = reproduce([table], trials=7, out=tmp_path, jobs=1, on_progress=seen.append).results
    assert [one.seed for one in results.trials(table.cells[0])] == list(range(expected))
    assert (seen[-1].trials_done, seen[-1].trials_total) == (expected, expected)
    clock = seconds_of(tmp_path / table.cells[0].run)
    assert clock >= sum(one.seconds for one in results.trials(table.cells[0])), "both parts count"
    again = reproduce([table], trials=7, out=tmp_path, jobs=1).results
    assert again.trials(table.cells[0]) == results.trials(table.cells[0])
    everything = reproduce([table], trials=7, out=tmp_path, jobs=1, exactly=True).results
    assert len(everything.trials(table.cells[0])) == 7


def test_rows_and_columns_of_ones_own(data):
    ours = Cell("sota", "digits/ours", "Ours", "digits", "digits", cell("net").config, None)
    table = with_system(Table("sota", "State of the art", (ours,)), Tiny)
    assert table.cell("digits/Tiny").system == Tiny(0.3)
    with pytest.raises(ValueError, match="title of Tiny must be new; the table sota already has a row 'Tiny'"):
        with_system(table, Tiny)
    mine = replace(data, name="mine")
    wide = with_data(table, mine, [Centroid], [Tiny])
    assert [one.name for one in wide.cells[2:]] == ["mine/Nearest centroid", "mine/Tiny", "mine/ours"]
    assert wide.columns == ("digits", "mine")
    with pytest.raises(ValueError, match="--data must have a name of its own; 'digits' is that of"):
        with_data(table, data, [Centroid])


def test_a_system_without_settings_for_a_dataset(data):
    class Choosy(Tiny):
        @classmethod
        def for_dataset(cls, dataset):
            raise DoesNotApplyError(f"{dataset} has no links")

    class Broken(Tiny):
        @classmethod
        def for_dataset(cls, dataset):
            raise KeyError(dataset)

    ours = Cell("sota", "digits/ours", "Ours", "digits", "digits", cell("net").config, None)
    table = Table("sota", "State of the art", (ours,))
    own = with_system(table, Choosy).cell("digits/Tiny").system
    assert isinstance(own, Inapplicable)
    with pytest.raises(DoesNotApplyError, match="Tiny has no settings for digits: digits has no links"):
        own.fit(data, 0)
    assert len(with_data(table, replace(data, name="mine"), [Choosy]).cells) == 2, "others are left out"
    broken = with_system(table, Broken).cell("digits/Tiny").system
    with pytest.raises(RuntimeError, match="the settings for digits cannot be made: KeyError: 'digits'"):
        broken.fit(data, 0)
    with pytest.raises(KeyError):
        with_data(table, replace(data, name="mine"), [Broken])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "Cora"}, "--data must have a name of its own; 'Cora' is that of a dataset"),
        ({"name": "../mine"}, "the name of --data must be letters, digits, spaces and any of _.+-; got '../mine'"),
        (
            {"name": "mine", "test": np.empty(0, dtype=np.int64)},
            "--data must have labelled vertices to train, to validate and to test on; mine has none to test.",
        ),
        ({"name": "mine", "val": np.empty(0, dtype=np.int64)}, "mine has none to validate."),
    ],
)
def test_data_that_cannot_be_a_column(data, changes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        with_data(Table("sota", "State of the art", ()), replace(data, **changes), [])


def test_a_system_far_from_its_published_number_is_explained(monkeypatch):
    near, far = of(Tiny(0.3), Published(80.0)), of(Centroid(), Published(80.0))
    table = Table("systems", "Systems", (near, far))
    results = Results({near.run: [trial(0, 81.0), trial(1, 81.2)], far.run: [trial(0, 77.0)]}, {})
    first, second, third = remarks_of(table, results)
    assert third == "The 3 trials of systems in this table took 0.0 hours of one core."
    assert first == "Of 2 numbers quoted from others, 1 is exceeded or missed by at most 1.5 points."
    assert second == ("Nearest centroid differs from the published numbers by -3.00 on digits. Why, we do not know.")
    monkeypatch.setattr("hypergnn.experiments.remarks.FINDINGS", {"Nearest centroid": "It has no settings."})
    assert remarks_of(table, results)[1].endswith("on digits. It has no settings.")
    reached = Results({near.run: [trial(0, 81.0)], far.run: [trial(0, 80.0)]}, {})
    assert remarks_of(table, reached) == [
        "Of 2 numbers quoted from others, 2 are exceeded or missed by at most 1.5 points.",
        "The 2 trials of systems in this table took 0.0 hours of one core.",
    ]


def test_recorded_results_of_today_have_no_costs_of_networks():
    results = recorded(ROOT / "results")
    assert all(one.peak_megabytes is None for run, own in results.runs.items() if "/system-" not in run for one in own)


def test_recorded_trials_of_graph_attention_are_of_the_settings_as_they_are():
    results, table = recorded(ROOT / "results"), TABLES["sota"]
    row = [cell for cell in table.cells if cell.row == "Graph Attention Network"]
    assert [len(results.trials(cell)) >= LEAST_TRIALS for cell in row] == [True] * 3
