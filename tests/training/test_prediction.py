from dataclasses import replace

import numpy as np
import pytest
import torch

import hypergnn as hg
from hypergnn.persistence.models import SavedModel


@pytest.mark.parametrize("names", [5, "abc", ["a", 1, "c"], {"a": 1}])
def test_feature_names_of_a_model_must_be_a_list_of_text(tmp_path, names):
    hg.save(hg.Network(hg.Config(model="mlp"), 3, 2), tmp_path / "m.safetensors", about={"feature_names": names})
    part = np.array([0])
    data = hg.Dataset(
        name="small",
        x=np.eye(3, dtype=np.float32),
        y=np.array([0, 1, 0]),
        class_names=("a", "b"),
        graph=None,
        hypergraph=hg.Hypergraph.from_hyperedges([[0, 1, 2]], n_vertices=3),
        train=part,
        val=part + 1,
        test=part + 2,
        source="memory",
        feature_names=("a", "b", "c"),
    )
    model = hg.load(tmp_path / "m.safetensors")
    with pytest.raises(ValueError, match="the feature names of a model must be a list of text; its file has"):
        hg.training.predict(model, data)
    assert hg.training.predict(model, replace(data, feature_names=None)).shape == (3, 2)


def test_scores_that_are_not_finite_are_refused():
    data = hg.datasets.load("digits")
    model = SavedModel(
        hg.Network(hg.Config(feature_scaling="none"), data.n_features, data.n_classes), data.class_names, {}
    )
    x = data.features().clone()
    x[3] = torch.finfo(torch.float32).max
    with pytest.raises(
        ValueError, match=r"scores must be finite; not so for vertex \d+ and others. Look for very large"
    ):
        hg.training.predict(model, replace(data, x=x))


def test_a_normalisation_whose_variance_is_not_finite_is_no_model():
    data = hg.datasets.load("digits")
    large = replace(data, x=data.features() * 1e25)
    settings = {"norm": "batch", "feature_scaling": "none", "hidden": 4, "heads": 1, "max_epochs": 2}
    with pytest.raises((ValueError, ChildProcessError), match=r"training has diverged: norms.0.variance of seed 0"):
        hg.training.fit(large, hg.Config("hyper-grand", **settings), trials=1, jobs=1)
