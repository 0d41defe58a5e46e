from dataclasses import replace

import numpy as np
import pytest

import hypergnn as hg


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
