import pytest
from support import structures

from hypergnn import Graph, Hypergraph


@pytest.fixture(params=list(structures.HYPERGRAPHS))
def H(request: pytest.FixtureRequest) -> Hypergraph:
    return structures.hypergraph(request.param)


@pytest.fixture(params=list(structures.GRAPHS))
def graph(request: pytest.FixtureRequest) -> Graph:
    return structures.graph(request.param)


@pytest.fixture(params=["symmetric", "row", "none"])
def normalization(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["hyperedges", "vertices"])
def softmax_over(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["numba", "torch"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("hypergnn.kernels.dispatch.wanted", request.param)
    return request.param
