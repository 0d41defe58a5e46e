"""HypergraphClassifier against scikit-learn on few labels: ``python -m benchmarks.estimators``."""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean, stdev
from string import Template
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.semi_supervised import LabelPropagation, LabelSpreading

import hypergnn as hg
from benchmarks import practice_report
from benchmarks.machine import describe
from hypergnn.persistence.files import write_atomic

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "estimators.json"
PAGE = ROOT / "docs" / "estimators.md"
TEMPLATE = Path(__file__).parent / "estimators.md.in"

DATASETS = {"digits": load_digits, "wine": load_wine, "breast cancer": load_breast_cancer}
LABELS = (5, 10, 20)
SPLITS = 20
OURS = 'HypergraphClassifier("hyper-conv")'

Array = npt.NDArray[Any]
Make = Callable[[int], Any]

SEMI_SUPERVISED: dict[str, Make] = {
    "LabelSpreading, kNN": lambda _: LabelSpreading(kernel="knn"),
    "LabelSpreading, rbf": lambda _: LabelSpreading(kernel="rbf"),
    "LabelPropagation, kNN": lambda _: LabelPropagation(kernel="knn"),
    "LabelPropagation, rbf": lambda _: LabelPropagation(kernel="rbf"),
}
SUPERVISED: dict[str, Make] = {
    "logistic regression": lambda _: LogisticRegression(max_iter=1000),
    "kNN classifier": lambda _: KNeighborsClassifier(),
    "random forest": lambda seed: RandomForestClassifier(random_state=seed),
}
SCALERS = {"standardised": StandardScaler, "range 0 to 1": MinMaxScaler}


def few_labels(y: Array, per_class: int, seed: int) -> Array:
    """The labels of ``per_class`` rows of each class, and -1 for all other rows.

    Example:
        >>> few_labels(np.array([0, 0, 1, 1]), 1, seed=0).tolist()
        [-1, 0, -1, 1]
    """
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(np.flatnonzero(y == one), per_class, replace=False) for one in np.unique(y)]
    labelled = np.concatenate(chosen)
    few = np.full_like(y, -1)
    few[labelled] = y[labelled]
    return few


def contestants(X: Array) -> Iterator[tuple[str, Array, Make]]:
    """Yield the name, input and constructor of each: ours scales itself, forests need no scaling, others get both."""
    yield OURS, X, lambda seed: hg.HypergraphClassifier("hyper-conv", random_state=seed)
    for scale, scaler in SCALERS.items():
        scaled = scaler().fit_transform(X)
        for name, make in {**SEMI_SUPERVISED, **SUPERVISED}.items():
            if name != "random forest":
                yield f"{name}; {scale}", scaled, make
    yield "random forest", X, SUPERVISED["random forest"]


def judge(name: str, X: Array, y: Array, few: Array, make: Make, seed: int) -> tuple[float, float]:
    """Accuracy on the unlabelled rows in percent, and seconds of CPU time to fit and predict."""
    hidden, model = few < 0, make(seed)
    start = time.process_time()
    if name == OURS or name.partition(";")[0] in SEMI_SUPERVISED:
        predicted = model.fit(X, few).transduction_[hidden]
    else:
        predicted = model.fit(X[~hidden], few[~hidden]).predict(X[hidden])
    return 100 * float((predicted == y[hidden]).mean()), time.process_time() - start


def measure(splits: int, labels: Sequence[int], say: Callable[[str], None]) -> dict[str, Any]:
    """Evaluate every classifier on every dataset, number of labels and split."""
    found: dict[str, Any] = {}
    X, y = load_wine(return_X_y=True)
    for name, inputs, make in contestants(X):  # the first call loads and compiles
        judge(name, inputs, y, few_labels(y, 5, seed=0), make, seed=0)
    for dataset, load in DATASETS.items():
        X, y = load(return_X_y=True)
        for per_class in labels:
            for name, inputs, make in contestants(X):
                pairs = [judge(name, inputs, y, few_labels(y, per_class, seed), make, seed) for seed in range(splits)]
                accuracy, seconds = (list(column) for column in zip(*pairs, strict=True))
                one = {"accuracy": [round(value, 3) for value in accuracy], "seconds": float(f"{mean(seconds):.3g}")}
                found.setdefault(name, {}).setdefault(dataset, {})[str(per_class)] = one
            say(f"{dataset}, {per_class} per class")
    return found


def page(results: dict[str, Any], practice: dict[str, Any]) -> str:
    """The text of ``docs/estimators.md``, from the results of this benchmark and of ``benchmarks.practice``."""
    found = results["found"]
    ranked = sorted(found, key=lambda name: -_overall(found[name]))
    columns = [(dataset, per_class) for dataset in DATASETS for per_class in map(str, results["labels"])]
    head = ["classifier", *[f"{dataset}, {per_class}" for dataset, per_class in columns], "mean", "seconds"]
    table = [_row(head), _row(["---"] * len(head))]
    for name in ranked:
        cells = [found[name][dataset][per_class] for dataset, per_class in columns]
        best = [
            max(mean(one[dataset][per_class]["accuracy"]) for one in found.values()) for dataset, per_class in columns
        ]
        texts = [_cell(cell["accuracy"], top) for cell, top in zip(cells, best, strict=True)]
        seconds = mean(cell["seconds"] for cell in cells)
        table.append(_row([name, *texts, f"{_overall(found[name]):.1f}", f"{seconds:.2g}"]))
    wins = sum(
        mean(found[OURS][dataset][per_class]["accuracy"])
        >= max(mean(one[dataset][per_class]["accuracy"]) for one in found.values())
        for dataset, per_class in columns
    )
    rival = next(name for name in ranked if name != OURS)
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        table="\n".join(table),
        splits=results["splits"],
        last=results["splits"] - 1,
        ours=f"{_overall(found[OURS]):.1f}",
        place=ranked.index(OURS) + 1,
        contestants=len(ranked),
        wins=wins,
        cells=len(columns),
        rival=rival,
        theirs=f"{_overall(found[rival]):.1f}",
        cpu=results["machine"]["cpu"],
        sklearn=results["sklearn"],
        **practice_report.sections(practice),
    )


def _overall(one: dict[str, Any]) -> float:
    return mean(mean(map(float, cell["accuracy"])) for by_labels in one.values() for cell in by_labels.values())


def _cell(accuracy: Sequence[float], top: float) -> str:
    text = f"{mean(accuracy):.1f} ± {stdev(accuracy) if len(accuracy) > 1 else 0.0:.1f}"
    return f"**{text}**" if mean(accuracy) >= top else text


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main(arguments: list[str] | None = None) -> int:
    """Measure, unless ``--page`` is given, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.estimators", description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the page from the stored results, without measuring")
    if not parser.parse_args(arguments).page:
        import sklearn

        torch.set_num_threads(1)
        start = time.monotonic()
        warnings.filterwarnings("ignore", message="max_iter=1000 was reached")
        with np.errstate(invalid="ignore", divide="ignore"):
            found = measure(
                SPLITS, LABELS, lambda text: print(f"{time.monotonic() - start:4.0f} s  {text}", file=sys.stderr)
            )
        results = {"machine": describe(1), "sklearn": sklearn.__version__, "splits": SPLITS, "labels": list(LABELS)}
        write_atomic(RESULTS, (json.dumps({**results, "found": found}, indent=1) + "\n").encode())
    practice = json.loads(practice_report.RESULTS.read_text(encoding="utf-8"))
    write_atomic(PAGE, page(json.loads(RESULTS.read_text(encoding="utf-8")), practice).encode())
    write_atomic(practice_report.PLOT, practice_report.plot(practice))
    print(f"written: {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
