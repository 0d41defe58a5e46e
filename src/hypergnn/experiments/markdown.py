"""``docs/results.md`` and the README's table, written from the records that are kept in ``results/``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from statistics import median

from hypergnn.experiments.cells import Table
from hypergnn.experiments.claims import MANY, Claim, claims_of
from hypergnn.experiments.paper import TABLES
from hypergnn.experiments.remarks import remarks_of
from hypergnn.experiments.results import Results
from hypergnn.experiments.text import (
    CLAIMS_HEAD,
    HEAD,
    claim_rows_of,
    line_of,
    p_value,
    rows_of,
    summary_of,
    verdict_of,
)

BEGIN, END = "<!-- results: written by `make docs` -->", "<!-- end of results -->"
"""What the README's table stands between."""
_NOTHING = "No results are kept yet: `make results` measures all of them, and can be stopped and started again."
_INTRODUCTION = """# Results

The paper's tables, measured and published side by side. This page is written from the records in `results/` by `make
docs`; a test compares the two. `make results` measures all of it anew: `hypergnn reproduce --all`, which can be
stopped at any time and goes on where it was.

All cells follow one protocol ([paper_map.md](paper_map.md), Section 4), and nothing is chosen by test accuracy: a
trial is judged once, with the parameters of its lowest validation loss. Trials have the seeds 0, 1, 2, … Accuracies
are in percent: mean ± standard deviation of the trials, and the interval in which the mean of endlessly many trials
lies with 95 % confidence.

The verdict is *reproduced* where the published mean lies in that interval, widened by the published spread where
there is one; else our mean is *above* or *below* it. With many trials the interval is narrow, and a small difference
between two ways of reading the paper is enough to leave it. How many trials a cell had stands beside it.

The paper's claims that one method beats another are tested as the paper does it, by a one-sided two-sample t-test
(p), and by Welch's, which does not take the spreads for equal; what is said of a claim follows the paper's test, at
the level of 5 %. The trials of all networks share the data's one split, so the tests speak of that split only. Trials
of two cells share their seeds as well; where they rise and fall together, the tests are too cautious. They are not
corrected for their number.
"""


def results_page(results: Results) -> str:
    """``docs/results.md``.

    Example:
        >>> print(results_page(Results({}, {})).splitlines()[-1])  # doctest: +ELLIPSIS
        No results are kept yet: ...
    """
    if not results.runs and not results.measures:
        return f"{_INTRODUCTION}\n{_NOTHING}\n"
    parts = [_INTRODUCTION, _overview(results), *(_section(table, results) for table in TABLES.values())]
    return "\n".join([*parts, _against(results), _environments(results)])


def readme_table(results: Results) -> str:
    """The table of the README: Table 2 of the paper.

    Example:
        >>> readme_table(Results({}, {})).splitlines()[1]  # doctest: +ELLIPSIS
        'No results are kept yet: ...'
    """
    table = TABLES["baselines"]
    if not any(results.trials(cell) for cell in table.cells):
        return f"{BEGIN}\n{_NOTHING}\n{END}"
    head = ["", *(f"{column}, {what}" for column in table.columns for what in ("measured", "published"))]
    rows = []
    for row in table.rows:
        cells = [cell for column in table.columns if (cell := table.at(row, column)) is not None]
        lines = [line_of(cell, results) for cell in cells]
        rows.append([row, *(text for line in lines for text in (line.measured, line.published))])
    counts = sorted({len(results.trials(cell)) for cell in table.cells if results.trials(cell)})
    trials = " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
    return f"{BEGIN}\n{_table(head, rows)}\n\n{trials} trials a cell.\n{END}"


def with_table(readme: str, results: Results) -> str:
    """The README with its table written anew.

    Raises:
        ValueError: If it does not have the two marks that the table stands between.

    Example:
        >>> with_table(f"before {BEGIN}old{END} after", Results({}, {})).startswith("before <!--")
        True
    """
    if readme.count(BEGIN) != 1 or readme.count(END) != 1:
        raise ValueError(f"the README must have the marks {BEGIN!r} and {END!r}, once each.")
    before, _, rest = readme.partition(BEGIN)
    return before + readme_table(results) + rest.partition(END)[2]


def _overview(results: Results) -> str:
    results = results.of(TABLES.values())  # without runs that have been kept since settings were other ones
    verdicts = Counter(
        (verdict_of(cell, results) or "") for table in TABLES.values() for cell in table.cells if cell.published
    )
    said = [f"{count} {name}" for name in ("reproduced", "above", "below") if (count := verdicts[name])]
    trials = sum(map(len, results.runs.values()))
    hours = sum(trial.seconds for run in results.runs.values() for trial in run) / 3600
    outcomes = Counter(claim.outcome for claim in _claims(results))
    untested = f", {outcomes['untested']} are not tested" if outcomes["untested"] else ""
    return (
        f"{trials} trials of {len(results.runs)} different settings, {hours:.1f} hours of one core{_clock(results)}. "
        f"Of the cells that the paper has a number for: {', '.join(said) or 'none measured'}.{_gaps(results)}\n\n"
        f"Of the paper's claims that one cell is better than another, {outcomes['holds']} hold here significantly, "
        f"{outcomes['not shown']} are not shown{untested}, and of {outcomes['reversed']} the reverse is significant: "
        "they are [named below](#claims-of-the-paper-that-do-not-hold-in-these-runs).\n"
    )


def _clock(results: Results) -> str:
    """How long all of it took by the clock, as far as anybody looked."""
    times = [origin.seconds for run, origin in results.origins.items() if run in results.runs]
    known = [seconds for seconds in times if seconds is not None]
    if not known:
        return ""
    of = "" if len(known) == len(results.runs) else f" for {len(known)} of the settings"
    return f", {sum(known) / 60:.0f} minutes of training by the clock{of}"


def _gaps(results: Results) -> str:
    """How far our means are from the published ones."""
    gaps = [
        summary.mean - cell.published.mean
        for table in TABLES.values()
        for cell in table.cells
        if cell.published is not None and (summary := summary_of(cell, results)) is not None
    ]
    if not gaps:
        return ""
    ends = f"{min(gaps):+.2f} to {max(gaps):+.2f} points from the published ones"
    text = f" Our means lie {ends}, {median(gaps):+.2f} in the median."
    if min(gaps) > 0 and len(gaps) >= MANY:
        text += (
            " All of them lie above, which is not chance: somewhere our protocol or our data differ from the paper's. "
            "[paper_map.md](paper_map.md) lists where the paper leaves a choice; which one it is, we do not know."
        )
    return text


def _section(table: Table, results: Results) -> str:
    parts = [f"## {table.title}\n", f"`hypergnn reproduce {table.name}`\n"]
    parts += [f"{words}\n" for words in (table.note, *remarks_of(table, results)) if words]
    parts.append(_table(HEAD, rows_of(table, results)) + "\n")
    if claims := claim_rows_of(table, results):
        parts.append(_table(CLAIMS_HEAD, claims) + "\n")
    return "\n".join(parts)


def _claims(results: Results) -> list[Claim]:
    return [claim for table in TABLES.values() for claim in claims_of(table, results)]


def _against(results: Results) -> str:
    """What of the paper's claims is not so here."""
    found = _claims(results)

    def listed(outcome: str, p: str, of: Callable[[Claim], float | None]) -> list[str]:
        return [
            f"- {claim.table.name}: {claim.words} ({claim.test.difference:+.2f}, {p} {p_value(of(claim))})"
            for claim in found
            if claim.outcome == outcome
        ] or ["None."]

    lines = ["## Claims of the paper that do not hold in these runs\n", "The reverse is significant:\n"]
    lines += listed("reversed", "p of the reverse", lambda claim: claim.test.p_reverse)
    lines += ["\nNot shown: the difference could be chance.\n"]
    lines += listed("not shown", "p", lambda claim: claim.test.p)
    return "\n".join(lines) + "\n"


def _environments(results: Results) -> str:
    lines = ["## Where it was measured\n"]
    for one in results.environments:
        versions = ", ".join(f"{name} {one[name]}" for name in ("hypergnn", "python", "torch", "numpy", "scipy"))
        lines.append(f"- {one['cpu']}, {one['cores']} cores, {one['platform']}; {versions}; commit {one['commit']}")
    return "\n".join(lines) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(entry.replace("*", "\\*") for entry in line) + " |" for line in lines)
