"""Workers run cases, many in one process; the parent notices when a case ends its worker, or never ends.

Workers are forked from a process that has imported and compiled everything, so a new one costs milliseconds. Before
each case, a worker notes its number in shared memory. Cases follow from the seed, the parser and the number, so the
parent can make the case again that killed a worker.
"""

from __future__ import annotations

import faulthandler
import os
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from random import Random
from typing import Any

from fuzz.findings import Finding
from fuzz.mutations import Case
from fuzz.parsers import PARSERS, generate

COUNTS = ("cases", "loaded", "refused", "findings")
HOLDS_INVALID = frozenset({"parquet"})  # columns of all types
_MEMORY = 4 * 2**30
"""Bytes that a worker may allocate beyond what it has when it starts."""


@dataclass(frozen=True)
class Plan:
    """What is to be run."""

    parsers: tuple[str, ...]
    seed: int
    cases: int | None
    """How many cases of each parser; ``None`` to run until the time is up."""
    findings: Path
    patience: float
    """Seconds after which a case counts as a hang."""


class Worker:
    """A process that runs every ``stride``-th case of each parser, from ``offset`` on."""

    def __init__(self, plan: Plan, corpus: dict[str, list[Case]], offset: int, stride: int) -> None:
        """Start with nothing counted."""
        self.plan, self.corpus, self.offset, self.stride = plan, corpus, offset, stride
        # The parser and the number of the running case, its start, then per parser the counts, number and seconds.
        self.state: Any = RawArray("d", 3 + (len(COUNTS) + 2) * len(plan.parsers))
        for place in range(len(plan.parsers)):
            self.state[self._at(place, len(COUNTS))] = offset
        self.folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
        self.pid = 0

    def start(self, deadline: float) -> None:
        """Fork a process that continues after the last case."""
        sys.stdout.flush()
        self.state[2] = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            code = 70
            try:
                self._run(deadline)
                code = 0
            finally:
                os._exit(code)

    def ended(self) -> str | None:
        """How its process ended: ``""`` if it is done, the kind of a finding if it was killed, ``None`` if it runs."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            return "" if status == 0 else _name(status)
        if time.monotonic() - self.state[2] < self.plan.patience:
            return None
        os.kill(self.pid, signal.SIGUSR1)  # writes the trace
        time.sleep(0.3)
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return "hang"

    def blame(self, kind: str) -> tuple[Finding, Case]:
        """The finding of the case that ended the process, and the case."""
        place, number = int(self.state[0]), int(self.state[1])
        parser = self.plan.parsers[place]
        self.state[self._at(place, COUNTS.index("findings"))] += 1
        self.state[self._at(place, len(COUNTS))] = number + self.stride
        trace = self._trace.read_text(errors="replace") if self._trace.exists() else ""
        return Finding(parser, kind, trace), case_of(self.plan.seed, parser, number, self.corpus[parser])

    def counts(self) -> dict[str, dict[str, int]]:
        """The counts of each parser."""
        return {
            parser: {count: int(self.state[self._at(place, which)]) for which, count in enumerate(COUNTS)}
            for place, parser in enumerate(self.plan.parsers)
        }

    def close(self) -> None:
        """Remove its folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _trace(self) -> Path:
        return self.folder / "trace"

    def _at(self, place: int, which: int) -> int:
        return 3 + place * (len(COUNTS) + 2) + which

    def _run(self, deadline: float) -> None:
        with open(self._trace, "w") as trace:
            faulthandler.enable(trace, all_threads=False)
            faulthandler.register(signal.SIGUSR1, trace, all_threads=False)
            _limit_memory()
            warnings.simplefilter("ignore")
            for place, number in self._schedule(deadline):
                start = time.monotonic()
                self.state[0], self.state[1], self.state[2] = place, number, start
                self._one(place, number)
                self.state[self._at(place, len(COUNTS))] = number + self.stride
                self.state[self._at(place, len(COUNTS) + 1)] += time.monotonic() - start

    def _schedule(self, deadline: float) -> Iterator[tuple[int, int]]:
        """The next case: of the parser with the fewest cases if their number is set, else with the least time."""
        while time.monotonic() < deadline:
            last = 0 if self.plan.cases is not None else 1
            place = min(range(len(self.plan.parsers)), key=lambda one: self.state[self._at(one, len(COUNTS) + last)])
            number = int(self.state[self._at(place, len(COUNTS))])
            if self.plan.cases is not None and number >= self.plan.cases:
                return
            yield place, number

    def _one(self, place: int, number: int) -> None:
        parser = self.plan.parsers[place]
        case = case_of(self.plan.seed, parser, number, self.corpus[parser])
        self.state[self._at(place, 0)] += 1
        try:
            loaded = run_case(parser, case, self.folder / "case")
        except BaseException as error:
            self.state[self._at(place, COUNTS.index("findings"))] += 1
            Finding.of(parser, error).store(self.plan.findings, case)
        else:
            self.state[self._at(place, COUNTS.index("loaded" if loaded else "refused"))] += 1


def case_of(seed: int, parser: str, number: int, corpus: list[Case]) -> Case:
    """The case of that number, always the same; the first ones are valid."""
    if number < len(corpus):
        return corpus[number]
    return generate(PARSERS[parser], corpus, Random(f"{seed} {parser} {number}"))


def load_valid(parser: str) -> list[Case]:
    """The valid cases of a parser. All are used once, which compiles what they need; an invalid one is an error."""
    corpus = PARSERS[parser].valid()
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(corpus):
            loaded = run_case(parser, case, Path(folder) / "case")
            if not loaded and parser not in HOLDS_INVALID:
                raise ValueError(f"valid cases must load; number {number} of {parser} does not.")
    return corpus


def run_case(parser: str, case: Case, folder: Path) -> bool:
    """Whether the case loads; what loads is used. Raises what must not happen.

    Args:
        parser: Its name.
        case: The files.
        folder: Where to write them. It is made new, because files that are mapped must not be written into.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in case.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    try:
        use = PARSERS[parser].load(folder)
    except PARSERS[parser].refusals:
        return False
    use()
    return True


def _name(status: int) -> str:
    return signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit-{os.WEXITSTATUS(status)}"


def _limit_memory() -> None:
    """Let huge allocations fail instead of filling the machine."""
    import resource

    import psutil

    limit = psutil.Process().memory_info().vms + _MEMORY
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
