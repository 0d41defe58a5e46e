"""Run a system under the protocol: seeds 0, 1, 2, …, a record per trial, and what each trial cost."""

from __future__ import annotations

import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import IO, Any, cast

import numpy as np
import torch

from hypergnn._utils.checks import check_size, check_trials
from hypergnn.datasets import Dataset
from hypergnn.experiments.identity import folder_of, identity_of
from hypergnn.experiments.systems.base import Probabilities, System
from hypergnn.experiments.systems.worker import described
from hypergnn.training import Failure, Progress, Result, TrialRecord
from hypergnn.training.description import describe_data
from hypergnn.training.ledger import Ledger

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from hypergnn.experiments.systems.worker import main; main()"
)
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
_BETWEEN = 0.25
"""Seconds between two reports of progress."""
_GRACE = 2.0
"""Seconds for the answers of a process that has ended, if another process holds its pipe."""
LIMIT = 6 * 3600.0
"""Seconds that a trial may take, unless its system has another ``time_limit``."""

_Answer = tuple[int, dict[str, Any], Probabilities | None]
"""A seed, what its trial cost or what went wrong, and the probabilities."""


def fit(
    system: System,
    data: Dataset,
    *,
    trials: int,
    out: str | os.PathLike[str],
    jobs: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Fit a system with the seeds 0, 1, 2, …, and record the accuracy and the cost of each trial in a run folder.

    Each worker is a fresh process with one thread, so that a system that crashes harms no other, and its processor time
    and its memory are its own. The labels of vertices that are neither for training nor for validation are hidden: a
    test vertex has class 0 in what the system sees, any other one -1. After the first trial that fails, the run ends;
    the next call tries it again. A trial that takes longer than :data:`LIMIT`, or than the attribute ``time_limit`` of
    the system, in seconds, fails. Processes that a system starts end with its own.

    Args:
        system: The system, of a class that can be imported.
        data: The dataset.
        trials: The number of trials; 1 for a system that is deterministic.
        out: Run folder. Trials recorded in it are not run again.
        jobs: Number of workers; ``torch.get_num_threads()`` if omitted.
        on_progress: Called several times a second and after each finished trial, in this thread.

    Returns:
        The records, and the trial that failed, if one did, in ``failures``.
    """
    check_trials(trials)
    jobs = check_size("jobs", torch.get_num_threads() if jobs is None else jobs, minimum=1)
    failures: list[Failure] = []
    interrupted = False
    with Ledger.open(out, {"data": describe_data(data), "system": identity_of(system)}) as ledger:
        missing = ledger.missing(range(trials))

        def report(running: int) -> None:
            if on_progress is not None:
                done = [one for one in ledger.records if one.seed < trials]
                accuracies, epochs = tuple(one.test_accuracy for one in done), tuple(one.epochs for one in done)
                on_progress(Progress(len(done), trials, running, 0, accuracies, epochs))

        try:
            report(len(missing[:jobs]))
            with closing(_answers(system, _hidden(data), missing, jobs)) as answers:
                for answer in answers:
                    if isinstance(answer, Failure):
                        failures.append(answer)
                        break
                    if isinstance(answer, tuple):
                        ledger.append(_record(answer, data))
                    report(min(jobs, len(ledger.missing(missing))))
        except KeyboardInterrupt:
            interrupted = True
    return Result([one for one in ledger.records if one.seed < trials], interrupted, tuple(failures))


def _hidden(data: Dataset) -> Dataset:
    """The data as a system sees it, without the labels that it must not use."""
    y = np.full_like(data.y, -1)
    known = np.concatenate([data.train, data.val])
    y[known] = data.y[known]
    y[data.test] = 0  # a dataset must have a label there
    return replace(data, y=y)


def _record(answer: _Answer, data: Dataset) -> TrialRecord:
    seed, cost, probabilities = answer
    right = np.asarray(probabilities).argmax(axis=1) == data.y
    parts = {"train": data.train, "val": data.val, "test": data.test}
    accuracy = {f"{name}_accuracy": 100 * float(right[ids].mean()) for name, ids in parts.items() if ids.size}
    spent = {name: round(cost[name], 3) for name in ("seconds", "cpu_seconds", "peak_megabytes")}
    return TrialRecord(seed=seed, epochs=0, best_epoch=0, **spent, **accuracy)


def _answers(
    system: System, data: Dataset, missing: Sequence[int], jobs: int
) -> Generator[_Answer | Failure | None, None, None]:
    """The trial of each seed as it ends; ``None`` now and then, and a failure as the last."""
    if not missing:
        return
    try:
        task = pickle.dumps((system, data))
    except Exception as error:
        yield Failure(missing[0], f"could not be sent to a process of its own: {error}")
        return
    seeds: queue.SimpleQueue[int] = queue.SimpleQueue()
    for seed in missing:
        seeds.put(seed)
    found: queue.SimpleQueue[_Answer | Failure] = queue.SimpleQueue()
    workers: list[_Worker] = []
    try:
        for _ in range(min(jobs, len(missing))):
            workers.append(_Worker(type(system), task, seeds, found, getattr(system, "time_limit", LIMIT)))
            workers[-1].start()
        for _ in missing:
            while True:
                try:
                    yield found.get(timeout=_BETWEEN)
                    break
                except queue.Empty:
                    yield next((why for worker in workers if (why := worker.why_silent()) is not None), None)
    finally:
        for worker in workers:
            worker.stop()


def failure_in(head: Mapping[str, Any], seed: int) -> Failure | None:
    """The failure that an answer of the worker tells of; ``None`` if the trial has succeeded.

    Example:
        >>> failure_in({"inapplicable": "it needs links."}, seed=0).inapplicable
        'it needs links.'
    """
    if "inapplicable" in head:
        return Failure(seed, f"does not apply: {head['inapplicable']}", inapplicable=head["inapplicable"])
    return Failure(seed, head["error"]) if "error" in head else None


class _Worker(threading.Thread):
    """A process that fits a system, and the thread that gives it one seed after the other."""

    def __init__(
        self,
        kind: type,
        task: bytes,
        seeds: queue.SimpleQueue[int],
        found: queue.SimpleQueue[_Answer | Failure],
        limit: float,
    ) -> None:
        super().__init__(daemon=True)
        self.task, self.seeds, self.found, self.limit = task, seeds, found, limit
        self.trial: tuple[int, float] | None = None  # the seed that it works on, and since when
        self.ended: float | None = None  # when the process was first seen to have ended
        folder = folder_of(kind)
        path = [folder] * (folder is not None and folder not in sys.path) + sys.path
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("HYPERGNN_TRACEBACK") else subprocess.DEVNULL,
            env={**os.environ, **_ONE_THREAD, "PYTHONHASHSEED": "0"},
            start_new_session=True,  # an interrupt is for the parent
        )
        self.input, self.output = cast(IO[bytes], self.process.stdin), cast(IO[bytes], self.process.stdout)

    def run(self) -> None:
        """Give the process one seed after the other, until there is none left or a trial fails."""
        try:
            self._work()
        finally:
            for pipe in (self.input, self.output):
                with suppress(OSError):  # what was not sent
                    pipe.close()

    def _work(self) -> None:
        to_send = self.task
        while True:
            try:
                seed = self.seeds.get_nowait()
            except queue.Empty:
                return
            self.trial = seed, time.monotonic()
            with suppress(OSError):  # the process has ended, perhaps with an answer
                self.input.write(to_send + b"%d\n" % seed)
                self.input.flush()
            try:
                answer = self._read(seed)
            except Exception as error:  # whatever it is: without an answer, the run would wait for ever
                answer = Failure(seed, f"sent something that is no answer: {described(error)}")
            self.found.put(answer)
            self.trial = None
            if isinstance(answer, Failure):
                return
            to_send = b""

    def why_silent(self) -> Failure | None:
        """Why no answer is to be expected any more; ``None`` while there may be one.

        A process that the system has started may hold the pipe, so that its end does not show that the process of the
        system has ended.
        """
        trial, now = self.trial, time.monotonic()
        if trial is None:
            return None
        seed, since = trial
        if self.process.poll() is not None:
            self.ended = now if self.ended is None else self.ended
            self._kill()
            return self._lost(seed) if now > self.ended + _GRACE else None
        if now > since + self.limit:
            return Failure(seed, f"gave no answer in {self.limit:g} seconds, its time_limit")
        return None

    def stop(self) -> None:
        """End the process and those that it has started; finished trials were recorded, others can be run again."""
        self._kill()
        self.process.wait()
        self.join(_GRACE)  # no longer: a process of another session may hold the pipe that it reads

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):  # all have ended
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()

    def _read(self, seed: int) -> _Answer | Failure:
        line = self.output.readline()
        if not line.endswith(b"\n"):
            return self._lost(seed)
        head = json.loads(line)
        if (failure := failure_in(head, seed)) is not None:
            return failure
        shape = tuple(head.pop("shape"))
        body = self.output.read(8 * shape[0] * shape[1])
        if len(body) < 8 * shape[0] * shape[1]:
            return self._lost(seed)
        return seed, head, np.frombuffer(body, dtype=np.float64).reshape(shape)

    def _lost(self, seed: int) -> Failure:
        try:
            code = self.process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            return Failure(seed, "closed the pipe for its answers")
        if code >= 0:
            return Failure(seed, f"ended its process with exit code {code}", code)
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        short = ", probably for lack of memory" if name == "SIGKILL" else ""
        return Failure(seed, f"lost its process by {name}{short}", code)
