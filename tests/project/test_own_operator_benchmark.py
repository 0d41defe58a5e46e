"""The benchmark of own operators compares the same mathematics, and writes its numbers where the page has them."""

import pytest
import torch
from support.structures import hypergraph
from torch.testing import assert_close

from benchmarks import own_operators as benchmark


@pytest.mark.parametrize("name", benchmark.CASES)
def test_both_sides_compute_the_same(name):
    pytest.importorskip("torch_geometric", reason="PyG is not installed")
    kind, theirs = benchmark.CASES[name]
    H = hypergraph("unit weights")
    layer, x = kind(3, 2, heads=2).double(), torch.rand(H.n_vertices, 3, dtype=torch.float64)
    index = torch.stack([H.vertex.long(), H.hyperedge.long()])
    assert_close(layer(x, H), theirs(layer, x, index))


def test_the_page_has_a_place_for_the_numbers():
    pair = {"threads": 1, "ours": [0.1, 0.1], "theirs": [0.5, 0.7]}
    page = benchmark.with_numbers(benchmark.PAGE.read_text(), {"unigat": {"peers": {"PyG": pair}}}, 500_000)
    assert "| `unigat` | 100 ms | 600 ms | 6.0 (5.5 to 6.5) |" in page
    assert page.count(benchmark.BEGIN) == page.count(benchmark.END) == 1
    assert page.startswith("# Operators of your own")


def test_an_unknown_case_is_an_error(capsys):
    with pytest.raises(SystemExit):
        benchmark.main(["gat"])
    assert "CASE must be one of unigat, all-deep-sets; got 'gat'" in capsys.readouterr().err
