import gc
import random
import re
import sys
import zlib
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from support import order, structures
from support import tally as tallies

from hypergnn import Graph, Hypergraph

# Examples in docstrings and pages that write a report, export a network or fit several models.
SLOW_EXAMPLES = (
    "docs/report.md",
    "src/hypergnn/estimators/classifier.py",
    "src/hypergnn/estimators/events.py",
    "src/hypergnn/estimators/regressor.py",
    "src/hypergnn/model_selection.py",
    "src/hypergnn/persistence/onnx.py",
    "src/hypergnn/report/writing.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """Do not collect what ``-m`` deselects: creating thousands of tests takes seconds."""
    expression, given = collector.config.option.markexpr, getattr(obj, "pytestmark", None)
    is_asked_for = any("::" in argument for argument in collector.config.args)
    if not isinstance(given, list) or is_asked_for or not re.fullmatch(r"not \w+( and not \w+)*", expression):
        return None
    return [] if {mark.name for mark in given} & set(re.findall(r"not (\w+)", expression)) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    for item in items:
        if item.nodeid.startswith(SLOW_EXAMPLES):
            item.add_marker(pytest.mark.slow)
        if "tally" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.drill)
    if "load" not in config.option.markexpr:  # takes minutes, and needs a machine of its own
        items[:] = [item for item in items if item.get_closest_marker("load") is None]
    yield
    if hasattr(config, "workerinput"):  # a worker of xdist
        n_workers = config.workerinput["workercount"]
        items[:] = order.for_workers(items, n_workers, lambda item: order.file_of(item.nodeid), is_long)


def is_long(item: pytest.Item) -> bool:
    """Whether a test should start early: the examples of a page are one test."""
    return item.get_closest_marker("slow") is not None or item.nodeid.partition("::")[0].endswith(".md")


def pytest_collection_finish() -> None:
    """Spare the garbage collector what stays for the whole session: modules and tests, millions of objects."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give each test random numbers and compiled code of its own, whatever ran before it in this process."""
    seed = zlib.crc32(item.nodeid.encode())
    random.seed(seed)
    np.random.seed(seed)
    torch.default_generator.manual_seed(seed)
    if "torch._dynamo" in sys.modules:  # the limit of recompilations counts those of other tests
        torch.compiler.reset()


def pytest_sessionfinish() -> None:
    tallies.write()


@pytest.fixture(autouse=True, scope="module")
def _collected() -> None:
    """Spare the collector also what earlier files have loaded: tests ask for a full collection, which walks it all."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """Benchmarks choose their number of threads; the next test has that of the session again."""
    before = torch.get_num_threads()
    yield
    if torch.get_num_threads() != before:
        torch.set_num_threads(before)


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
