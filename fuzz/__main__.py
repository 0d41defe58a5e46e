"""The command line: ``python -m fuzz``."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
from math import inf
from pathlib import Path
from typing import Any

FINDINGS = Path("fuzz-findings")


def main(arguments: list[str] | None = None) -> int:
    """Fuzz, or run a finding again. The exit code is 1 if there are findings."""
    options = _parse(arguments)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported: a forked worker has no threads
    import torch

    from fuzz.parsers import PARSERS

    torch.set_num_threads(1)
    logging.disable()
    unknown = [name for name in options.parsers if name not in PARSERS]
    if unknown:
        print(f"parsers must be some of {', '.join(PARSERS)}; got {unknown[0]!r}.", file=sys.stderr)
        return 2
    if options.replay is not None:
        return _replay(options.replay)
    return _fuzz(options, tuple(options.parsers or PARSERS))


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Fuzz every parser of hypergnn.")
    parser.add_argument("parsers", nargs="*", metavar="PARSER", help="which parsers (default: all)")
    parser.add_argument("--seconds", type=float, default=600, help="how long (default: %(default)s)")
    parser.add_argument("--cases", type=int, help="run this many cases of each parser instead; always the same ones")
    parser.add_argument("--seed", type=int, help="another sequence of cases (default: drawn from the time)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: %(default)s)")
    parser.add_argument(
        "--patience", type=float, default=20, help="seconds before a case is a hang (default: %(default)s)"
    )
    parser.add_argument("--findings", type=Path, default=FINDINGS, help="folder for findings (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="write the counts to this file")
    parser.add_argument("--replay", type=Path, metavar="FOLDER", help="run a stored finding again, in this process")
    return parser.parse_args(arguments)


def _fuzz(options: argparse.Namespace, names: tuple[str, ...]) -> int:
    from fuzz.workers import Plan, Worker, load_valid

    seed = time.time_ns() % 10**9 if options.seed is None else options.seed
    plan = Plan(names, seed, options.cases, options.findings, options.patience)
    corpus = {name: load_valid(name) for name in names}
    start = time.monotonic()
    deadline = inf if options.cases is not None else start + options.seconds
    workers = [Worker(plan, corpus, offset, options.workers) for offset in range(options.workers)]
    try:
        _supervise(workers, plan, deadline)
    finally:
        for worker in workers:
            worker.close()
    totals = {
        name: {count: sum(worker.counts()[name][count] for worker in workers) for count in workers[0].counts()[name]}
        for name in names
    }
    report = {
        "seed": seed,
        "seconds": round(time.monotonic() - start, 1),
        "workers": options.workers,
        "parsers": totals,
    }
    _show(report, plan.findings)
    if options.json is not None:
        options.json.write_text(json.dumps(report | {"findings": _stored(plan.findings)}, indent=2) + "\n")
    return 1 if any(one["findings"] for one in totals.values()) else 0


def _supervise(workers: list[Any], plan: Any, deadline: float) -> None:
    """Run the workers to the end, and replace those that a case has killed."""
    running = list(workers)
    for worker in workers:
        worker.start(deadline)
    while running:
        for worker in list(running):
            end = worker.ended()
            if end == "":
                running.remove(worker)
            elif end is not None:
                finding, case = worker.blame(end)
                if (home := finding.store(plan.findings, case)) is not None:
                    print(f"{finding.parser}: {end}, stored in {home}", flush=True)
                worker.start(deadline)
        time.sleep(0.02)


def _stored(folder: Path) -> list[dict[str, str]]:
    """The stored findings, without their traces."""
    from fuzz.findings import ABOUT

    found = [json.loads(path.read_text()) | {"folder": path.parent.name} for path in sorted(folder.glob(f"*/{ABOUT}"))]
    return [{key: one[key] for key in ("parser", "kind", "folder")} for one in found]


def _show(report: dict[str, Any], findings: Path) -> None:
    print(f"{'parser':12}{'cases':>10}{'loaded':>10}{'refused':>10}{'findings':>10}")
    for name, counts in report["parsers"].items():
        print(f"{name:12}" + "".join(f"{count:>10}" for count in counts.values()))
    print(f"seed {report['seed']}, {report['workers']} workers, {report['seconds']} s")
    for one in _stored(findings):
        print(f"{one['parser']}: {one['kind']}; run it again with: python -m fuzz --replay {findings / one['folder']}")


def _replay(folder: Path) -> int:
    from fuzz.findings import ABOUT
    from fuzz.workers import run_case

    about, home = json.loads((folder / ABOUT).read_text()), folder / "case"
    case = {path.relative_to(home).as_posix(): path.read_bytes() for path in home.rglob("*") if path.is_file()}
    loaded = run_case(about["parser"], case, folder / "replayed")
    print("loaded, and all operators work" if loaded else "refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
