"""Directed hypergraphs on the command line."""

import json

import numpy as np
import pytest

from hypergnn.cli import main


@pytest.fixture
def tables(tmp_path):
    """Half of the people write, half are written to; only that tells the classes apart."""
    rng = np.random.default_rng(0)
    rows = ["who,letter,part"]
    for letter in range(60):
        rows += [f"w{one},{letter},tail" for one in rng.choice(20, 2, replace=False)]
        rows += [f"r{one},{letter},head" for one in rng.choice(20, 2, replace=False)]
    (tmp_path / "mail.csv").write_text("\n".join(rows))
    people = [f"{kind}{one}" for one in range(20) for kind in "wr"]
    (tmp_path / "people.csv").write_text("\n".join(["who,one,kind", *(f"{one},1,{one[0]}" for one in people)]))
    return tmp_path


@pytest.mark.slow
def test_a_column_of_roles_makes_hyperedges_point(tables, capsys):
    given = ["--incidences", f"{tables}/mail.csv", "--features", f"{tables}/people.csv", "--label", "kind"]
    given += ["--vertex", "who", "--hyperedge", "letter", "--hidden", "4", "--heads", "1", "--depth", "1"]
    given += ["--max-epochs", "60", "--quiet", "--json", "--learning-rate", "0.1", "--jobs", "1"]
    scores = []
    for number, more in enumerate((["--role", "part"], [])):
        assert main(["train", *given, *more, "--out", f"{tables}/run{number}"]) == 0
        scores.append(json.loads(capsys.readouterr().out)["test_accuracy"]["mean"])
    assert scores[0] == 100
    assert scores[1] < 100
    plain = [*given[: given.index("--label")], "--vertex", "who", "--hyperedge", "letter", "--quiet"]
    assert main(["predict", f"{tables}/run0", *plain, "--role", "part"]) == 0
    assert capsys.readouterr().out.startswith("vertex,class,probability")
    assert main(["predict", f"{tables}/run0", *plain]) == 2
    assert "was trained on hyperedges that point, and those of mail do not: name the column" in capsys.readouterr().err
    assert main(["predict", f"{tables}/run1", *plain, "--role", "part"]) == 2
    assert "was trained on hyperedges that do not point, and those of mail do: omit" in capsys.readouterr().err


def test_what_cannot_be_trained_is_refused_before_anything_is_written(tables, capsys):
    given = ["--incidences", f"{tables}/mail.csv", "--features", f"{tables}/people.csv", "--label", "kind"]
    given += ["--vertex", "who", "--hyperedge", "letter", "--direction", "both", "--quiet", "--out", f"{tables}/run"]
    assert main(["train", *given]) == 2
    assert "direction='both' needs a DirectedHypergraph" in capsys.readouterr().err
    assert main(["train", "arrows", "--model", "dynamic-hyper-conv", "--quiet", "--out", f"{tables}/run"]) == 2
    assert "needs a hypergraph whose hyperedges do not point; arrows has a Directed" in capsys.readouterr().err
    assert not (tables / "run").exists()


def test_an_unknown_column_of_roles_is_refused(tables, capsys):
    given = ["--incidences", f"{tables}/mail.csv", "--features", f"{tables}/people.csv", "--label", "kind"]
    assert main(["train", *given, "--vertex", "who", "--hyperedge", "letter", "--role", "no", "--quiet"]) == 2
    assert "role must name a column; got 'no'" in capsys.readouterr().err
