"""Explanations of networks with other weights, or with features of the hyperedges themselves."""

import pytest
import torch
from support.points import grouped_points

import hypergnn as hg
from hypergnn.models import Config, Network
from hypergnn.training.plan import Task


@pytest.mark.parametrize(
    "settings",
    [
        {"weights": "learned"},
        {"weights": "inverse-frequency"},
        {"model": "hyper-attention", "hyperedge_features": "co-occurrence"},
    ],
    ids=["learned", "inverse frequency", "co-occurrence"],
)
def test_contributions_add_up_to_the_score_of_the_network(settings):
    data, config = grouped_points(), Config(hidden=2, heads=2, **settings)
    network = Network(config, data.n_features, data.n_classes).eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(0))
    task = Task.of(data, config)
    with torch.no_grad():
        score = network(task.x, **task.structures)[5, 1]
    explained = hg.explain(network, data, 5, target=1)
    assert explained.score == pytest.approx(float(score), rel=1e-4, abs=1e-5)
    assert sum(part.contribution for part in explained.parts) == pytest.approx(explained.logit, rel=1e-4, abs=1e-5)
