"""Ensembles: the mean probability of several networks, as one model that is saved, loaded and used as a network."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from support.points import grouped_points

import hypergnn as hg
from hypergnn.models import Config, Ensemble, Network

SMALL = Config(hidden=4, heads=2, patience=6, max_epochs=4)
H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)


@pytest.fixture(scope="module")
def data():
    return grouped_points()


@pytest.mark.parametrize(
    "config",
    [SMALL, replace(SMALL, model="hyper-grand"), replace(SMALL, residual="initial"), Config("hyper-attention")],
)
def test_probabilities_are_averaged(config, tmp_path):
    members, x = [Network(config, 5, 3).eval() for _ in range(3)], torch.rand(4, 5)
    ensemble = Ensemble.of(members)
    expected = torch.stack([one(x, hypergraph=H).softmax(-1) for one in members]).mean(0)
    torch.testing.assert_close(ensemble(x, hypergraph=H).softmax(-1), expected)
    torch.testing.assert_close(ensemble.member(1)(x, hypergraph=H), members[1](x, hypergraph=H))
    hg.save(ensemble, tmp_path / "model.safetensors")
    loaded = hg.load(tmp_path / "model.safetensors").network
    assert isinstance(loaded, Ensemble)
    assert torch.equal(loaded(x, hypergraph=H), ensemble(x, hypergraph=H))


def test_numbers_are_averaged():
    members, x = [Network(SMALL, 5, 2, linear_output=True).eval() for _ in range(2)], torch.rand(4, 5)
    expected = (members[0](x, hypergraph=H) + members[1](x, hypergraph=H)) / 2
    torch.testing.assert_close(Ensemble.of(members)(x, hypergraph=H), expected)


def test_a_run_becomes_an_ensemble(data, tmp_path):
    run = hg.training.fit(data, SMALL, trials=3, out=tmp_path / "run")
    shares = [hg.training.predict(run.networks[seed], data) for seed in range(3)]
    np.testing.assert_allclose(hg.training.predict(run.ensemble(), data), np.mean(shares, 0), rtol=1e-5)
    right = shares[2].argmax(1)[data.test] == data.y[data.test]
    assert 100 * right.mean() == pytest.approx(run.records[2].test_accuracy)
    again = hg.training.fit(data, SMALL, trials=4, out=tmp_path / "run")
    with pytest.raises(ValueError, match=r"those of the seeds \[0, 1, 2\] were trained by an earlier call"):
        again.ensemble()


def test_networks_that_differ_are_refused():
    with pytest.raises(ValueError, match="same settings and sizes"):
        Ensemble.of([Network(SMALL, 5, 3), Network(SMALL, 5, 2)])
    with pytest.raises(ValueError, match="at least one network"):
        Ensemble.of([])
    given = [Network(Config(), layers=[hg.HypergraphConv(5, 3, normalization="row")]) for _ in range(2)]
    with pytest.raises(TypeError, match="made by their configuration; got a network made of given layers"):
        Ensemble.of(given)
    with pytest.raises(TypeError, match="no common hidden features"):
        Ensemble.of([Network(SMALL, 5, 3)]).hidden(torch.rand(4, 5), hypergraph=H)
    with pytest.raises(TypeError, match="cannot split the scores of an ensemble"):
        hg.explain(Ensemble.of([Network(SMALL, 5, 3)]), H, 0, x=torch.rand(4, 5))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["hyper-conv", "hyper-grand", "hyper-diffusion"])
def test_a_classifier_of_several_networks(data, model, tmp_path):
    options = {"model": model, "hidden": 2, "heads": 2, "max_epochs": 5, "random_state": 0}
    X, y = data.x.toarray(), np.where(np.arange(60) % 3, -1, data.y)
    several = hg.HypergraphClassifier(n_estimators=3, **options).fit(X, y, hypergraph=data.hypergraph)
    assert several.network_.n_members == 3
    members = [several.network_.member(number) for number in range(3)]
    x = torch.as_tensor(several._features, dtype=torch.float32)
    shares = torch.stack([one(x, hypergraph=data.hypergraph).softmax(-1) for one in members]).mean(0).detach()
    np.testing.assert_allclose(several.label_distributions_, shares, rtol=1e-4, atol=1e-5)
    one = hg.HypergraphClassifier(**options).fit(X, y, hypergraph=data.hypergraph)
    torch.testing.assert_close(dict(one.network_.named_parameters()), dict(members[0].named_parameters()))
    hg.save(several, tmp_path / "several.hg")
    later = X[:4] + 0.01
    with pytest.warns(UserWarning, match="which is a guess"):
        found = [model.predict_proba(later) for model in (hg.load(tmp_path / "several.hg"), several)]
    np.testing.assert_array_equal(*found)


def test_what_takes_one_network_refuses_several(tmp_path):
    H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
    networks = [hg.Network(hg.Config(), n_features=5, n_classes=3) for _ in range(2)]
    ensemble = hg.models.Ensemble.of(networks)
    with pytest.raises(TypeError, match="single network; got an ensemble"):
        hg.export_onnx(ensemble, tmp_path / "model.onnx", H)
    with pytest.raises(TypeError, match="single network; got an ensemble"):
        hg.models.infer(ensemble, H, torch.rand(4, 5))


def test_members_that_are_none_are_refused():
    network = hg.Network(hg.Config(), n_features=5, n_classes=3)
    ensemble = hg.models.Ensemble.of([network])
    with pytest.raises(TypeError, match="members must be networks"):
        hg.models.Ensemble.of([network, "another"])
    for number, error in ((1, ValueError), (-1, ValueError), (0.5, TypeError)):
        with pytest.raises(error, match="number must be"):
            ensemble.member(number)
    for few in (lambda one: one[None][:0], lambda one: one.sum()):
        parameters = {name: few(one.detach()) for name, one in network.named_parameters()}
        with pytest.raises(ValueError, match="parameters must have the shapes"):
            hg.models.Ensemble.from_parameters(hg.Config(), 5, 3, parameters)
