"""``docs/results.md`` and the results in the README, generated from the records in ``results/``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from statistics import median

from hypergnn._utils.display import markdown_table
from hypergnn.experiments.beyond import ALL, BEYOND, has_more_than_the_paper
from hypergnn.experiments.cells import Cell, Table
from hypergnn.experiments.claims import Claim, claims_of
from hypergnn.experiments.ensembles import Measured, ensembles_section
from hypergnn.experiments.gaps import gaps_of, why_above
from hypergnn.experiments.jobs import runs_of
from hypergnn.experiments.paper import TABLES
from hypergnn.experiments.ranking_text import parts_of
from hypergnn.experiments.remarks import remarks_of
from hypergnn.experiments.results import Origin, Results
from hypergnn.experiments.text import HEAD, claim_rows_of, claims_head, line_of, p_value, rows_of, verdict_of
from hypergnn.experiments.verdicts import CLAIM_VERDICTS, Verdict

BEGIN, END = "<!-- results: written by `make docs` -->", "<!-- end of results -->"
"""The marks around the generated part of the README."""
_NOTHING = "There are no results yet. `make results` measures them; it can be stopped and resumed."
_JUDGED = (Verdict.REPRODUCED, Verdict.ABOVE, Verdict.BELOW)
_INTRODUCTION = """# Results

The tables of the paper, measured and published side by side. `make docs` generates this page from the records in
`results/`, and a test compares the two. `make results` measures the tables of the paper again (`hypergnn reproduce
--all`); it can be stopped at any time and resumes with the same command.

All cells follow one protocol ([paper_map.md](paper_map.md), Section 4). Nothing is chosen by test accuracy, with one
exception that Table 5 names. Each trial is evaluated once, a network with the parameters of its lowest validation loss,
and a system of others by the rule that its module states. The seeds of the trials are 0, 1, 2, … Accuracies are in
percent: mean ± standard deviation over the trials, and the 95 % confidence interval of the mean.

Verdicts on cells:

{cells}

With many trials the interval is narrow, so a small difference in how the paper is read is enough to leave it.

Verdicts on the paper's claims that one method is better than another:

{claims}

p is that of a one-sided two-sample t-test with pooled variance, as in the paper, and the verdict follows it; Welch's
test, which does not assume equal variances, is given beside it. All trials of a dataset share one split, so the tests
say nothing about other splits. Trials of two cells also share their seeds; if their accuracies are correlated, the
tests are conservative. They are not corrected for multiple testing.
""".format(
    cells="\n".join(f"- *{one}*: {one.meaning}." for one in _JUDGED),
    claims="\n".join(f"- *{one}*: {one.meaning}." for one in CLAIM_VERDICTS),
)


def results_page(results: Results, ensembles: Sequence[Measured] = ()) -> str:
    """``docs/results.md``, from the records of trials and those of ensembles.

    Example:
        >>> print(results_page(Results({}, {})).splitlines()[-1])  # doctest: +ELLIPSIS
        There are no results yet. ...
    """
    if not results.runs and not results.measures:
        return f"{_INTRODUCTION}\n{_NOTHING}\n"
    parts = [_INTRODUCTION, _overview(results), *(_section(table, results) for table in TABLES.values())]
    beyond = [_section(table, results) for table in BEYOND.values() if has_more_than_the_paper(table, results)]
    together = [section] if (section := ensembles_section(ensembles)) else []
    return "\n".join([*parts, _against(results), *beyond, *together, _environments(results)])


def readme_table(results: Results) -> str:
    """The generated part of the README: Table 2 of the paper, and how our means compare with the published ones.

    Example:
        >>> readme_table(Results({}, {})).splitlines()[1]  # doctest: +ELLIPSIS
        'There are no results yet. ...'
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
    about = f"Test accuracy in percent, mean ± standard deviation of {trials} trials."
    why = why_above(gaps_of(results, TABLES.values()), "[docs/paper_map.md](docs/paper_map.md)")
    parts = [f"{BEGIN}\n{markdown_table(head, rows)}", *filter(None, (about, why)), *_beyond(results)]
    return "\n\n".join(parts) + f"\n{END}"


def _beyond(results: Results) -> list[str]:
    """The best networks that are not in the paper, for the README, once some of them are measured."""
    table = BEYOND["best"]
    if not any(results.trials(cell) for cell in table.cells):
        return []
    rows = []
    for row in table.rows:
        cells = [table.at(row, column) for column in table.columns]
        lines = ["" if cell is None else _with_trials(cell, results) for cell in cells]
        if any(lines):
            rows.append([row, *lines])
    about = (
        "Beyond the paper ([Deep and accurate networks](docs/deep.md)): single networks on the same public splits, "
        "mean ± standard deviation (number of trials)."
    )
    return [about, markdown_table(["", *table.columns], rows)]


def _with_trials(cell: Cell, results: Results) -> str:
    """The mean of a cell and its number of trials; nothing if it was not measured."""
    trials = len(results.trials(cell))
    return f"{line_of(cell, results).measured} ({trials})" if trials else ""


def with_table(readme: str, results: Results) -> str:
    """The README with its generated part replaced.

    Raises:
        ValueError: If the README does not have both marks exactly once.

    Example:
        >>> with_table(f"before {BEGIN}old{END} after", Results({}, {})).startswith("before <!--")
        True
    """
    if readme.count(BEGIN) != 1 or readme.count(END) != 1:
        raise ValueError(f"the README must have the marks {BEGIN!r} and {END!r} exactly once each.")
    before, _, rest = readme.partition(BEGIN)
    return before + readme_table(results) + rest.partition(END)[2]


def _overview(results: Results) -> str:
    results = results.of(ALL.values())  # without runs of settings that no table uses any more
    results = replace(results, runs={run: trials for run, trials in results.runs.items() if trials})
    published = [cell for table in TABLES.values() for cell in table.cells if cell.published]
    verdicts = Counter(verdict_of(cell, results) for cell in published)
    of_others = Counter(verdict_of(cell, results) for cell in published if cell.system is not None)
    counts = [_counted(one, verdicts[one], of_others[one]) for one in _JUDGED if verdicts[one]]
    trials = sum(map(len, results.runs.values()))
    hours = sum(trial.seconds for run in results.runs.values() for trial in run) / 3600
    claims = Counter(claim.verdict for claim in _claims(results))
    tested = [f"{one}: {claims[one]}" for one in CLAIM_VERDICTS if claims[one] or one != Verdict.NOT_TESTED]
    return (
        f"{trials} trials of {len(results.runs)} settings, {hours:.1f} hours of one core{_clock(results)}. "
        f"{_paper_clock(results)}Verdicts on cells: {', '.join(counts) or 'none measured'}.{_gaps(results)}\n\n"
        f"Verdicts on claims: {', '.join(tested)}. Those that do not hold are "
        "[listed below](#claims-of-the-paper-that-do-not-hold-in-these-runs).\n"
    )


def _counted(verdict: Verdict, cells: int, of_others: int) -> str:
    """How many cells have a verdict, and how many of them are not our networks."""
    share = "all" if of_others == cells else of_others
    return f"{verdict}: {cells}" + (f" ({share} by systems of others)" if of_others else "")


def _clock(results: Results) -> str:
    """The elapsed time of all runs, as far as it is known."""
    times = [origin.seconds for run, origin in results.origins.items() if run in results.runs]
    known = [seconds for seconds in times if seconds is not None]
    if not known:
        return ""
    of = "" if len(known) == len(results.runs) else f" for {len(known)} of the settings"
    return f", {sum(known) / 60:.0f} minutes of elapsed training time{of}"


def _paper_clock(results: Results) -> str:
    """The elapsed time of the tables of the paper, and of that with the systems, as far as it is known."""
    whole, systems = _elapsed(TABLES.values(), results), _elapsed([TABLES["sota"]], results)
    if not whole:
        return ""
    of_systems = f", of which `sota` took {systems}" if systems else ""
    return f"The tables of the paper (`hypergnn reproduce --all`) took {whole}{of_systems}. "


def _elapsed(tables: Iterable[Table], results: Results) -> str:
    """The minutes that the runs of tables took, and how many of them are known; empty if none is."""
    runs = [job.run for job in runs_of(tables)]
    times = [results.origins.get(run, Origin()).seconds for run in runs if results.runs.get(run)]
    known = [seconds for seconds in times if seconds is not None]
    of = "" if len(known) == len(runs) else f" for {len(known)} of {len(runs)} runs"
    return f"{sum(known) / 60:.0f} minutes{of}" if known else ""


def _gaps(results: Results) -> str:
    """How far the means of our networks are from the published ones."""
    gaps = gaps_of(results, TABLES.values())
    if not gaps:
        return ""
    points = [gap.points for gap in gaps]
    ends = f"{min(points):+.2f} to {max(points):+.2f} points, {median(points):+.2f} in the median"
    why = why_above(gaps, "[paper_map.md](paper_map.md)")
    return f" Means of our networks minus the published ones: {ends}." + (f"\n\n{why}" if why else "")


def _section(table: Table, results: Results) -> str:
    parts = [f"## {table.title}\n", f"`hypergnn reproduce {table.name}`\n"]
    parts += [f"{words}\n" for words in (table.note, *remarks_of(table, results)) if words]
    parts.append(markdown_table(HEAD, rows_of(table, results)) + "\n")
    if claims := claim_rows_of(table, results):
        parts.append(markdown_table(claims_head(table), claims) + "\n")
    for one in parts_of(table, results):
        parts += [f"{one.words}\n", markdown_table(one.head, one.rows) + "\n"]
    return "\n".join(parts)


def _claims(results: Results) -> list[Claim]:
    return [claim for table in TABLES.values() for claim in claims_of(table, results)]


def _against(results: Results) -> str:
    """The claims of the paper that our trials do not support."""
    found = _claims(results)

    def listed(verdict: Verdict, p: str, of: Callable[[Claim], float | None]) -> list[str]:
        return [
            f"- {claim.table.name}: {claim.words} ({claim.test.difference:+.2f}, {p} {p_value(of(claim))})"
            for claim in found
            if claim.verdict == verdict
        ] or ["None."]

    lines = ["## Claims of the paper that do not hold in these runs\n"]
    lines += [f"Reversed: {Verdict.REVERSED.meaning}.\n"]
    lines += listed(Verdict.REVERSED, "p of the opposite order", lambda claim: claim.test.p_reverse)
    lines += [f"\nNot shown: {Verdict.NOT_SHOWN.meaning}.\n"]
    lines += listed(Verdict.NOT_SHOWN, "p", lambda claim: claim.test.p)
    return "\n".join(lines) + "\n"


def _environments(results: Results) -> str:
    lines = ["## Where it was measured\n"]
    for one in results.environments:
        known = {key: one.get(key, "unknown") for key in ("cpu", "cores", "platform", "commit")}
        names = ("hypergnn", "python", "torch", "numpy", "scipy")
        versions = ", ".join(f"{name} {one.get(name, 'unknown')}" for name in names)
        lines.append(
            f"- {known['cpu']}, {known['cores']} cores, {known['platform']}; {versions}; commit {known['commit']}"
        )
    return "\n".join(lines) + "\n"
