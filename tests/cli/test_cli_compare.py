"""``hypergnn compare`` on the user's tables."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest

from hypergnn.cli import main
from hypergnn.cli.compare import _Splits
from hypergnn.models import KINDS, Config


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Sixty customers whose orders tell their segment; their age says nothing."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    who, segment = [f"c{number}" for number in range(60)], ["a", "b"] * 30
    rows = [(one, f"p{place % 2 + 2 * int(rng.integers(3))}") for _ in range(3) for place, one in enumerate(who)]
    pd.DataFrame(rows, columns=["customer", "product"]).drop_duplicates().to_csv("orders.csv", index=False)
    people = {"customer": who, "age": rng.normal(40, 9, 60), "town": rng.choice(["Rome", None], 60), "segment": segment}
    pd.DataFrame(people).to_csv("customers.csv", index=False)
    return tmp_path


OWN = ["--incidences", "orders.csv", "--features", "customers.csv", "--label", "segment"]


@pytest.mark.slow
def test_networks_and_plain_classifiers_side_by_side(shop, capsys, monkeypatch):
    quick = partial(Config, hidden=2, heads=1, max_epochs=2)
    monkeypatch.setattr("hypergnn.estimators.comparison.paper_config", lambda _, model: quick(model))
    monkeypatch.setattr("hypergnn.estimators.selection.candidates.TREES", 10)
    models = ["hypergraph-classifier", "hyper-conv", "logistic-regression", "naive-bayes"]
    chosen = [part for name in models for part in ("--model", name)]
    assert main(["compare", *OWN, *chosen, "--splits", "2", "--page", "compare.html"]) == 0
    printed = capsys.readouterr()
    assert printed.err.startswith("customer × product: 60 vertices, 6 hyperedges, ")
    assert printed.err.endswith("wrote compare.html\n")
    head, first, *others = printed.out.splitlines()
    assert head.split("  ")[0] == "model"
    assert first.split()[0] == "hypergraph-classifier"
    assert "best" in first
    assert sorted(line.split()[0] for line in others) == sorted(models[1:])
    page = (shop / "compare.html").read_text()
    assert "<h1>Comparison on orders</h1>" in page
    assert all(name in page for name in models if name != "hyper-conv")


@pytest.mark.usefixtures("shop")
def test_json_names_and_errors(capsys):
    assert main(["compare", *OWN, "--model", "naive-bayes", "--splits", "2", "--json", "--quiet"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    (only,) = json.loads(printed.out)
    assert only["model"] == "naive-bayes"
    assert len(only["test_accuracy"]) == 2
    assert main(["compare", "--list"]) == 0
    assert set(KINDS) < set(capsys.readouterr().out.split())
    for options, message in (
        (["--model", "oracle"], "model must be one of 'hypergraph-classifier'"),
        (["--page", "x.txt"], "the ending of --page must be one of '.html'"),
        (["--page", "no/x.html"], "--page must be a file in an existing folder"),
        (["--splits", "0"], "splits must be at least 1; got 0"),
    ):
        assert main(["compare", *OWN, *options]) == 2
        assert capsys.readouterr().err.startswith(f"hypergnn: {message}")
    assert main(["compare", *OWN[:4]]) == 2
    assert "a comparison needs labels" in capsys.readouterr().err


@pytest.mark.usefixtures("shop")
def test_a_stopped_comparison_says_so(capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("hypergnn.estimators.comparison.train_network", interrupted)
    assert main(["compare", *OWN, "--model", "mlp", "--splits", "1"]) == 130
    printed = capsys.readouterr().err
    assert printed.startswith("customer × product: 60 vertices, 6 hyperedges, ")
    assert printed.endswith("hypergnn: stopped.\n")


def test_progress_names_the_splits_until_a_classifier_is_finished_and_the_time_left():
    now = iter([0.0, 10.0, 20.0, 600.0])
    splits = _Splits(2, 2, lambda: next(now))
    assert splits.text(("mlp", [50.0])) == "mlp: 50.00 %, 1 of 2 splits, about 30 seconds left"
    assert splits.text(("mlp", [50.0, 60.0])) == "mlp: 55.00 %, about 20 seconds left"
    assert splits.text(("gcn", [50.0])) == "gcn: 50.00 %, 1 of 2 splits, about 3 minutes left"
    assert splits.text(("gcn", [50.0, 60.0])) == "gcn: 55.00 %"
    assert [splits.is_news(("mlp", [50.0] * done)) for done in (1, 2)] == [False, True]
