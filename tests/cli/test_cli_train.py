"""Training and predicting from the command line, in this process and in others that are stopped and killed."""

import csv
import json
import random
import re
import shlex
import signal
import textwrap
import time
from dataclasses import fields
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from support.forks import Program

import hypergnn as hg
from hypergnn.cli import main
from hypergnn.models import KINDS, Config
from hypergnn.training import fit
from hypergnn.training.ledger import read
from hypergnn.training.pairwise import with_graph


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Thirty people in three towns and five clubs, as files in the working directory."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    names = [f"p{number:03}" for number in range(30)]
    towns = ["rome", "oslo", "bern"] * 10
    clubs = [(name, f"club {place % 3 + 3 * int(rng.integers(0, 2))}") for place, name in enumerate(names)]
    clubs += [(names[place], "club 0") for place in range(0, 30, 7) if place % 3]
    write("clubs.csv", ["vertex", "hyperedge"], clubs)
    write(
        "people.csv",
        ["vertex", "height", "age", "rich"],
        [(name, 1.5 + place % 3 / 4, 20 + place, str(place % 2 == 0).lower()) for place, name in enumerate(names)],
    )
    write("towns.csv", ["vertex", "label"], [*zip(names[:27], towns, strict=False), (names[27], "")])
    return tmp_path


def write(path, head, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([head, *rows])


DOCS = Path(__file__).parents[2] / "docs"
OWN = ["--incidences", "clubs.csv", "--features", "people.csv", "--labels", "towns.csv"]
TINY = ["--hidden", "2", "--heads", "2", "--max-epochs", "3"]


def run(*command):
    return main([*map(str, command)])


def start(*command):
    """Start the command line in a process of its own: a fork, which need not load everything again."""
    return Program(partial(main, program="python -m hypergnn"), [*map(str, command)])


def without_time(records):
    plain = [record if isinstance(record, dict) else record.to_json() for record in records]
    return [{key: value for key, value in record.items() if key != "seconds"} for record in plain]


@pytest.mark.usefixtures("tables")
def test_own_tables_from_training_to_predictions(capsys):
    assert run("train", *OWN, *TINY, "--trials", 2) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("test accuracy ")
    assert printed.out.endswith(" % (2 trials, runs/clubs-hyper-conv)\n")
    assert [line.split()[0] for line in printed.err.splitlines()] == ["vertex", "1/2", "2/2"]
    assert printed.err.splitlines()[0] == "vertex × hyperedge: 30 vertices, 6 hyperedges, 33 incidences"
    saved = hg.load("runs/clubs-hyper-conv/model.safetensors")
    assert saved.class_names == ("bern", "oslo", "rome")
    assert saved.about["feature_names"] == ["height", "age", "rich"]

    tables_again = ["--incidences", "clubs.csv", "--features", "people.csv"]
    assert run("predict", "runs/clubs-hyper-conv", *tables_again) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert list(rows[0]) == ["vertex", "class", "probability"]
    assert [row["vertex"] for row in rows] == [f"p{number:03}" for number in range(30)]
    data = hg.datasets.from_tables(incidences="clubs.csv", features="people.csv")
    scores = saved.network(data.features(), hypergraph=data.hypergraph).softmax(1)
    assert [row["class"] for row in rows] == [saved.class_names[number] for number in scores.argmax(1)]
    assert [float(row["probability"]) for row in rows] == pytest.approx(scores.max(1).values.tolist(), abs=1e-6)


@pytest.mark.slow
def test_predictions_of_digits_as_csv_and_parquet(tmp_path, capsys):
    assert run("train", "digits", *TINY, "--out", tmp_path / "run", "--quiet") == 0
    assert capsys.readouterr().err == ""
    assert run("predict", tmp_path / "run", "--out", tmp_path / "p.csv") == 0
    model = tmp_path / "run" / "model.safetensors"
    assert run("predict", model, "digits", "--out", tmp_path / "p.parquet", "--all-classes") == 0
    assert capsys.readouterr().out == ""
    with open(tmp_path / "p.csv") as file:
        rows = list(csv.DictReader(file))
    table = pyarrow.parquet.read_table(tmp_path / "p.parquet")
    assert table.column_names == ["vertex", "class", "probability", *(f"probability of {digit}" for digit in range(10))]
    assert table["vertex"].to_pylist() == list(range(1797)) == [int(row["vertex"]) for row in rows]
    assert table["class"].to_pylist() == [row["class"] for row in rows]
    all_classes = np.stack([table[f"probability of {digit}"].to_numpy() for digit in range(10)], axis=1)
    assert all_classes.sum(axis=1) == pytest.approx(np.ones(1797), abs=1e-5)
    assert np.array_equal(all_classes.argmax(axis=1), [int(row["class"]) for row in rows])
    best = min(read(tmp_path / "run").records, key=lambda record: record.val_loss)
    data = hg.datasets.load("digits")
    right = np.array([int(row["class"]) for row in rows]) == data.y
    assert 100 * right[data.test].mean() == pytest.approx(best.test_accuracy)


@pytest.mark.slow
@pytest.mark.usefixtures("tables")
def test_json_has_all_that_came_out(capsys):
    options = ["--model", "hyper-attention", "--attention-dropout", "0.25", "--skip", "--learning-rate", "0.02"]
    assert run("train", *OWN, *TINY, *options, "--trials", 3, "--out", "here", "--json", "--quiet", "--curves") == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    result = json.loads(printed.out)
    config = Config(
        model="hyper-attention",
        hidden=2,
        heads=2,
        max_epochs=3,
        attention_dropout=0.25,
        skip=True,
        learning_rate=0.02,
        feature_scaling="none",
    )
    data = hg.datasets.from_tables(incidences="clubs.csv", features="people.csv", labels="towns.csv")
    expected = fit(data, config, trials=3)
    assert without_time(result["records"]) == without_time(expected.records)
    mean, std = expected.test_accuracy()
    accuracy = result["test_accuracy"]
    assert (accuracy["mean"], accuracy["std"]) == pytest.approx((mean, std))
    reach = 4.302653 * std / 3**0.5  # Student's t for two degrees of freedom
    assert accuracy["interval_95"] == pytest.approx([mean - reach, mean + reach], rel=1e-6)
    assert result["configuration"]["config"]["attention_dropout"] == 0.25
    assert (result["dataset"], result["model"], result["out"]) == ("clubs", "hyper-attention", "here")
    assert len(read("here").curves(2)["val_loss"]) == 3


def test_settings_are_the_papers_unless_given(capsys, tmp_path, monkeypatch):
    seen = {}

    def keep(_, config, **options):
        seen.update(config=config, **options)
        raise ValueError("enough")

    monkeypatch.setattr("hypergnn.training.fit", keep)
    pubmed = hg.datasets.from_tables(incidences={"v": ["a"], "e": ["x"]}, name="pubmed")
    monkeypatch.setattr("hypergnn.datasets.load", lambda *_, **__: pubmed)
    run("train", "pubmed", "--out", tmp_path, "--heads", 1, "--jobs", 2, "--batch", 3)
    assert seen["config"] == Config(learning_rate=0.01, weight_decay=1e-3, heads=1)
    assert (seen["jobs"], seen["batch"], seen["trials"]) == (2, 3, 1)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("options", "scaling"),
    [
        (["--features", "people.csv"], "none"),
        ([], "row"),
        (["--features", "people.csv", "--feature-scaling", "row"], "row"),
    ],
)
@pytest.mark.usefixtures("tables")
def test_own_features_are_taken_as_they_are_unless_told(capsys, options, scaling):
    command = ["train", "--incidences", "clubs.csv", "--labels", "towns.csv", *options, *TINY, "--json"]
    assert run(*command) == 0
    assert json.loads(capsys.readouterr().out)["configuration"]["config"]["feature_scaling"] == scaling


def test_the_commands_of_the_pages_work_with_the_tables_of_the_pages(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "training.md").read_text()
    for name, table in re.findall(r"(?ms)^`(\w+\.csv)` .*?\n\n((?: {4}\S+\n)+)", text):
        Path(name).write_text(textwrap.dedent(table))
    own = [
        line
        for page in ("training.md", "table.md", "explain.md")
        for line in re.findall(r"(?m)^ {4}hypergnn (.*--incidences.*)$", (DOCS / page).read_text())
    ]
    assert len(own) == 5
    for command in own:
        words = shlex.split(command)
        assert run(*words, *(TINY if words[0] == "train" else [])) == 0, command
    capsys.readouterr()
    assert {"eve.png", "found.csv", "towns.parquet"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.usefixtures("tables")
def test_the_same_command_resumes_and_says_so(capsys):
    run("train", *OWN, *TINY, "--trials", 2)
    capsys.readouterr()
    assert run("train", *OWN, *TINY, "--trials", 4) == 0
    assert capsys.readouterr().err.splitlines()[1] == "resuming: 2 of 4 trials are finished"
    assert run("train", *OWN, *TINY, "--trials", 4) == 0
    assert capsys.readouterr().err == "nothing to train: all of 4 trials finished earlier\n"


@pytest.mark.usefixtures("tables")
def test_another_configuration_is_refused_with_the_difference(capsys):
    run("train", *OWN, *TINY)
    before = Path("runs/clubs-hyper-conv/run.json").read_bytes()
    capsys.readouterr()
    assert run("train", *OWN, *TINY, "--dropout", 0.5) == 2
    assert capsys.readouterr().err.splitlines() == [
        "hypergnn: configuration must be that of the run in runs/clubs-hyper-conv; it differs:",
        "  config.dropout: 0.6 in the run, 0.5 now",
        "Use another folder for the new configuration, or continue with the old one.",
    ]
    assert run("train", *OWN, *TINY, "--seed", 1) == 2
    assert "data.split.train" in capsys.readouterr().err
    Path("people.csv").write_text(Path("people.csv").read_text().replace("1.5,20,", "1.6,20,"))
    assert run("train", *OWN, *TINY) == 2
    assert "data.content" in capsys.readouterr().err
    assert Path("runs/clubs-hyper-conv/run.json").read_bytes() == before


@pytest.mark.usefixtures("tables")
def test_predicting_finds_features_by_name_and_refuses_others(capsys):
    run("train", *OWN, *TINY)
    command = ["predict", "runs/clubs-hyper-conv", "--incidences", "clubs.csv", "--features", "other.csv"]
    rows = [line.split(",") for line in Path("people.csv").read_text().split()]
    capsys.readouterr()
    run("predict", "runs/clubs-hyper-conv", "--incidences", "clubs.csv", "--features", "people.csv")
    expected = capsys.readouterr().out
    write("other.csv", [rows[0][0], *rows[0][:0:-1]], [[row[0], *row[:0:-1]] for row in rows[1:]])
    assert run(*command) == 0
    assert capsys.readouterr().out == expected
    write("other.csv", ["vertex", "height", "weight", "rich"], rows[1:])
    assert run(*command, "--out", "p.csv") == 2
    assert capsys.readouterr().err == (
        "hypergnn: the features of clubs must be those that the model was trained on; missing: 'age'; new: 'weight'\n"
    )
    assert not Path("p.csv").exists()
    assert run("predict", "runs/clubs-hyper-conv", "digits") == 2
    assert "the model takes 3 features per vertex; digits has 64" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["train"], "DATASET or --incidences must be given"),
        (["train", "digits", "--features", "people.csv"], "DATASET and --features must not be combined"),
        (["train", "--labels", "towns.csv"], "DATASET or --incidences must be given"),
        (["train", "--incidences", "clubs.csv"], "--labels must be given with --incidences"),
        (["train", *OWN, "--data-dir", "."], "--data-dir must be combined with DATASET"),
        (["train", "digit"], "name must be one of 'cora'"),
        (["train", "digits", "--model", "gnn"], "model must be one of 'hyper-conv'"),
        (["train", "digits", "--attention-dropout", "0.1"], "--attention-dropout must be omitted for hyper-conv"),
        (["train", "digits", "--trials", "0"], "trials must be at least 1; got 0"),
        (["train", "digits", "--device", "warp"], "--device must be available on this computer"),
        (["train", "digits", "--out", "people.csv"], "folder must be a folder or a new name; people.csv is"),
        (["train", "digits", "--out", "people.csv/run"], "people.csv/run: Not a directory"),
        (["train", *OWN[:-1], "nowhere.csv"], "nowhere.csv: No such file or directory"),
        (["train", *OWN[:3], "clubs.csv", *OWN[4:]], "features, clubs.csv: column 'vertex' must name each vertex once"),
        (["train", *OWN[:3], "towns.csv", *OWN[4:]], "incidences must name only vertices that have features; 2 ids"),
        (["predict", "nowhere"], "RUN must be a run folder or a model file; nowhere does not exist."),
        (["predict", "."], "RUN must hold model.safetensors"),
        (["predict", "people.csv"], "people.csv is damaged or not a file of hypergnn"),
        (["predict", "run", "--out", "a.txt"], "the ending of --out must be one of '.csv', '.parquet'; got '.txt'"),
        (["predict", "run", "--out", "nowhere/a.csv"], "--out must be a file in an existing folder"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(tables, capsys, command, message):
    before = sorted(tables.rglob("*"))
    assert run(*command) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"hypergnn: {message}")
    assert printed.err.count("\n") == 1
    assert sorted(tables.rglob("*")) == before


@pytest.mark.slow
@pytest.mark.parametrize("model", ["gat", "gcn+hyper-conv"])
def test_models_that_need_a_graph_are_trained_on_data_without_one(model, tmp_path, capsys):
    out = tmp_path / "run"
    assert run("train", "digits", "--model", model, *TINY, "--out", out) == 0
    note = f"digits has no graph: {model} uses 12339 links made from its hyperedges"
    assert capsys.readouterr().err.splitlines()[0] == note
    assert read(out).configuration["data"]["links"] == 12339
    expected = fit(with_graph(hg.datasets.load("digits"), model), Config(model, hidden=2, heads=2, max_epochs=3))
    assert without_time(read(out).records) == without_time(expected.records)
    assert run("predict", out, "--quiet") == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert len(printed.out.splitlines()) == 1798
    assert run("explain", out, 7, "--quiet") == 0
    assert capsys.readouterr().out.startswith("vertex 7: class ")


@pytest.mark.parametrize("model", ["gcn", "gat"])
@pytest.mark.usefixtures("tables")
def test_own_tables_without_links_have_those_of_shared_hyperedges(model, capsys):
    assert run("train", *OWN, *TINY, "--model", model, "--out", "run") == 0
    assert capsys.readouterr().err.startswith(f"clubs has no graph: {model} uses ")
    tables = ["--incidences", "clubs.csv", "--features", "people.csv"]
    assert run("predict", "run", *tables, "--quiet") == 0
    assert len(capsys.readouterr().out.splitlines()) == 31
    assert run("explain", "run", "p003", *tables, "--quiet") == 0
    assert "link" in capsys.readouterr().out


def test_settings_have_two_screens_of_their_own(capsys):
    for command in (["--help-settings"], ["--help-more"]):
        with pytest.raises(SystemExit) as ended:
            run("train", *command)
        assert ended.value.code == 0
    printed = capsys.readouterr().out
    others = {"batch", "jobs", "device", "checkpoint_every", "shards", "seed", "curves", "import"}
    names = {field.name for field in fields(Config)} - {"model"} | others
    assert {option.replace("-", "_") for option in re.findall(r"(?m)^  --([\w-]+)", printed)} == names


@pytest.mark.usefixtures("tables")
def test_a_model_of_own_tables_has_no_dataset_of_its_own(capsys):
    Path("clubs.csv").rename("cora.csv")
    run("train", "--incidences", "cora.csv", *OWN[2:], *TINY, "--out", "run")
    capsys.readouterr()
    assert run("predict", "run") == 2
    assert "the model was trained on your own tables" in capsys.readouterr().err


def test_an_unexpected_error_keeps_its_traceback(monkeypatch, tmp_path):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("hypergnn.training.fit", fail)
    with pytest.raises(ZeroDivisionError):
        run("train", "digits", "--out", tmp_path)


def test_help_names_all_models(capsys):
    with pytest.raises(SystemExit):
        run("train", "--help-settings")
    assert f"models: {', '.join(KINDS)} settings" in " ".join(capsys.readouterr().out.split())


def test_quiet_says_nothing_of_what_a_kill_has_left(tables, capsys, caplog):
    run("train", *OWN, *TINY, "--out", "run")
    with open("run/trials.jsonl", "a") as file:
        file.write('{"se')
    capsys.readouterr()
    caplog.clear()
    assert run("train", *OWN, *TINY, "--out", "run", "--quiet") == 0
    assert capsys.readouterr().err == ""
    assert not caplog.records
    assert len(Path(tables, "run", "trials.jsonl").read_text().splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.usefixtures("tables")
def test_a_signal_stops_cleanly_and_the_printed_command_resumes(number):
    command = ["train", *OWN, *TINY[:-1], 60, "--trials", 6, "--jobs", 1, "--batch", 1]
    command += ["--out", "a run"]
    process = start(*command)
    assert process.stderr.readline().startswith("vertex × hyperedge: 30 vertices")
    assert process.stderr.readline().startswith("1/6 trials")
    process.send_signal(number)
    printed, told = process.communicate(timeout=30)
    assert process.returncode == 130
    assert printed == ""
    *_, kept, again = told.splitlines()
    n_kept = len(read("a run").records)
    assert 1 <= n_kept < 6
    assert kept == f"stopped: {n_kept} of 6 trials finished, in a run. To resume:"
    program, _, rest = again.strip().partition(" -m hypergnn ")
    assert program == "python"
    resumed = start(*shlex.split(rest))
    printed, told = resumed.communicate(timeout=120)
    assert resumed.returncode == 0
    assert told.splitlines()[1] == f"resuming: {n_kept} of 6 trials are finished"
    assert printed.endswith("(6 trials, a run)\n")


@pytest.mark.slow
@pytest.mark.usefixtures("tables")
def test_a_run_killed_ten_times_ends_as_an_undisturbed_one():
    config = Config(hidden=2, heads=2, max_epochs=30, feature_scaling="none")
    data = hg.datasets.from_tables(incidences="clubs.csv", features="people.csv", labels="towns.csv")
    undisturbed = fit(data, config, trials=20, jobs=1, batch=1)
    mean_seconds = sum(record.seconds for record in undisturbed.records) / 20

    command = ["train", *OWN, *TINY[:-1], 30, "--trials", 20, "--jobs", 1, "--batch", 1]
    draw = random.Random(0)
    counts = [0]
    for kill in range(10):
        process = start(*command, "--out", "run")
        wait_until(process, partial(has_more_than, counts[-1]) if kill % 2 else partial(is_held_by, process.pid))
        time.sleep(draw.uniform(0, 1.5 * mean_seconds))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        counts.append(n_records())
    assert 0 < counts[-1] < 20
    assert counts == sorted(counts)
    process = start(*command, "--out", "run", "--quiet")
    told = process.communicate()[1]
    assert process.returncode == 0, told
    assert without_time(read("run").records) == without_time(undisturbed.records)
    assert len(Path("run", "trials.jsonl").read_text().splitlines()) == 20


def wait_until(process, happens):
    """Wait for something to happen while the process runs."""
    while not happens():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.005)


def is_held_by(process_id):
    """Whether a process has the run folder, and so is about to train."""
    lock = Path("run", "run.lock")
    return lock.exists() and lock.read_text().strip() == str(process_id)


def has_more_than(count):
    return n_records() > count


def n_records():
    return len(read("run").records) if Path("run", "run.json").exists() else 0


@pytest.mark.slow
def test_batches_with_sampled_neighbours(tables, capsys):
    sampled = ["--batch-size", 8, "--fanout", "2x3,all", "--control-variates"]
    sampled += ["--checkpoint-every", 1, "--out", "runs/sampled"]
    assert run("train", *OWN, *TINY, *sampled) == 0
    assert "test accuracy" in capsys.readouterr().out
    config = hg.load(tables / "runs/sampled/model.safetensors").network.config
    assert (config.batch_size, config.fanout, config.control_variates) == (8, ((2, 3), None), True)
    assert sorted(path.name for path in (tables / "runs/sampled").iterdir()) == [
        "model.safetensors",
        "run.json",
        "run.lock",
        "trials.jsonl",
    ]


@pytest.mark.parametrize("fanout", ["5", "5x5,", "5xall", "x,x", "-1x2,3x3"])
def test_a_fan_out_must_be_readable(fanout, tables, capsys):
    assert run("train", *OWN, "--batch-size", 8, f"--fanout={fanout}") == 2
    assert "--fanout must be hyperedges x members for each layer" in capsys.readouterr().err
    assert not (tables / "runs").exists()
