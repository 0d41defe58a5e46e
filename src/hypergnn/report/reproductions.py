"""The page of a reproduction: every table beside the published numbers, and which of the paper's claims hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from hypergnn._utils.display import listed
from hypergnn.experiments.beyond import ALL, BEYOND, has_cells_of_its_own, has_more_than_the_paper
from hypergnn.experiments.cells import Cell, Table
from hypergnn.experiments.claims import claims_of
from hypergnn.experiments.gaps import are_all_above, gaps_of, why_above
from hypergnn.experiments.paper import STAND_IN, TABLES
from hypergnn.experiments.results import Results
from hypergnn.experiments.text import FEW, p_value, verdict_of
from hypergnn.experiments.verdicts import CLAIM_VERDICTS, Verdict
from hypergnn.report.networks import Trained
from hypergnn.report.page import Chart, Fact, Finding, Page
from hypergnn.report.runs import curves_chart, environment
from hypergnn.report.tables import distributions, view, words_of
from hypergnn.report.words import counted, network_name, signed, span
from hypergnn.training.best_model import MODEL_FILE
from hypergnn.training.ledger import read_curves

_ALL = {**ALL, STAND_IN.name: STAND_IN}
_USUAL = ("baselines", "newsgroup", "sota", "digits")
"""Tables whose curves are shown first: most of their networks have the paper's default settings."""
_ORDER = (Verdict.REVERSED, Verdict.NOT_SHOWN, Verdict.NOT_TESTED, Verdict.HOLDS)
"""Claims on the page: those that do not hold first."""
_MOST_CURVES = 20
_MOST_NAMES = 6
_EXPLORED = ("hyper-attention", "hyper-conv")
"""Networks for the explorer: those of the paper that use only hyperedges."""


def page_of_results(results: Results, folder: Path, own: Sequence[Table] = ()) -> tuple[Page, list[Trained]]:
    """The page of a reproduction, and the networks for its explorer.

    Args:
        results: What was measured.
        folder: Where it was read from, for error messages.
        own: Tables with rows or columns of the user's own, in place of those of the same name.
    """
    measured = _measured(results, {**_ALL, **{table.name: _completed(table) for table in own}})
    cells = [cell for table in measured for cell in table.cells if results.trials(cell)]
    findings = sorted(_findings(results), key=lambda one: _ORDER.index(one.verdict))
    tables = [found for table in measured if (found := view(table, results)) is not None]
    if not tables:
        raise ValueError(_nothing(folder, results))
    curves, curves_note = _curves(results)
    networks, others = _networks(results)
    page = Page(
        title="Hypergraph convolution and hypergraph attention, reproduced",
        lead=_lead(cells, results),
        facts=_facts(cells, results),
        findings=findings,
        findings_note=_note(findings),
        tables=tables,
        distributions=[chart for table in measured for chart in distributions(table, results)],
        curves=curves,
        curves_note=curves_note,
        left_out=[others] if others else [],
        environment=environment(results.environments),
    )
    return page, networks


def _completed(own: Table) -> Table:
    """A table with rows, columns or a choice of cells of the user's own, and with all cells that it has anyway."""
    whole = _ALL.get(own.name)
    if whole is None:
        return own
    cells = {cell.name: cell for cell in (*whole.cells, *own.cells)}  # own ones replace others, in their places
    return replace(own, cells=tuple(cells.values()), comparisons=whole.comparisons)


def _measured(results: Results, tables: Mapping[str, Table]) -> list[Table]:
    """All tables, except those beyond the paper and the stand-in if others show all that was measured of them."""
    beyond = [table for name, table in tables.items() if name in BEYOND and has_more_than_the_paper(table, results)]

    def is_shown(name: str, table: Table) -> bool:
        return has_cells_of_its_own(table, beyond, results) if name == STAND_IN.name else name not in BEYOND

    return [table for name, table in tables.items() if table in beyond or is_shown(name, table)]


def _nothing(folder: Path, results: Results) -> str:
    """The message for a folder that holds nothing of the paper's tables."""
    wanted = "RUN must be a run folder, or hold results of the paper's tables"
    own = {cell.run for table in _ALL.values() for cell in table.cells if cell.is_trained}
    others = [str(path) for run, path in sorted(results.folders.items()) if run not in own]
    if not others:
        return f"{wanted}; {folder} has no finished trial of them yet."
    return f"{wanted}; {folder} has none. Did you mean {' or '.join(others[:3])}?"


def _lead(cells: list[Cell], results: Results) -> str:
    if not cells:
        return "The numbers that Bai, Zhang and Torr published, beside our counts. No network has been trained yet."
    trials = span([len(results.trials(cell)) for cell in cells], "trial")
    gaps = gaps_of(results, _ALL.values())
    if not gaps:
        return f"The networks of Bai, Zhang and Torr on data that is not in their paper, with {trials} per cell."
    text = f"The experiments of Bai, Zhang and Torr with {trials} per cell, beside their published numbers. "
    if are_all_above(gaps):
        text += why_above(gaps, "docs/paper_map.md")
    else:
        reached = sum(gap.points >= 0 for gap in gaps)
        middle = median(gap.points for gap in gaps)
        text += f"Our mean reaches {reached} of {len(gaps)} published accuracies; the median gap is {signed(middle)}."
    lowest = min(gaps, key=lambda gap: gap.points)
    if lowest.points < 0 and lowest.cell.config is not None:
        name = network_name(lowest.cell.dataset, lowest.cell.config)
        text += f" The largest shortfall is {-lowest.points:.2f} points: {name}."
    if min((len(results.trials(cell)) for cell in cells if not cell.is_deterministic), default=FEW) < FEW:
        text += f" With fewer than {FEW} trials intervals are wide, so “reproduced” says little there."
    return text


def _facts(cells: list[Cell], results: Results) -> list[Fact]:
    verdicts = Counter(verdict_of(cell, results) for cell in cells if cell.published is not None)
    runs = {cell.run: results.trials(cell) for cell in cells}
    seconds = sum(trial.seconds for trials in runs.values() for trial in trials)
    time = f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.0f} min"
    return [
        Fact(str(verdicts[Verdict.REPRODUCED]), "cells reproduced: the published mean is in our 95 % interval"),
        Fact(str(verdicts[Verdict.ABOVE]), "cells where our mean is above"),
        Fact(str(verdicts[Verdict.BELOW]), "cells where our mean is below"),
        Fact(str(sum(len(trials) for trials in runs.values())), f"trials in {counted(len(runs), 'run')}"),
        Fact(time, "training time, summed over trials"),
    ]


def _findings(results: Results) -> Iterator[Finding]:
    """Each claim of the paper, and its verdict."""
    for table in TABLES.values():
        for claim in claims_of(table, results):
            words = f"{words_of(claim)}: {signed(claim.test.difference)} points"
            if claim.verdict == Verdict.REVERSED:
                words += f", {_p(claim.test.p_reverse)} for the opposite order"
            elif claim.test.p is not None:
                words += f", {_p(claim.test.p)}"
            if claim.comparison.published_p is not None:
                words += f" (published: {_p(claim.comparison.published_p)})"
            yield Finding(claim.verdict, f"{words}.")


def _p(p: float) -> str:
    """A p-value that no line break splits."""
    text = p_value(p, 3)
    return f"p {text}".replace("p 0", "p = 0").replace(" ", "\N{NO-BREAK SPACE}")


def _note(findings: list[Finding]) -> str:
    counts = Counter(finding.verdict for finding in findings)
    parts = [f"{one}: {counts[one]} ({one.meaning})" for one in CLAIM_VERDICTS if counts[one]]
    return (
        f"The paper claims an order for {counted(len(findings), 'pair')} of the cells measured here. Verdicts: "
        f"{'; '.join(parts)}. The tests are one-sided t-tests; among so many, some errors are expected."
    )


def _cells(results: Results) -> list[Cell]:
    """One cell per run folder of a network, those with the paper's default settings first."""
    order = [*_USUAL, *(name for name in _ALL if name not in _USUAL)]
    found: dict[Path, Cell] = {}
    for cell in (cell for name in order for cell in _ALL[name].cells):
        if cell.config is not None and (folder := results.run_folder(cell)) is not None:
            found.setdefault(folder, cell)
    return list(found.values())


def _curves(results: Results) -> tuple[list[Chart], str]:
    """The curves of the networks with default settings, or else of some others, and a note on those left out."""
    cells = _cells(results)
    drawn = [cell for cell in cells if cell.table in _USUAL] or cells[:_MOST_CURVES]
    found = list(_drawn(drawn, results))
    others = [cell for cell in cells if cell not in drawn]
    if not found or not others:
        return found, ""
    tables = ", ".join(dict.fromkeys(cell.table for cell in others))
    return found, (
        f"Not shown: the curves of {counted(len(others), 'run')} with other settings ({tables}). Use hypergnn report "
        f"on a run folder to see its curves, for example {others[0].run}."
    )


def _drawn(cells: list[Cell], results: Results) -> Iterator[Chart]:
    for cell in cells:
        folder = results.run_folder(cell)
        if folder is None or cell.config is None:
            continue
        curves = read_curves(folder, {record.seed for record in results.trials(cell)})
        chart = curves_chart(curves, f"curves-{cell.run}", network_name(cell.dataset, cell.config))
        if chart is not None:
            yield chart


def _networks(results: Results) -> tuple[list[Trained], str]:
    """The networks for the explorer, one per model and dataset, attention first; and a note on the others."""
    chosen: dict[tuple[int, str], Trained] = {}
    others: list[Trained] = []
    for cell in _cells(results):
        folder = results.run_folder(cell)
        if folder is None or cell.config is None or not (folder / MODEL_FILE).exists():
            continue
        model, label = cell.config.model, network_name(cell.dataset, cell.config)
        one = Trained(folder, label, results.origins[cell.run].configuration or {})
        if model in _EXPLORED and not cell.config.is_residual and (_EXPLORED.index(model), cell.dataset) not in chosen:
            chosen[_EXPLORED.index(model), cell.dataset] = one
        else:
            others.append(one)
    return [chosen[key] for key in sorted(chosen, key=lambda key: key[0])], _others(others)


def _others(others: list[Trained]) -> str:
    """The note on the networks that the explorer leaves out."""
    if not others:
        return ""
    names = listed([one.label for one in others], most=_MOST_NAMES, length=80)
    first = others[0].folder
    return (
        "The explorer shows one network per dataset for Hyper-Atten. and for Hyper-Conv. Not shown: "
        f"{counted(len(others), 'trained network')} ({names}). Use hypergnn report on a run folder to explore its "
        f"network, for example {first.parent.name}/{first.name}."
    )
