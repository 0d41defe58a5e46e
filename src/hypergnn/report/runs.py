"""The page of one run folder: its trials, curves and network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hypergnn.datasets.catalogue import DESCRIPTIONS
from hypergnn.experiments.statistics import summarise
from hypergnn.models import config_from
from hypergnn.report import charts
from hypergnn.report.networks import Trained
from hypergnn.report.page import Chart, Fact, Page
from hypergnn.report.words import MODELS, network_name
from hypergnn.training.ledger import Run, read
from hypergnn.training.session import MODEL_FILE

_LINES = 5
"""Trials whose curves are drawn; more hide each other."""
_POINTS = 100
"""Epochs of a curve that are drawn."""


def label(run: Run) -> str:
    """What a run is of, in words."""
    return network_name(run.configuration["data"]["name"], config_from(run.configuration["config"]))


def page_of_run(folder: Path) -> Page:
    """The page of a run folder, without its network."""
    run = read(folder)
    accuracy = [record["test_accuracy"] for record in run.records]
    if not accuracy:
        raise ValueError(f"RUN must hold a finished trial; {folder} has none yet.")
    summary = summarise(accuracy)
    data = run.configuration["data"]
    title = label(run)
    about = DESCRIPTIONS.get(data["name"], f"{data['vertices']} vertices in {data['hyperedges']} hyperedges")
    facts = [Fact(f"{summary.mean:.2f} %", "test accuracy, mean of the trials")]
    if summary.interval is not None:
        facts.append(Fact("{:.2f} – {:.2f}".format(*summary.interval), "95 % interval of the mean"))
        facts.append(Fact(f"{summary.sd:.2f}", "standard deviation, points"))
    facts.append(Fact(str(len(accuracy)), "trial" if len(accuracy) == 1 else "trials"))
    facts.append(Fact(f"{sum(record['seconds'] for record in run.records):.0f} s", "of training"))
    method = MODELS[run.configuration["config"]["model"]]
    rows = [{"row": method, "seed": one["seed"], "value": one["test_accuracy"]} for one in run.records]
    return Page(
        title=title,
        lead=f"{about[0].upper()}{about[1:].partition(';')[0]}.",
        facts=facts,
        distributions=[Chart("trials", charts.trials(rows, [method]), "Accuracy of each trial")],
        curves=[chart] if (chart := curves_of(run, "curves", title)) else [],
        environment=environment(run.environments),
    )


def curves_of(run: Run, name: str, caption: str) -> Chart | None:
    """The losses of a run's first trials, epoch by epoch, or ``None`` if it kept none."""
    rows: list[dict[str, Any]] = []
    for seed in sorted(run.seeds):
        kept = run.curves(seed)
        if not kept or len({row["seed"] for row in rows}) == _LINES:
            continue
        for part, words in (("train_loss", "training"), ("val_loss", "validation")):
            rows += [
                {"seed": seed, "part": words, "epoch": epoch + 1, "loss": float(f"{kept[part][epoch]:.4g}")}
                for epoch in _thinned(len(kept[part]))
                if kept[part][epoch] is not None
            ]
    words = "Training and validation loss against the epoch."
    return Chart(name, charts.curves(rows), caption, words) if rows else None


def trained(folder: Path) -> list[Trained]:
    """The run's network, if one has been saved."""
    return [Trained(folder, label(read(folder)))] if (folder / MODEL_FILE).exists() else []


def environment(found: Sequence[Mapping[str, Any]]) -> Sequence[tuple[str, str]]:
    """Where results were made, for the foot of the page: of each version and machine all that there were.

    Example:
        >>> environment([{"torch": "2.13.0", "commit": "a"}, {"torch": "2.13.0", "commit": "b"}])
        [('torch', '2.13.0'), ('commit', 'a, b')]
    """
    names = dict.fromkeys(name for one in found for name in one)
    values = {name: dict.fromkeys(str(one[name]) for one in found if one.get(name) is not None) for name in names}
    return [(name, ", ".join(own)) for name, own in values.items() if own]


def _thinned(length: int) -> list[int]:
    """Epochs to draw: all, or evenly chosen ones with the first and the last."""
    if length <= _POINTS:
        return list(range(length))
    return sorted({round(place * (length - 1) / (_POINTS - 1)) for place in range(_POINTS)})
