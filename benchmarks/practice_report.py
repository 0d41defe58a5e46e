"""The table, the summary and the plot of ``benchmarks.practice``, from its results."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "practice.json"
PLOT = ROOT / "docs" / "images" / "practice.svg"
OURS = "HypergraphClassifier"
OTHERS = (
    "logistic regression",
    "naive Bayes",
    "random forest",
    "gradient boosting",
    "kNN",
    "LabelSpreading",
    "self-training",
)
_STYLE: Any = {"svg.hashsalt": "practice", "svg.fonttype": "none", "font.size": 9}


def accuracies(cells: dict[str, Any], name: str) -> list[float]:
    """Accuracy of each draw of the labels; of two forms of a classifier, with and without memberships, the better."""
    forms = [[seed["accuracy"] for seed in cells[form]] for form in cells if form.partition(",")[0] == name]
    return max(forms, key=mean)


def best_other(cells: dict[str, Any]) -> str:
    """The classifier that is best in a case, apart from ours."""
    return max(OTHERS, key=lambda name: mean(accuracies(cells, name)))


def difference(cells: dict[str, Any], name: str) -> tuple[float, float]:
    """Ours minus another, over the same draws of the labels: mean and standard error."""
    pairs = zip(accuracies(cells, OURS), accuracies(cells, name), strict=True)
    each = [ours - other for ours, other in pairs]
    return mean(each), stdev(each) / len(each) ** 0.5


def sections(results: dict[str, Any]) -> dict[str, str]:
    """The parts of the page."""
    found = results["found"]
    return {
        "practice_table": _table(results),
        "practice_summary": _summary(results),
        "practice_seeds": str(len(next(iter(found.values()))[OURS])),
        "practice_cases": str(len(found)),
        "practice_aside": str(len(results["aside"])),
    }


def _table(results: dict[str, Any]) -> str:
    head = ["case", "hyperedges", OURS, *OTHERS, "gain by structure"]
    rows = [head, ["---"] * len(head)]
    for case, cells in results["found"].items():
        means = [mean(accuracies(cells, name)) for name in (OURS, *OTHERS)]
        texts = [f"**{value:.1f}**" if value >= max(means) else f"{value:.1f}" for value in means]
        gain = mean(100 * seed["structure_gain"] for seed in cells[OURS])
        mark = " \\*" if case in results["aside"] else ""
        rows.append([case + mark, results["kinds"][case], *texts, f"{gain:+.1f}"])
    for title, cases in _halves(results).items():
        rows.append([f"mean, {title}", "", *(f"{_mean(results, name, cases):.1f}" for name in (OURS, *OTHERS)), ""])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _halves(results: dict[str, Any]) -> dict[str, list[str]]:
    aside = [case for case in results["found"] if case in results["aside"]]
    developed = [case for case in results["found"] if case not in results["aside"]]
    return {"developed on": developed, "put aside \\*": aside, "all": list(results["found"])}


def _mean(results: dict[str, Any], name: str, cases: list[str]) -> float:
    return mean(mean(accuracies(results["found"][case], name)) for case in cases)


def _summary(results: dict[str, Any]) -> str:
    found = results["found"]
    cases = list(found)
    ranked = sorted((OURS, *OTHERS), key=lambda name: -_mean(results, name, cases))
    rival = next(name for name in ranked if name != OURS)
    gaps = {case: difference(cells, best_other(cells)) for case, cells in found.items()}
    worst = min(gaps, key=lambda case: gaps[case][0])
    behind = [case for case, (gap, _) in gaps.items() if gap < -2]
    clear = [case for case in behind if gaps[case][0] + 2 * gaps[case][1] < -2]
    overall = mean(gap for gap, _ in gaps.values())
    aside = [gaps[case][0] for case in results["aside"] if case in gaps]
    return (
        f"{OURS} ranks {ranked.index(OURS) + 1} of {len(ranked)} by the mean over all cases, "
        f"{_mean(results, OURS, cases):.1f} % against {_mean(results, rival, cases):.1f} % of {rival}. Compared with "
        f"the best of the others in each case, which nobody knows beforehand, it is {overall:+.1f} "
        f"points ahead on average ({mean(aside):+.1f} in the cases that were put aside) and at least as good in "
        f"{sum(gap >= 0 for gap, _ in gaps.values())} of {len(gaps)}. "
        f"It is more than 2 points behind in {len(behind)} of them, in {len(clear)} beyond two standard errors; "
        f"the largest difference is {gaps[worst][0]:.1f} ± {gaps[worst][1]:.1f} points ({worst})."
    )


def plot(results: dict[str, Any]) -> bytes:
    """How far ours is from the best other classifier in each case, as an SVG."""
    found = results["found"]
    gaps = sorted((*difference(cells, best_other(cells)), case) for case, cells in found.items())
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(7, 0.22 * len(gaps) + 0.8), layout="constrained")
        axes = figure.subplots()
        colours = ["tab:orange" if case in results["aside"] else "tab:blue" for _, _, case in gaps]
        axes.barh(range(len(gaps)), [gap for gap, _, _ in gaps], xerr=[error for _, error, _ in gaps], color=colours)
        axes.set_yticks(range(len(gaps)), [f"{case} ({best_other(found[case])})" for _, _, case in gaps])
        axes.axvline(0, color="black", linewidth=0.8)
        axes.axvline(-2, color="black", linewidth=0.8, linestyle=":")
        axes.set_xlabel("percentage points ahead of the best other classifier (named); orange: put aside")
        file = BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return b"\n".join(line.rstrip() for line in file.getvalue().splitlines()) + b"\n"
