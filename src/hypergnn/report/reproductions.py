"""The page of a reproduction: every table against what was published, and what of the paper's claims holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from hypergnn.experiments.cells import Cell
from hypergnn.experiments.claims import FEW, MANY, claims_of
from hypergnn.experiments.paper import STAND_IN, TABLES
from hypergnn.experiments.results import Results
from hypergnn.experiments.statistics import summarise, verdict
from hypergnn.experiments.text import p_value
from hypergnn.report.networks import Trained
from hypergnn.report.page import Chart, Fact, Finding, Page
from hypergnn.report.runs import curves_of, environment
from hypergnn.report.tables import distributions, view, words_of
from hypergnn.report.words import counted, network_name, signed, span
from hypergnn.training.ledger import read
from hypergnn.training.session import MODEL_FILE

_ALL = {**TABLES, STAND_IN.name: STAND_IN}
_USUAL = ("baselines", "newsgroup", "sota", "digits")
"""Tables whose curves are shown where there are any: most of their networks have the paper's usual settings."""
_MOST_CURVES = 20
_VERDICTS = {
    "holds": ("holds", "Holds."),
    "not shown": ("open", "Not shown."),
    "reversed": ("fails", "Does not hold."),
    "untested": ("open", "Not tested."),
}
"""What came of a claim, as a kind of finding and in words."""
_EXPLORED = ("hyper-attention", "hyper-conv")
"""Networks for the explorer: those of the paper that use hyperedges alone."""


def page_of_results(folder: Path) -> tuple[Page, list[Trained]]:
    """The page of a reproduction, and the networks that it could show."""
    results = Results.read(folder)
    trained_cells = [cell for table in _ALL.values() for cell in table.cells if results.trials(cell)]
    findings = sorted(_findings(results), key=lambda one: ("fails", "open", "holds").index(one.kind))
    tables = [found for table in _ALL.values() if (found := view(table, results)) is not None]
    if not tables:
        raise ValueError(_nothing(folder, results))
    curves, curves_note = _curves(results)
    page = Page(
        title="Hypergraph convolution and hypergraph attention, run again",
        lead=_lead(trained_cells, results),
        facts=_facts(trained_cells, results),
        findings=findings,
        findings_note=_note(findings),
        tables=tables,
        distributions=[chart for table in _ALL.values() for chart in distributions(table, results)],
        curves=curves,
        curves_note=curves_note,
        environment=environment(results.environments),
    )
    return page, list(_networks(results))


def _nothing(folder: Path, results: Results) -> str:
    """What to say of a folder that holds nothing of the paper's tables."""
    wanted = "RUN must be a run folder, or hold results of the paper's tables"
    own = {cell.run for table in _ALL.values() for cell in table.cells if cell.config is not None}
    others = [str(path) for run, path in sorted(results.folders.items()) if run not in own]
    if not others:
        return f"{wanted}; {folder} has no finished trial of them yet."
    return f"{wanted}; {folder} has none. Did you mean {' or '.join(others[:3])}?"


def _lead(cells: list[Cell], results: Results) -> str:
    if not cells:
        return "What Bai, Zhang and Torr published, beside what was counted here. No network has been trained yet."
    trials = span([len(results.trials(cell)) for cell in cells], "trial")
    text = f"The experiments of Bai, Zhang and Torr with {trials} a cell, beside the numbers that they published."
    short = [(summarise(results.accuracies(cell)).mean - cell.published.mean, cell) for cell in cells if cell.published]
    if not short:
        return f"Networks of Bai, Zhang and Torr on data that they have no numbers for, with {trials} a cell."
    at_or_above = sum(difference >= 0 for difference, _ in short)
    text += f" Of {len(short)} published accuracies, {at_or_above} are reached or passed by our mean."
    lowest, cell = min(short, key=lambda one: one[0])
    if lowest > 0 and len(short) >= MANY:
        middle = median(difference for difference, _ in short)
        text += (
            f" All of them are passed, by {middle:.2f} points in the median. That is no chance: somewhere our protocol "
            "or our data differ from the paper’s."
        )
    if lowest < 0 and cell.config is not None:
        text += f" The largest shortfall is {-lowest:.2f} points: {network_name(cell.dataset, cell.config)}."
    if min(len(results.trials(cell)) for cell in cells) < FEW:
        text += " Where trials are few, intervals are wide: that a published number lies in one then says little."
    return text


def _facts(cells: list[Cell], results: Results) -> list[Fact]:
    verdicts = Counter(
        verdict(summarise(results.accuracies(cell)), cell.published) for cell in cells if cell.published is not None
    )
    runs = {cell.run: results.trials(cell) for cell in cells}
    seconds = sum(trial.seconds for trials in runs.values() for trial in trials)
    time = f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.0f} min"
    return [
        Fact(str(verdicts["reproduced"]), "published means within our 95 % interval, widened by their stated spread"),
        Fact(str(verdicts["above"]), "cells where ours is above that"),
        Fact(str(verdicts["below"]), "cells where ours is below"),
        Fact(str(sum(len(trials) for trials in runs.values())), f"trials in {counted(len(runs), 'run')}"),
        Fact(time, "of training, summed over trials"),
    ]


def _findings(results: Results) -> Iterator[Finding]:
    """Each pair that the paper compares, and whether its order holds here."""
    for table in TABLES.values():
        for claim in claims_of(table, results):
            words = f"{words_of(claim)}: {signed(claim.test.difference)} points here"
            if claim.outcome == "reversed":
                words += f", {_p(claim.test.p_reverse)} for the reverse"
            elif claim.test.p is not None:
                words += f", {_p(claim.test.p)}"
            if claim.comparison.published_p is not None:
                words += f" (published: {_p(claim.comparison.published_p)})"
            kind, verdict = _VERDICTS[claim.outcome]
            yield Finding(kind, verdict, f"{words}.")


def _p(p: float) -> str:
    """A p-value that no line break tears apart."""
    text = p_value(p, 3)
    return f"p {text}".replace("p 0", "p = 0").replace(" ", "\N{NO-BREAK SPACE}")


def _note(findings: list[Finding]) -> str:
    kinds = Counter(finding.kind for finding in findings)
    return (
        f"The paper orders {counted(len(findings), 'pair')} of the cells that were run here. In {kinds['holds']} that "
        f"order is significant at 5 % (one-sided t-test), in {kinds['fails']} the reverse of it; in {kinds['open']} "
        "neither is shown: the difference could be chance. Of so many tests, some are expected to err."
    )


def _cells(results: Results) -> list[Cell]:
    """The cells that have run folders, one for each, those with the paper's usual settings first."""
    order = [*_USUAL, *(name for name in _ALL if name not in _USUAL)]
    found: dict[Path, Cell] = {}
    for cell in (cell for name in order for cell in _ALL[name].cells):
        if (folder := results.run_folder(cell)) is not None:
            found.setdefault(folder, cell)
    return list(found.values())


def _curves(results: Results) -> tuple[list[Chart], str]:
    """The curves of the usual networks, or of some others if there is none of them, and which are left out."""
    cells = _cells(results)
    drawn = [cell for cell in cells if cell.table in _USUAL] or cells[:_MOST_CURVES]
    found = list(_drawn(drawn, results))
    others = [cell for cell in cells if cell not in drawn]
    if not found or not others:
        return found, ""
    tables = ", ".join(dict.fromkeys(cell.table for cell in others))
    return found, (
        f"Not shown: the curves of {counted(len(others), 'run')} with other settings ({tables}). They stand on the "
        f"pages of their own run folders, such as {others[0].run}."
    )


def _drawn(cells: list[Cell], results: Results) -> Iterator[Chart]:
    for cell in cells:
        folder = results.run_folder(cell)
        if folder is None or cell.config is None:
            continue
        chart = curves_of(read(folder), f"curves-{cell.run}", network_name(cell.dataset, cell.config))
        if chart is not None:
            yield chart


def _networks(results: Results) -> Iterator[Trained]:
    """One network of each kind and dataset, attention first."""
    seen: set[tuple[str, str]] = set()
    for model in _EXPLORED:
        for cell in _cells(results):
            folder = results.run_folder(cell)
            if folder is None or cell.config is None or cell.config.model != model or (model, cell.dataset) in seen:
                continue
            if (folder / MODEL_FILE).exists():
                seen.add((model, cell.dataset))
                yield Trained(folder, network_name(cell.dataset, cell.config))
