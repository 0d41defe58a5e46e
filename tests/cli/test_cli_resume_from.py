"""``hypergnn train --resume-from``: training goes on with tables that have grown."""

import dataclasses
import json
from dataclasses import replace

import numpy as np
import pytest

import hypergnn as hg
from hypergnn.cli import main
from hypergnn.models import Config
from hypergnn.training.continuing import OF_TRAINING, check_same_network, continuing

SMALL = ["--hidden", "4", "--heads", "1", "--jobs", "1", "--quiet", "--json"]


def write_week(folder, week, *, features=False, classes="ab"):
    """Customers of two kinds and what they bought up to a week; each week brings customers and products."""
    rng = np.random.default_rng(0)
    orders, people = ["customer,product"], ["customer,size,kind"]
    for number in range(30 + 10 * week):
        kind = number % 2
        products = rng.choice(6 + 2 * week, 3, replace=False)
        orders += [f"c{number},{'xy'[kind]}{one}" for one in products]
        people.append(f"c{number},{number % 7},{classes[kind]}")
    (folder / "orders.csv").write_text("\n".join(orders))
    (folder / "people.csv").write_text("\n".join(people))
    given = ["--incidences", f"{folder}/orders.csv", "--vertex", "customer", "--hyperedge", "product"]
    if features:
        return [*given, "--features", f"{folder}/people.csv", "--label", "kind"]
    lines = [",".join(line.split(",")[::2]) for line in people]
    (folder / "labels.csv").write_text("\n".join(lines))
    return [*given, "--labels", f"{folder}/labels.csv"]


@pytest.mark.slow
@pytest.mark.parametrize("features", [False, True])
def test_training_goes_on_with_later_tables(tmp_path, capsys, features):
    first = write_week(tmp_path, 0, features=features)
    assert main(["train", *first, *SMALL, "--max-epochs", "80", "--out", f"{tmp_path}/one"]) == 0
    capsys.readouterr()
    later = write_week(tmp_path, 1, features=features)
    more = ["--resume-from", f"{tmp_path}/one", "--max-epochs", "3", "--jobs", "1", "--quiet", "--json"]
    assert main(["train", *later, *more, "--out", f"{tmp_path}/two", "--curves"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["records"][0]["epochs"] == 3
    assert found["configuration"]["config"]["hidden"] == 4
    assert found["configuration"]["data"]["vertices"] == 40
    old, new = (hg.load(tmp_path / name / "model.safetensors") for name in ("one", "two"))
    assert new.about["feature_names"] == old.about["feature_names"]
    fresh = ["--max-epochs", "3", *SMALL, "--out", f"{tmp_path}/fresh"]
    assert main(["train", *later, *fresh]) == 0
    drawn = json.loads(capsys.readouterr().out)
    assert found["records"][0]["train_loss"] < drawn["records"][0]["train_loss"]
    assert main(["train", *later, *more, "--out", f"{tmp_path}/two"]) == 0  # nothing left to do
    capsys.readouterr()
    tables = later[: later.index("--label" if features else "--labels")]
    assert main(["predict", f"{tmp_path}/two", *tables, "--quiet"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 41
    assert main(["explain", f"{tmp_path}/two", "c35", *tables, "--quiet"]) == 0


@pytest.mark.slow
def test_what_does_not_fit_is_refused(tmp_path, capsys):
    first = write_week(tmp_path, 0, features=True)
    assert main(["train", *first, *SMALL, "--max-epochs", "2", "--out", f"{tmp_path}/one"]) == 0
    resume = ["--resume-from", f"{tmp_path}/one", "--quiet"]
    wrong = {
        "network cannot change: hidden is 4, got 8. Omit": ["--hidden", "8", "--out", f"{tmp_path}/b"],
        "change: norm is 'none', got 'pair'; weights is 'given', got 'learned'": [
            *("--norm", "pair", "--weights", "learned", "--out", f"{tmp_path}/b")
        ],
        "--resume-from continues hyper-conv; got hyper-attention": [
            *("--model", "hyper-attention", "--out", f"{tmp_path}/b")
        ],
        "--out must be another folder": ["--out", f"{tmp_path}/one"],
    }
    for message, given in wrong.items():
        assert main(["train", *first, *resume, *given]) == 2
        assert message in capsys.readouterr().err
    other = write_week(tmp_path, 1, features=True, classes="az")
    assert main(["train", *other, *resume, "--out", f"{tmp_path}/b"]) == 2
    assert "it also has 'z'. Train a new model" in capsys.readouterr().err
    people = (tmp_path / "people.csv").read_text().replace("size", "weight").replace(",z", ",b")
    (tmp_path / "people.csv").write_text(people)
    assert main(["train", *other, *resume, "--out", f"{tmp_path}/b"]) == 2
    assert "missing: 'size'" in capsys.readouterr().err
    assert not (tmp_path / "b").exists()
    assert main(["train", *other, "--resume-from", f"{tmp_path}/none", "--quiet"]) == 2
    assert "none does not exist" in capsys.readouterr().err


def test_only_settings_of_training_may_differ():
    names = {field.name for field in dataclasses.fields(Config)}
    assert names >= OF_TRAINING
    model = hg.SavedModel(hg.Network(Config(hidden=2, heads=1), 1, 2), ("x", "y"), {})
    check_same_network(model, replace(model.network.config, dropout=0.1, learning_rate=0.1, batch_size=8))
    for changed in ({"hidden": 3}, {"feature_scaling": "none"}, {"norm": "pair"}, {"direction": "backward"}):
        with pytest.raises(
            ValueError, match=f"settings of the network cannot change: {next(iter(changed))} is .*, got"
        ):
            check_same_network(model, replace(model.network.config, **changed))


def test_classes_keep_their_numbers():
    data = hg.datasets.from_tables(
        incidences={"v": list("abcdefgh"), "e": [0, 0, 0, 0, 1, 1, 1, 1]},
        features={"v": list("abcdefgh"), "one": range(8)},
        labels={"v": list("abcdefgh"), "label": ["y", "z"] * 4},
        name="small",
    )
    network = hg.Network(Config(hidden=2, heads=1), 1, 3)
    model = hg.SavedModel(network, ("x", "y", "z"), {"feature_names": ["one"]})
    same, config = continuing(model, data)
    assert same.class_names == ("x", "y", "z")
    assert set(same.y.tolist()) == {1, 2}
    assert config == network.config
    with pytest.raises(TypeError, match=r"start must be a model loaded with hypergnn.load; got Network"):
        hg.training.fit(data, start=network)


def test_every_trial_starts_from_the_model(tmp_path):
    data = hg.datasets.load("arrows")
    config = Config(hidden=2, heads=1, depth=1, max_epochs=3, feature_scaling="none")
    hg.training.fit(data, config, out=tmp_path / "one", jobs=1)
    model = hg.load(tmp_path / "one" / "model.safetensors")
    seen = {}

    def note(epoch, losses):
        seen.setdefault(epoch, losses.train.tolist())

    tiny = Config(hidden=2, heads=1, depth=1, max_epochs=1, learning_rate=1e-12, dropout=0.0, feature_scaling="none")
    hg.training.fit(data, tiny, trials=2, start=model, on_epoch=note)
    assert seen[0][0] == seen[0][1]  # no dropout, the same parameters
