"""Charts of deep networks: from saved networks to the page."""

from dataclasses import replace

import pytest
import torch
from support.points import grouped_points

import hypergnn as hg
from hypergnn.experiments import beyond
from hypergnn.experiments.diagnostics import dirichlet_energy, gradient_norms, layer_energies
from hypergnn.experiments.results import Results
from hypergnn.models import Config, Network
from hypergnn.report.depth import with_depth_charts
from hypergnn.report.networks import Datasets
from hypergnn.report.tables import view
from hypergnn.training import fit


@pytest.fixture(scope="module")
def data():
    return replace(grouped_points(), name="cora")


def test_the_energy_is_that_of_the_laplacian(data):
    H, x = data.hypergraph, torch.rand(60, 3, dtype=torch.float64)
    T = hg.functional.hypergraph_conv(torch.eye(60, dtype=torch.float64), H)
    expected = torch.trace(x.T @ (torch.eye(60, dtype=torch.float64) - T) @ x) / torch.trace(x.T @ x)
    assert dirichlet_energy(x, H) == pytest.approx(float(expected))
    root = H.vertex_degree().sqrt().unsqueeze(1)
    assert dirichlet_energy(root, H) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("options", [{}, {"norm": "pair"}, {"residual": "initial"}, {"model": "hyper-diffusion"}])
def test_energies_follow_the_outputs_of_the_layers(data, options):
    network = Network(Config(depth=3, hidden=2, heads=2, **options), data.n_features, data.n_classes).eval()
    energies = layer_energies(network, data)
    assert len(energies) == 3
    x = data.features("row")
    last = network.hidden(x, hypergraph=data.hypergraph) if options.get("residual") else None
    if last is not None:
        assert energies[-1] == pytest.approx(dirichlet_energy(last.detach(), data.hypergraph), rel=1e-4)
    elif "model" not in options:
        scores = network(x, hypergraph=data.hypergraph).detach()
        assert energies[-1] == pytest.approx(dirichlet_energy(scores, data.hypergraph), rel=1e-4)


def test_gradients_are_those_of_the_training_loss(data):
    network = Network(Config(depth=2, dropout=0.5), data.n_features, data.n_classes)
    first, last = gradient_norms(network, data)
    scores = network.eval()(data.features("row"), hypergraph=data.hypergraph)
    torch.nn.functional.cross_entropy(scores[data.train], torch.from_numpy(data.y)[data.train]).backward()
    assert first == pytest.approx(float(network.layers[0].projection.grad.norm()), rel=1e-4)
    assert last == pytest.approx(float(network.layers[1].projection.grad.norm()), rel=1e-4)


def test_the_table_gets_its_charts(data, tmp_path):
    table = beyond.BEYOND["deep"]
    for name in ("cora/plain/2", "cora/plain/4", "cora/initial/4"):
        cell = table.cell(name)
        fit(data, replace(cell.config, max_epochs=2), out=tmp_path / cell.run)
    results = Results.read(tmp_path)
    seen = view(table, results)
    steps = []
    charted = with_depth_charts(seen, results, Datasets({"cora": data}), steps.append)
    assert [chart.name for chart in charted.charts] == ["deep-cora", "deep-energy-cora", "deep-gradient-cora"]
    assert "Cora, initial residual" in charted.charts[1].svg
    assert steps[0] == "energies and gradients of deep networks on Cora"
