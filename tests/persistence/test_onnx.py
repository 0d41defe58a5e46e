"""An exported network gives the same scores in another runtime."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

import hypergnn as hg
from hypergnn import functional
from hypergnn.kernels import dispatch
from hypergnn.layers import Operator
from hypergnn.models import KINDS, Config, Kind, Network
from hypergnn.persistence.models import SavedModel
from hypergnn.structures.shared_graph import SharedGraph

pytestmark = pytest.mark.slow

CENTROIDS = {"centred": [0, 4, 2, 3], "partly centred": [0, -1, 2, 3], "not centred": None}
AROUND_THEMSELVES = hg.Hypergraph.from_hyperedges([[0, 1, 2], [1, 3], [2], [0, 3], [4], [5]], 6, centroid=range(6))
FIXED = [name for name, kind in KINDS.items() if not kind.is_dynamic]
CASES = sorted({*((name, "not centred") for name in FIXED), *(("hyper-attention", how) for how in CENTROIDS)})
GRAPH = hg.Graph.from_links([0, 1, 2], [1, 2, 3], n_vertices=6)


def make(centroid=None):
    """A hypergraph with an isolated vertex and an empty hyperedge."""
    members = [[0, 1, 2], [], [2, 3], [1, 3, 4]]
    return hg.Hypergraph.from_hyperedges(members, n_vertices=6, weight=[1.0, 2.0, 0.5, 3.0], centroid=centroid)


def run(path, x):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(["scores"], {"x": x.numpy()})[0]


@pytest.mark.parametrize(("name", "how"), CASES)
def test_another_runtime_gives_the_same_scores(name, how, tmp_path):
    torch.manual_seed(0)
    network = Network(Config(model=name, hidden=4, heads=2, skip=KINDS[name].form == "layers"), 5, 3)
    H, x, backend = make(CENTROIDS[how]), torch.randn(6, 5), dispatch.wanted
    hg.export_onnx(network, tmp_path / "model.onnx", H, graph=GRAPH)
    assert network.training
    assert dispatch.wanted == backend
    with torch.no_grad():
        expected = network.eval()(x, graph=GRAPH, hypergraph=H)
    np.testing.assert_allclose(run(tmp_path / "model.onnx", x), expected.numpy(), rtol=1e-4, atol=1e-6)
    onnx.checker.check_model(tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == [tmp_path / "model.onnx"]


@pytest.mark.parametrize(
    "settings",
    [{"weights": "inverse-frequency"}, {"model": "hyper-attention", "hyperedge_features": "co-occurrence"}],
    ids=["inverse frequency", "co-occurrence"],
)
def test_what_is_made_of_the_hypergraph_is_stored(settings, tmp_path):
    network, x, H = Network(Config(hidden=4, heads=2, **settings), 5, 3).eval(), torch.randn(6, 5), make()
    hg.export_onnx(network, tmp_path / "model.onnx", H)
    with torch.no_grad():
        expected = network(x, hypergraph=H)
    np.testing.assert_allclose(run(tmp_path / "model.onnx", x), expected.numpy(), rtol=1e-4, atol=1e-6)


class OfBothEnds(Operator):
    """An operator whose values depend on the vertex and the hyperedge of each incidence."""

    def to_hyperedges(self, x, H):
        rows, hyperedges = functional.incidences(H)
        mean = functional.to_hyperedges(x, H, reduce="mean")
        apart = x.index_select(-3, rows) - mean.index_select(-3, hyperedges)
        return functional.to_hyperedges(x, H, values=(-apart.square().mean(-1)).exp())


def test_values_of_each_incidence_are_exported(tmp_path, monkeypatch):
    monkeypatch.setitem(KINDS, "of-both-ends", Kind(OfBothEnds, ("hypergraph",)))
    torch.manual_seed(0)
    H, x, network = make(), torch.randn(6, 5), Network(Config(model="of-both-ends", hidden=4, heads=2), 5, 3)
    hg.export_onnx(network, tmp_path / "model.onnx", H)
    with torch.no_grad():
        expected = network.eval()(x, hypergraph=H)
    np.testing.assert_allclose(run(tmp_path / "model.onnx", x), expected.numpy(), rtol=1e-4, atol=1e-6)


def test_hyperedges_that_follow_the_features_cannot_be_exported(tmp_path):
    with pytest.raises(ValueError, match="whose hyperedges follow its features"):
        hg.export_onnx(Network(Config(model="dynamic-hyper-conv"), 5, 3), tmp_path / "model.onnx", make())
    assert not list(tmp_path.iterdir())


def test_links_need_not_be_listed(tmp_path):
    H, x = make(), torch.randn(6, 5)
    graph, network = SharedGraph.from_hypergraph(H), Network(Config(model="gcn+hyper-conv", hidden=4), 5, 3)
    hg.export_onnx(network, tmp_path / "model.onnx", H, graph=graph)
    with torch.no_grad():
        expected = network.eval()(x, graph=graph, hypergraph=H)
    np.testing.assert_allclose(run(tmp_path / "model.onnx", x), expected.numpy(), rtol=1e-4, atol=1e-6)


def test_a_trained_network_keeps_its_predictions_and_class_names(tmp_path):
    data = hg.datasets.load("digits")
    hg.training.fit(data, Config(max_epochs=20), out=tmp_path)
    model = hg.load(tmp_path / "model.safetensors")
    hg.export_onnx(model, tmp_path / "model.onnx", data.hypergraph)
    scores = run(tmp_path / "model.onnx", data.features("row"))
    expected = hg.training.predict(model, data)
    np.testing.assert_allclose(torch.from_numpy(scores).softmax(-1).numpy(), expected, atol=1e-5)
    properties = {one.key: one.value for one in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert json.loads(properties["class_names"]) == list(data.class_names)


def test_class_names_may_hold_line_breaks(tmp_path):
    names = ("two\nlines", 'a "quoted" one', "Größe")
    model = SavedModel(Network(Config(), 5, 3), names, {})
    hg.export_onnx(model, tmp_path / "model.onnx", make())
    properties = {one.key: one.value for one in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert tuple(json.loads(properties["class_names"])) == names


def test_hyperedges_around_the_vertices_themselves(tmp_path):
    """As in citation networks and hypergraphs of nearest neighbours."""
    network, x = Network(Config(model="hyper-attention", hidden=4, heads=2), 5, 3), torch.randn(6, 5)
    hg.export_onnx(network, tmp_path / "model.onnx", AROUND_THEMSELVES)
    with torch.no_grad():
        expected = network.eval()(x, hypergraph=AROUND_THEMSELVES)
    np.testing.assert_allclose(run(tmp_path / "model.onnx", x), expected.numpy(), rtol=1e-4, atol=1e-6)


def test_invalid_arguments_are_refused(tmp_path):
    with pytest.raises(TypeError, match=r"model must be a network or a loaded model; got HypergraphConv"):
        hg.export_onnx(hg.HypergraphConv(3, 2), tmp_path / "a.onnx")
    with pytest.raises(ValueError, match=r"the model 'hyper-conv' needs a hypergraph, and none was passed"):
        hg.export_onnx(Network(Config(), 3, 2), tmp_path / "a.onnx")
    other = hg.Graph.from_links([0], [1], n_vertices=3)
    with pytest.raises(ValueError, match=r"graph and hypergraph must have the same vertices; got .*"):
        hg.export_onnx(Network(Config(model="gcn+hyper-conv"), 3, 2), tmp_path / "a.onnx", make(), graph=other)
    assert not list(tmp_path.iterdir())
