"""The report of networks that follow hyperedges in both directions."""

import numpy as np

import hypergnn as hg
from hypergnn.models import Config
from hypergnn.report.insight import look


def test_the_report_shows_the_attention_of_both_directions(tmp_path):
    data = hg.datasets.load("arrows")
    config = Config("hyper-attention", direction="both", hidden=2, heads=2, depth=1, max_epochs=1)
    hg.training.fit(data, config, out=tmp_path)
    insight = look(hg.load(tmp_path / "model.safetensors"), data)
    assert insight.heads == ("1 forward", "1 backward")
    whole = data.hypergraph.undirected()
    assert insight.attention.shape == (whole.n_incidences, 2)
    sums = np.zeros((whole.n_vertices, 2))
    np.add.at(sums, whole.vertex.numpy(), insight.attention)
    received = np.stack([np.diff(one.offsets.numpy()) > 0 for one in (data.hypergraph.heads, data.hypergraph.tails)], 1)
    np.testing.assert_allclose(sums, received, atol=1e-5)
