"""A table of results small enough for a test."""

from hypergnn.experiments.cells import Cell, Comparison, Published, Table
from hypergnn.models import Config


def cell(name, model="hyper-conv", published=None, **settings):
    config = Config(model=model, hidden=2, heads=2, **{"max_epochs": 3, **settings})
    return Cell("small", name, name, "digits", "digits", config, published)


SMALL = Table(
    "small",
    "A small table",
    (
        cell("conv", published=Published(50.0)),
        cell("same", published=Published(99.0, 0.5)),
        cell("gcn", model="gcn"),
        Cell("small", "quoted", "quoted", "digits", "digits", None, Published(12.5)),
        Cell("small", "digits/nodes", "size", "digits", "digits", None, Published(1797), "count"),
    ),
    (Comparison("conv", "gcn", 0.016),),
)
