import gc

import pytest
from support import structures
from support import tally as tallies

from hypergnn import Graph, Hypergraph

# Examples in docstrings and pages that write a report or export a network.
SLOW_EXAMPLES = ("docs/report.md", "src/hypergnn/persistence/onnx.py", "src/hypergnn/report/writing.py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(SLOW_EXAMPLES):
            item.add_marker(pytest.mark.slow)
        if "tally" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.drill)
    if "load" not in config.option.markexpr:  # takes minutes, and needs a machine of its own
        items[:] = [item for item in items if item.get_closest_marker("load") is None]


def pytest_collection_finish() -> None:
    """Spare the garbage collector what stays for the whole session: modules and tests, millions of objects."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    tallies.write()


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> tallies.Tally:
    return tallies.Tally(f"{request.path.relative_to(request.config.rootpath)}::{request.function.__name__}")


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
