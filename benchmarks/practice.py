"""The default of HypergraphClassifier against plain scikit-learn on real data: ``python -m benchmarks.practice``."""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

import hypergnn as hg
from benchmarks.machine import describe
from benchmarks.practice_cases import CASES, Case, Share, has_class, known_labels, put_aside
from benchmarks.practice_data import Data
from benchmarks.practice_report import OURS, RESULTS
from benchmarks.practice_rivals import rivals
from hypergnn.persistence.files import write_atomic

SEEDS = 5


def column(case: Case, share: Share) -> str:
    """The name of a case with a share of labels.

    Example:
        >>> column(CASES[0], 2), column(CASES[0], 0.5)
        ('digits, 2 per class', 'digits, 50 %')
    """
    return f"{case.name}, {share} per class" if isinstance(share, int) else f"{case.name}, {100 * share:.0f} %"


def judge_ours(data: Data, known: Any, seed: int, settings: dict[str, Any]) -> dict[str, float]:
    """Accuracy of the default on the unlabelled rows in percent, its seconds and what it says the structure adds."""
    few = np.array(data.y, dtype=object)
    few[~known] = None
    given = {} if data.hypergraph is None else {"hypergraph": data.hypergraph}
    model = hg.HypergraphClassifier(construct=data.construct, random_state=seed, **settings)
    start = time.perf_counter()
    model.fit(data.X, few, **given)
    seconds = time.perf_counter() - start
    hidden = has_class(data.y) & ~known
    right = 100 * float((model.transduction_ == data.y)[hidden].mean())
    gain = getattr(model, "structure_gain_", None)
    return {"accuracy": right, "seconds": seconds, **({} if gain is None else {"structure_gain": float(gain)})}


def judge_rival(x: Any, y: Any, known: Any, model: Any, sees_all: bool) -> dict[str, float]:
    """Accuracy of a scikit-learn classifier on the unlabelled rows in percent, and its seconds."""
    hidden = has_class(y) & ~known
    _, codes = np.unique(y, return_inverse=True)
    start = time.perf_counter()
    if sees_all:
        model.fit(x, np.where(known, codes, -1))
    else:
        model.fit(x[np.flatnonzero(known)], codes[known])
    found = model.predict(x[np.flatnonzero(hidden)])
    return {"accuracy": 100 * float((found == codes[hidden]).mean()), "seconds": time.perf_counter() - start}


def measure(case: Case, seeds: int, found: dict[str, Any], *, ours: bool, others: bool) -> None:
    """Evaluate on every share and draw of labels; add to what was found."""
    data = case.load()
    for share in case.shares:
        cells = found.setdefault(column(case, share), {})
        contestants = list(rivals(data)) if others else []
        for name in ([OURS] if ours else []) + [one[0] for one in contestants]:
            cells[name] = []
        for seed in range(seeds):
            known = known_labels(data.y, share, seed)
            if ours:
                cells[OURS].append(judge_ours(data, known, seed, {}))
            for name, x, make, sees_all in contestants:
                cells[name].append(judge_rival(x, data.y, known, make(seed), sees_all))


def main(arguments: list[str] | None = None) -> int:
    """Measure the chosen cases and write each to the file as soon as it is finished."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.practice", description=__doc__)
    names = [case.name for case in CASES]
    parser.add_argument("--cases", nargs="+", choices=names, metavar="CASE", help=", ".join(names))
    parser.add_argument("--half", choices=["developed", "aside"], help="only the cases of one half")
    parser.add_argument("--only", choices=["ours", "others"], help="evaluate one side, and keep the stored other one")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"draws of the labels, default {SEEDS}")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FILE")
    options = parser.parse_args(arguments)
    aside = put_aside()
    chosen = [
        case
        for case in CASES
        if (not options.cases or case.name in options.cases)
        and (options.half is None or (case.name in aside) == (options.half == "aside"))
    ]
    results = json.loads(options.out.read_text()) if options.out.exists() else {"found": {}}
    results |= {"machine": describe(1), "sklearn": sklearn.__version__}
    results["aside"] = sorted(column(case, share) for case in CASES if case.name in aside for share in case.shares)
    results["kinds"] = {column(case, share): case.kind for case in CASES for share in case.shares}
    for case in chosen:
        start = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            measure(case, options.seeds, results["found"], ours=options.only != "others", others=options.only != "ours")
        write_atomic(options.out, (json.dumps(_rounded(results), indent=1) + "\n").encode())
        print(f"{time.monotonic() - start:5.0f} s  {case.name}", file=sys.stderr, flush=True)
    return 0


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list) else value


if __name__ == "__main__":
    sys.exit(main())
