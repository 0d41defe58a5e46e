"""A table of results small enough for a test, and records of trials."""

from hypergnn.experiments.cells import Cell, Comparison, Published, Table
from hypergnn.models import Config
from hypergnn.training import TrialRecord


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


def trial(seed, test_accuracy, seconds=1.0):
    """A record with the fields that the compact form stores."""
    fields = {"epochs": 9, "best_epoch": 3, "seconds": seconds, "val_accuracy": 80.0}
    return TrialRecord(seed=seed, test_accuracy=test_accuracy, **fields)


def compact(runs):
    """The runs as the compact form stores them: without training accuracies and losses."""
    names = ("seed", "epochs", "best_epoch", "seconds", "val_accuracy", "test_accuracy")
    return {
        run: [TrialRecord(**{name: getattr(one, name) for name in names}) for one in records]
        for run, records in runs.items()
    }
