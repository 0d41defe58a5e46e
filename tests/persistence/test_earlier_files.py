"""Files written by hypergnn 0.1.0, in ``files_of_0_1_0``, still load, and 0.1.0 could read what is written now."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open

import hypergnn as hg
from hypergnn.experiments.paper import TABLES
from hypergnn.experiments.results import Results
from hypergnn.models import Config
from hypergnn.training import ledger

FILES = Path(__file__).parent / "files_of_0_1_0"
EXPECTED = json.loads((FILES / "expected.json").read_text())
RUN_CONFIG = Config(hidden=1, heads=2, max_epochs=3)
STRUCTURES = {
    "hypergraph": hg.Hypergraph.from_hyperedges(
        EXPECTED["hyperedge_lists"],
        n_vertices=6,
        weight=[1.0, 3.0, 2.0, 0.5],
        centroid=[0, 1, -1, 4],
        vertex_names=list("abcdef"),
        hyperedge_names=np.array([10, 20, 30, 40]),
    ),
    "plain_hypergraph": hg.Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=4),
    "graph": hg.Graph.from_links([0, 1, 1], [1, 2, 3], n_vertices=6),
}


def path_of(name):
    return FILES / f"{name}.safetensors"


def content(path):
    """The header without the version that wrote it, and each tensor as dtype, shape and values."""
    with safe_open(path, framework="pt") as file:
        header = json.loads(file.metadata()["hypergnn"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    del header["version"]
    return header, {name: (one.dtype, tuple(one.shape), one.tolist()) for name, one in tensors.items()}


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("name", STRUCTURES)
def test_structures_load_and_equal_those_built_now(name, verify):
    built = STRUCTURES[name]
    loaded = type(built).load(path_of(name), verify=verify)
    assert loaded.equals(built)
    assert repr(loaded) == repr(built)


def test_degrees_and_links_are_those_of_the_earlier_version():
    H, graph = hg.Hypergraph.load(path_of("hypergraph")), hg.Graph.load(path_of("graph"))
    assert H.vertex_degree().tolist() == EXPECTED["vertex_degree"]
    assert graph.n_links == EXPECTED["links"]


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures_are_written_with_the_same_names_and_values(name, tmp_path):
    STRUCTURES[name].save(tmp_path / "again.safetensors")
    assert content(tmp_path / "again.safetensors") == content(path_of(name))


@pytest.mark.parametrize("model", EXPECTED["scores"])
def test_every_kind_of_model_loads_and_gives_the_same_scores(model):
    saved = hg.load(path_of(model))
    assert saved.version == "0.1.0"
    assert saved.class_names == ("yes", "no")
    assert saved.about == {"seed": 3}
    assert saved.vertex_names.tolist() == list("abcdef")
    assert saved.hypergraph == {"construction": "by hand"}
    assert saved.network.config == Config(model=model, hidden=2, heads=2, skip=model == "hyper-conv")
    structures = {name: type(STRUCTURES[name]).load(path_of(name)) for name in ("graph", "hypergraph")}
    with torch.no_grad():
        scores = saved.network(torch.arange(18).reshape(6, 3) / 18, **structures)
    torch.testing.assert_close(scores, torch.tensor(EXPECTED["scores"][model]), rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("model", EXPECTED["scores"])
def test_models_are_written_with_the_same_names_and_values(model, tmp_path):
    saved = hg.load(path_of(model))
    hg.save(
        saved.network,
        tmp_path / "again.safetensors",
        class_names=saved.class_names,
        about=saved.about,
        vertex_names=saved.vertex_names,
        hypergraph=saved.hypergraph,
    )
    assert content(tmp_path / "again.safetensors") == content(path_of(model))


def test_a_run_folder_is_read_with_its_records_and_curves():
    run = ledger.read(FILES / "run")
    assert [record.seed for record in run.records] == [0, 1]
    lines = (FILES / "run" / ledger.TRIALS).read_text().splitlines()
    assert [record.to_json() for record in run.records] == [json.loads(line) for line in lines]
    assert run.curves(1) == {
        "train_loss": [2.30426025, 2.30200744, 2.30211306],
        "val_loss": [2.30301332, 2.30224657, 2.30178285],
    }
    assert run.environments[0]["hypergnn"] == "0.1.0"


@pytest.fixture(scope="module")
def circle():
    """The dataset of ``circle_run``: its hypergraph has no ties between distances, unlike that of digits."""
    vertex = np.arange(30)
    x = np.zeros((30, 5), dtype=np.float32)
    x[vertex, vertex % 5] = 1 + vertex / 8
    return hg.Dataset(
        name="circle",
        x=x,
        y=vertex // 10,
        class_names=("a", "b", "c"),
        graph=hg.Graph.from_links(vertex, (vertex + 1) % 30, n_vertices=30),
        hypergraph=hg.Hypergraph.from_hyperedges(
            [[k, (k + 1) % 30, (k + 2) % 30] for k in range(30)], n_vertices=30, weight=1 + vertex / 32
        ),
        train=vertex[::3],
        val=vertex[1::3],
        test=vertex[2::3],
        source="made by hand",
    )


def test_the_model_of_a_run_folder_gives_the_recorded_loss(circle):
    saved, run = hg.load(FILES / "circle_run" / "model.safetensors"), ledger.read(FILES / "circle_run")
    best = min(run.records, key=lambda record: record.val_loss)
    assert saved.about["seed"] == best.seed
    probability = hg.training.predict(saved, circle)
    assert 100 * (probability.argmax(1) == circle.y)[circle.test].mean() == pytest.approx(best.test_accuracy)
    assert -np.log(probability[circle.test, circle.y[circle.test]]).mean() == pytest.approx(best.test_loss, abs=1e-6)


def test_a_finished_run_is_resumed_without_training_and_can_be_extended(circle, tmp_path):
    folder = shutil.copytree(FILES / "circle_run", tmp_path / "run")
    files = (ledger.RUN, ledger.TRIALS, ledger.CURVES, "model.safetensors")
    before = {name: (folder / name).read_bytes() for name in files}
    seen = []
    resumed = hg.training.fit(circle, RUN_CONFIG, trials=2, jobs=1, out=folder, on_progress=seen.append)
    assert resumed.records == list(ledger.read(FILES / "circle_run").records)
    assert not any(progress.epochs for progress in seen), "no epoch was trained"
    assert {name: (folder / name).read_bytes() for name in files} == before

    longer = hg.training.fit(circle, RUN_CONFIG, trials=3, jobs=1, out=folder, curves=True, on_progress=seen.append)
    assert longer.records[:2] == resumed.records
    assert longer.records[2].seed == 2
    assert seen[-1].epochs == RUN_CONFIG.max_epochs, "one trial was trained"
    extended = ledger.read(folder)
    assert extended.records == tuple(longer.records)
    assert len(extended.curves(2)["val_loss"]) == RUN_CONFIG.max_epochs
    assert (folder / ledger.TRIALS).read_bytes().startswith(before[ledger.TRIALS])


def test_another_configuration_is_still_refused(circle, tmp_path):
    folder = shutil.copytree(FILES / "circle_run", tmp_path / "run")
    with pytest.raises(ValueError, match=r"config\.hidden: 1 in the run, 2 now"):
        hg.training.fit(circle, Config(hidden=2, heads=2, max_epochs=3), out=folder)


def test_the_results_under_version_control_are_read():
    results = Results.read(Path(__file__).parents[2] / "results")
    cells = [cell for table in TABLES.values() for cell in table.cells if cell.config is not None]
    assert {cell.run for cell in cells} <= set(results.runs)
    assert all(len(results.accuracies(cell)) == len(results.trials(cell)) > 0 for cell in cells)
    assert all(environment["hypergnn"] == "0.1.0" for environment in results.environments)
