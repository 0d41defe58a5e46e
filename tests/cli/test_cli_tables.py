"""The user's own tables on the command line: which columns, what was read, what is written, and what goes wrong."""

import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save_file

import hypergnn as hg
from hypergnn.cli import main
from hypergnn.cli.arguments import check_device
from hypergnn.cli.csv_output import safe_text, write_csv
from hypergnn.models import KINDS, Kind

SETTINGS = ["--hidden", "2", "--heads", "2", "--max-epochs", "2", "--jobs", "1"]


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Orders of 24 customers; the table of customers holds their segments and a column of notes."""
    monkeypatch.chdir(tmp_path)
    who = [f"c{number}" for number in range(24)]
    rows = [(one, f"p{place % 6}", f"k{place % 2}", 1.0 + place % 6) for place, one in enumerate(who)]
    orders = pd.DataFrame(rows, columns=["customer", "product", "category", "price"])
    orders.to_csv("orders.csv", index=False)
    people = {"customer": who, "age": [20 + place for place in range(24)], "segment": ["a", "b"] * 12}
    pd.DataFrame(people).to_csv("customers.csv", index=False)
    return tmp_path


OWN = ["--incidences", "orders.csv", "--features", "customers.csv", "--vertex", "customer"]


def run(*command):
    return main([*map(str, command)])


@pytest.mark.usefixtures("shop")
def test_an_encoding_is_said(shop, capsys):
    people = shop / "customers.csv"
    people.write_text(people.read_text().replace("c3,23,", "c3,,"))
    assert run("train", *OWN, "--label", "segment", "--out", "run", *SETTINGS) == 0
    said = "a column has words or gaps, so features are encoded as numbers from 0 to 1: 'age', 'age missing'"
    assert capsys.readouterr().err.splitlines()[1] == said
    people.write_text(people.read_text().replace("c3,,", "c3,900,"))  # what is predicted need not have a gap
    assert run("predict", "run", *OWN, "--out", "found.csv") == 0
    said = "features are encoded as those that the model was trained on: 'age', 'age missing'"
    assert capsys.readouterr().err.splitlines()[1] == said


@pytest.mark.usefixtures("shop")
def test_columns_are_named_and_what_was_read_is_said(capsys):
    several = ["--hyperedge", "product", "--hyperedge", "category"]
    assert run("train", *OWN, *several, "--label", "segment", "--out", "run", *SETTINGS) == 0
    assert capsys.readouterr().err.startswith(
        "customer × product, category: 24 vertices, 8 hyperedges, 48 incidences\n"
    )
    saved = hg.load("run/model.safetensors")
    assert list(saved.about["feature_names"]) == ["age"]
    assert run("predict", "run", *OWN, *several, "--out", "found.csv") == 0  # the segments are not read
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("customer × product, category: 24 vertices")
    assert second == "wrote found.csv: 24 rows, columns vertex, class, probability"
    assert run("explain", "run", "c3", *OWN, *several, "--quiet") == 0
    assert "('product', 'p3')" in capsys.readouterr().out


@pytest.mark.usefixtures("shop")
def test_weights_are_a_column():
    data = hg.datasets.from_tables(incidences="orders.csv", hyperedge="product", weight="price", vertex="customer")
    assert sorted(data.hypergraph.weight.tolist()) == [1, 2, 3, 4, 5, 6]
    assert run("train", *OWN, "--hyperedge", "product", "--weight", "price", "--label", "segment", *SETTINGS) == 0
    assert run("train", *OWN, "--hyperedge", "product", "--weight", "cost", "--label", "segment", *SETTINGS) == 2


@pytest.mark.usefixtures("shop")
def test_memberships_of_several_columns_have_names():
    data = hg.datasets.from_tables(
        incidences="orders.csv", vertex="customer", hyperedge=["product", "category"], features="customers.csv",
        label="segment",
    )  # fmt: skip
    assert data.feature_names == ("age",)
    assert data.class_names == ("a", "b")
    plain = hg.datasets.from_tables(incidences="orders.csv", vertex="customer", hyperedge=["product", "category"])
    assert plain.feature_names[:2] == ("product=p0", "product=p1")
    assert plain.hypergraph.hyperedge_names[-1] == ("category", "k1")
    assert plain.construction == "customer × product, category"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["train", *OWN, "--hyperedge", "shop", "--label", "segment"], "hyperedge must name a column; got 'shop'"),
        (["train", *OWN, "--hyperedge", "product"], "--labels must be given with --incidences: training needs labels"),
        (["train", *OWN, "--label", "klass"], "label must name a column; got 'klass'"),
        (["train", "digits", "--vertex", "customer"], "DATASET and --vertex must not be combined"),
        (["train", "digits", "--device", "meta"], "--device must be available on this computer, for example cpu"),
        (["predict", "nothing", "--out", "x.parquet", "--safe"], "--safe must be combined with CSV"),
    ],
)
@pytest.mark.usefixtures("shop")
def test_errors_are_one_sentence(capsys, command, message):
    assert run(*command) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.count("\n") == 1


@pytest.mark.usefixtures("shop")
def test_a_folder_of_parquet_files_is_a_table(capsys):
    Path("orders").mkdir()
    orders = pd.read_csv("orders.csv")
    orders[:10].to_parquet("orders/1.parquet")
    orders[10:].to_parquet("orders/2.parquet")
    options = ["--hyperedge", "product", "--label", "segment", "--out", "run"]
    assert run("train", "--incidences", "orders", *OWN[2:], *options, *SETTINGS) == 0
    assert "customer × product: 24 vertices, 6 hyperedges, 24 incidences" in capsys.readouterr().err


@pytest.mark.usefixtures("shop")
def test_words_and_gaps_are_encoded_as_in_training(capsys):
    people = pd.read_csv("customers.csv")
    people["town"] = ["Rome", "Oslo", None] * 8
    people.loc[3, "age"] = None
    people.to_csv("customers.csv", index=False)
    learns = ["--label", "segment", "--hyperedge", "product", "--trials", "1", "--out", "run", *SETTINGS]
    assert run("train", *OWN, *learns) == 0
    predicts = ["predict", "run", *OWN, "--hyperedge", "product", "--all-classes"]
    assert run(*predicts, "--out", "all.csv") == 0
    # The same customers in another order, with the ages of two others that would change all ranges.
    more = pd.concat(
        [
            people.drop(columns="segment").iloc[::-1],
            pd.DataFrame({"customer": ["x", "y"], "age": [0, 900], "town": ["Lima", None]}),
        ]
    )
    more.to_csv("customers.csv", index=False)
    assert run(*predicts, "--out", "more.csv") == 0
    first, second = (pd.read_csv(name).set_index("vertex") for name in ("all.csv", "more.csv"))
    shares = [name for name in first if name.startswith("probability of")]
    np.testing.assert_allclose(second.loc[first.index, shares], first[shares], atol=1e-6)
    assert set(second.index) - set(first.index) == {"x", "y"}
    more.drop(columns="town").to_csv("customers.csv", index=False)
    assert run(*predicts, "--out", "less.csv") == 2
    assert "'town' is missing" in capsys.readouterr().err


def test_names_in_help_texts_are_those_of_the_catalogues(capsys, monkeypatch):
    assert run("reproduce", "nothing") == 2
    tables = re.findall(r"'(\w+)'", capsys.readouterr().err)[:-1]
    for command, option, expected in (("train", "--help-settings", KINDS), ("reproduce", "--help", tables)):
        help_text = subprocess.run(  # in a process that has not loaded the catalogues
            [sys.executable, "-m", "hypergnn", command, option], capture_output=True, text=True, check=True
        ).stdout
        assert ",".join(expected) in "".join(help_text.split())
    monkeypatch.setitem(KINDS, "my-conv", Kind(hg.HypergraphConv, ("hypergraph",)))
    with pytest.raises(SystemExit):
        run("train", "--help-settings")
    assert "my-conv" in "".join(capsys.readouterr().out.split())


def test_a_report_of_an_added_kind_of_network(tmp_path, monkeypatch):
    monkeypatch.setitem(KINDS, "my-conv", Kind(hg.HypergraphConv, ("hypergraph",)))
    config = hg.Config(model="my-conv", hidden=2, heads=1, max_epochs=1)
    hg.training.fit(hg.datasets.load("digits"), config, out=tmp_path)
    os.remove(tmp_path / "model.safetensors")  # no map of the network, which takes longer
    assert run("report", tmp_path, "--quiet") == 0
    assert "my-conv on digits" in (tmp_path / "report.html").read_text()


def test_without_a_command_the_help_is_printed(capsys):
    assert run() == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("usage: hypergnn [-h] [--version] COMMAND")
    assert "example: hypergnn train digits" in printed.err


HOSTILE = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@sum",
    " =1",
    "\ttab",
    "a\rb",
    "a\nb",
    'a"b',
    "a,b",
    "\x1b[2J",
    "-5",
    "é",
]


def test_cells_read_back_exactly():
    columns = {"vertex": np.array(HOSTILE, dtype=object), "p": np.float32(np.linspace(0, 1, len(HOSTILE)))}
    file = io.StringIO()
    write_csv(columns, file, safe=False)
    text = file.getvalue()
    assert [row[0] for row in csv.reader(io.StringIO(text, newline=""))] == ["vertex", *HOSTILE]
    assert pd.read_csv(io.StringIO(text), dtype=str)["vertex"].tolist() == HOSTILE
    assert "\r" not in text.replace('"a\rb"', "")


def test_safe_cells_run_nowhere():
    columns = {"vertex": np.array(HOSTILE, dtype=object)}
    file = io.StringIO()
    write_csv(columns, file, safe=True)
    cells = [row[0] for row in csv.reader(io.StringIO(file.getvalue(), newline=""))][1:]
    assert not any(cell.lstrip()[:1] in tuple("=+-@") for cell in cells if cell != "-5")
    assert "\x1b" not in file.getvalue()
    assert cells[:2] == ["'=1+1", "'+cmd|' /C calc'!A0"]
    assert [safe_text(text) for text in ("a\rb", "\x1b[2J", "-5", "plain")] == ["a\\x0db", "\\x1b[2J", "-5", "plain"]


def test_predict_offers_both(shop):
    for path in ("orders.csv", "customers.csv"):
        table = pd.read_csv(shop / path).replace({"customer": {"c0": "=1+1", "c1": "c\r1"}})
        table.to_csv(path, index=False, quoting=csv.QUOTE_NONNUMERIC)
    assert run("train", *OWN, "--hyperedge", "product", "--label", "segment", "--out", "run", *SETTINGS) == 0
    for options, expected in (([], ["=1+1", "c\r1"]), (["--safe"], ["'=1+1", "c\\x0d1"])):
        assert run("predict", "run", *OWN, "--hyperedge", "product", "--out", "found.csv", "--quiet", *options) == 0
        with open("found.csv", newline="") as file:
            rows = list(csv.reader(file))
        assert len(rows) == 25
        assert [row[0] for row in rows[1:3]] == expected


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            MemoryError("Unable to allocate 74.5 GiB"),
            "there is not enough memory: Unable to allocate 74.5 GiB. Use small",
        ),
        (MemoryError(), "there is not enough memory. Use smaller data"),
        (RuntimeError("no kernel\nat line 3"), "no kernel (set HYPERGNN_TRACEBACK=1 to see where)"),
        (ChildProcessError("2 trials were lost"), "2 trials were lost"),
    ],
)
def test_faults_of_the_machine_are_one_sentence(capsys, monkeypatch, error, message):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(hg.datasets, "load", fail)
    assert run("data", "describe", "digits") == 2
    assert capsys.readouterr().err.startswith(f"hypergnn: {message}")
    monkeypatch.setenv("HYPERGNN_TRACEBACK", "1")
    with pytest.raises(type(error)):
        run("data", "describe", "digits")


@pytest.mark.parametrize("stderr", ["closed", "broken", "full"])
def test_standard_error_may_be_gone(stderr):
    script = f"exec {sys.executable} -m hypergnn report nothing"
    if stderr == "closed":
        script += " 2>&-"
    elif stderr == "full":
        script += " 2>/dev/full"
    reading, writing = os.pipe()
    os.close(reading)
    environment = {**os.environ, "PYTHONPATH": str(Path(hg.__file__).parents[1])}
    done = subprocess.run(
        ["sh", "-c", script], stdout=subprocess.PIPE, stderr=writing if stderr == "broken" else None, env=environment,
        check=False,
    )  # fmt: skip
    os.close(writing)
    assert done.returncode == 2
    assert done.stdout == b""


def test_standard_output_must_be_open():
    script = f"exec {sys.executable} -m hypergnn data list >&-"
    environment = {**os.environ, "PYTHONPATH": str(Path(hg.__file__).parents[1])}
    done = subprocess.run(["sh", "-c", script], stderr=subprocess.PIPE, text=True, env=environment, check=False)
    assert done.returncode == 2
    assert done.stderr == "hypergnn: standard output must be open: the result goes there.\n"


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("[" * 100_000 + "]" * 100_000, "is damaged: its header cannot be read, RecursionError"),
        (json.dumps({"kind": ["Network"], "version": "0", "format": 1}), "kind in its header must be text; got a list"),
        (
            json.dumps({"kind": "Graph", "version": "0", "format": 1}),
            "must contain a Network; got a Graph. Load it with",
        ),
    ],
)
def test_strange_headers_are_refused(tmp_path, capsys, header, message):
    ones = torch.ones(1)
    digest = hashlib.sha256(header.encode() + b"a (1,)" + ones.numpy().tobytes()).hexdigest()
    save_file({"a": ones}, tmp_path / "m.safetensors", metadata={"hypergnn": header, "sha256": digest})
    assert run("predict", tmp_path / "m.safetensors", "digits") == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1


def test_devices_must_compute():
    assert check_device("cpu") == "cpu"
    with pytest.raises(ValueError, match="got 'meta'"):
        check_device("meta")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "customer,customer\nc0,p0\n",
            "incidences, orders.csv: table must have unique column names; 'customer' occurs",
        ),
        ("customer\n", "the table must have a column for the hyperedge"),
    ],
)
@pytest.mark.usefixtures("shop")
def test_damaged_tables_are_one_sentence(capsys, text, message):
    Path("orders.csv").write_text(text)
    assert run("train", *OWN, "--label", "segment", *SETTINGS) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1


@pytest.mark.usefixtures("shop")
def test_large_numbers_are_named(capsys):
    table = pd.read_csv("customers.csv").assign(balance=2**60 + 1)
    table.to_csv("customers.csv", index=False)
    assert run("train", *OWN, "--hyperedge", "product", "--label", "segment", *SETTINGS) == 2
    assert "column 'balance' holds the whole number 1152921504606846977" in capsys.readouterr().err
