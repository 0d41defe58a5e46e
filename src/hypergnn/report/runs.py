"""The page of one run folder: trials, curves and network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hypergnn.datasets.catalogue import DESCRIPTIONS
from hypergnn.experiments.paper import NAMES
from hypergnn.experiments.statistics import summarise
from hypergnn.models import config_from
from hypergnn.report import charts
from hypergnn.report.networks import Trained
from hypergnn.report.page import Chart, Fact, Page
from hypergnn.report.tables import TRIALS_KEY
from hypergnn.report.words import MODELS, counted, network_name
from hypergnn.training.best_model import MODEL_FILE
from hypergnn.training.ledger import Curves, read

_LINES = 5
"""Trials whose curves are drawn; more would hide each other."""
_POINTS = 100
"""Epochs of a curve that are drawn."""


def page_of_run(folder: Path) -> tuple[Page, list[Trained]]:
    """The page of a run folder, and its network if one was saved."""
    run = read(folder)
    accuracy = [record.test_accuracy for record in run.records]
    if not accuracy:
        raise ValueError(f"RUN must hold a finished trial; {folder} has none yet.")
    summary = summarise(accuracy)
    data = run.configuration["data"]
    method, title = _names(run.configuration)
    about = DESCRIPTIONS.get(data["name"], f"{data['vertices']} vertices in {data['hyperedges']} hyperedges")
    facts = [Fact(f"{summary.mean:.2f} %", "test accuracy, mean of the trials")]
    if summary.interval is not None:
        facts.append(Fact("{:.2f} – {:.2f}".format(*summary.interval), "95 % interval of the mean"))
        facts.append(Fact(f"{summary.sd:.2f}", "standard deviation in points"))
    facts.append(Fact(str(len(accuracy)), counted(len(accuracy), "trial").split()[1]))
    facts.append(Fact(f"{sum(record.seconds for record in run.records):.0f} s", "training time"))
    rows = [{"row": method, "seed": one.seed, "value": one.test_accuracy} for one in run.records]
    chart = curves_chart({seed: run.curves(seed) for seed in sorted(run.seeds)}, "curves", title)
    page = Page(
        title=title,
        lead=f"{about[0].upper()}{about[1:]}.",
        facts=facts,
        distributions=[Chart("trials", charts.trials(rows, [method]), "Accuracy of each trial", key=TRIALS_KEY)],
        curves=[chart] if chart else [],
        environment=environment(run.environments),
    )
    has_model = (folder / MODEL_FILE).exists()
    return page, [Trained(folder, title, run.configuration)] if has_model else []


def _names(configuration: Mapping[str, Any]) -> tuple[str, str]:
    """The name of the network, or of the system, and the title of the page."""
    data = configuration["data"]["name"]
    if "system" in configuration:
        system = configuration["system"]["name"]
        return system, f"{system} on {NAMES.get(data, data)}"
    model = configuration["config"]["model"]
    return MODELS.get(model, model), network_name(data, config_from(configuration["config"]))


def curves_chart(curves: Mapping[int, Curves], name: str, caption: str) -> Chart | None:
    """The losses of the first trials against the epoch; ``None`` if there are no curves.

    Args:
        curves: The curves by seed.
        name: The name of the chart.
        caption: Its caption.
    """
    rows: list[dict[str, Any]] = []
    drawn = [(seed, own) for seed, own in sorted(curves.items()) if own][:_LINES]
    for seed, own in drawn:
        for part, words in (("train_loss", "training"), ("val_loss", "validation")):
            losses = _losses(own, part, seed)
            rows += [
                {"seed": seed, "part": words, "epoch": epoch + 1, "loss": float(f"{loss:.4g}")}
                for epoch in _thinned(len(losses))
                if (loss := losses[epoch]) is not None and math.isfinite(loss)
            ]
    words = "Training and validation loss after each epoch."
    return Chart(name, charts.curves(rows), caption, words, "One line per trial") if rows else None


def environment(found: Sequence[Mapping[str, Any]]) -> Sequence[tuple[str, str]]:
    """The environments of the results, for the footer of the page: all values of each entry.

    Example:
        >>> environment([{"torch": "2.13.0", "commit": "a"}, {"torch": "2.13.0", "commit": "b"}])
        [('torch', '2.13.0'), ('commit', 'a, b')]
    """
    names = dict.fromkeys(name for one in found for name in one)
    values = {name: dict.fromkeys(str(one[name]) for one in found if one.get(name) is not None) for name in names}
    return [(name, ", ".join(own)) for name, own in values.items() if own]


def _losses(curves: Mapping[str, Any], part: str, seed: int) -> Sequence[float | None]:
    """The losses of a trial; raise if the file of curves holds something else."""
    losses = curves.get(part)
    if not isinstance(losses, Sequence) or not all(isinstance(one, (int, float, type(None))) for one in losses):
        raise ValueError(f"curves must hold a list of numbers for {part} of each seed; those of seed {seed} do not.")
    return losses


def _thinned(length: int) -> list[int]:
    """The epochs to draw: all, or evenly spaced ones with the first and the last."""
    if length <= _POINTS:
        return list(range(length))
    return sorted({round(place * (length - 1) / (_POINTS - 1)) for place in range(_POINTS)})
