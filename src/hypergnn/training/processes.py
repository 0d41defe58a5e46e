"""Workers that are forked processes. One that dies or stops answering is noticed, and nothing waits for it.

- Messages are read as far as they have arrived, so a worker that stops within a message blocks nobody.
- The end of a worker is seen from its process, not only from its connection: other processes forked meanwhile, by
  this package or by the user, may have inherited a copy of the connection, which then never closes.
- A worker that sends nothing and uses no processor time for a minute is stopped or deadlocked. It is killed.
- Workers die with the thread that started them, whatever ends it, even while they are stopped.
"""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import pickle
import signal
import socket
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import wait
from multiprocessing.reduction import ForkingPickler
from typing import Any

import psutil
import torch

from hypergnn.models import Config
from hypergnn.training.allocator import keep_freed_memory
from hypergnn.training.engine import Trial
from hypergnn.training.plan import Plan
from hypergnn.training.schedule import Loss
from hypergnn.training.teams import CHECK, Team, Worker
from hypergnn.training.worker import work

SILENT_CHECKS = 60
"""Checks in a row, one per second, after which a worker without any sign of life is killed."""
_PATIENCE = 60.0  # seconds to wait for a process that was killed, or for one to take a batch
_CHUNK = 1 << 20
_SIZE = 8  # bytes of the length before each message
_PR_SET_PDEATHSIG = 1
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_CRASHES = ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGSYS")

_ends: weakref.WeakSet[socket.socket] = weakref.WeakSet()  # the ends of this process, which no worker may hold
_forking = threading.Lock()  # so that no other worker is forked while this process has both ends of a connection


def _start_afresh() -> None:
    """In any forked child: give up the connections of the parent, and a lock that a missing thread may hold."""
    global _forking
    _forking = threading.Lock()
    for end in list(_ends):
        end.close()
    _ends.clear()


os.register_at_fork(after_in_child=_start_afresh)


class Processes(Team):
    """Workers that are forked processes."""

    def _start(self) -> _Process:
        with _forking:
            near, far = socket.socketpair()
            _ends.add(near)
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # until the child ignores them
            try:
                worker = _Process(near, far, self.plan, self.config)
                self.workers.append(worker)
            except BaseException:
                near.close()
                raise
            finally:
                far.close()
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        return worker

    def receive(self) -> Iterator[tuple[_Process, Any]]:
        """Wait until a worker sends a message or ends; check the workers that do neither."""
        watched = {end: worker for worker in self.workers for end in (worker.connection, worker.end)}
        ready = {watched[end] for end in wait(list(watched), CHECK)}
        for worker in list(self.workers):
            loss = None
            if worker in ready:
                for message in worker.messages():
                    yield worker, message
                loss = worker.loss
            elif worker.is_busy and worker.is_silent():
                loss = Loss(f"sent nothing and used no processor time for {SILENT_CHECKS * CHECK:g} seconds")
            if loss is not None and worker in self.workers:
                self.dismiss(worker)
                yield worker, loss


class _Process(Worker):
    """A forked process and the connection to it."""

    def __init__(self, near: socket.socket, far: socket.socket, plan: Plan, config: Config) -> None:
        self.seeds = []
        self.connection = near
        near.settimeout(_PATIENCE)
        self.process = multiprocessing.get_context("fork").Process(
            target=_run, args=(far, plan, config, os.getpid()), daemon=True
        )
        with warnings.catch_warnings():  # of forking with other threads: the child uses none of them
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process.start()
        self.pid = self.process.pid or 0
        self.end = _pidfd(self.pid) or self.process.sentinel
        self.loss: Loss | None = None
        self._arrived = bytearray()
        self._checked, self._silent, self._used = time.monotonic(), 0, 0.0

    def _send(self, batch: list[int]) -> None:
        with suppress(OSError):
            self.connection.sendall(f"{json.dumps(batch)}\n".encode())
        self._checked, self._silent = time.monotonic(), 0

    def messages(self) -> Iterator[Any]:
        """The messages that have arrived; afterwards `loss` says whether the worker is gone."""
        has_ended = bool(wait([self.end], 0))
        while wait([self.connection], 0):
            try:
                chunk = self.connection.recv(_CHUNK)
            except OSError:
                chunk = b""
            if not chunk:
                has_ended = True
                break
            self._arrived += chunk
            self._silent = 0
            if not has_ended:
                break
        yield from self._complete()
        if has_ended:
            self.loss = _described(self._reap())

    def _complete(self) -> Iterator[Any]:
        """Take the complete messages out of what has arrived."""
        while len(self._arrived) >= _SIZE:
            end = _SIZE + int.from_bytes(self._arrived[:_SIZE], "little")
            if len(self._arrived) < end:
                return
            data = bytes(memoryview(self._arrived)[_SIZE:end])
            del self._arrived[:end]
            try:
                message = pickle.loads(data)
            except Exception as error:
                message = RuntimeError(f"a worker failed, and its error could not be sent to this process: {error}")
            yield _as_tensors(message) if isinstance(message, Trial) else message

    def is_silent(self) -> bool:
        """Whether the worker has shown no sign of life for too many checks.

        Checks are counted, not seconds: while this process is stopped itself, no time passes for its workers.
        """
        if (now := time.monotonic()) - self._checked < CHECK:
            return False
        self._checked = now
        with suppress(psutil.Error):
            times = psutil.Process(self.pid).cpu_times()
            if times.user + times.system > self._used:
                self._used, self._silent = times.user + times.system, 0
                return False
        self._silent += 1
        return self._silent >= SILENT_CHECKS

    def stop(self) -> None:
        """Kill the process. That loses nothing: finished trials were sent, others can be trained again."""
        self.connection.close()
        self.process.kill()

    def join(self) -> None:
        """Wait until the process is gone."""
        self._reap()
        if self.end != self.process.sentinel:
            os.close(self.end)

    def _reap(self) -> int | None:
        """Wait for the process, but not for ever, and return its exit code.

        ``Process.join`` alone would wait for a pipe that other processes may have inherited.
        """
        wait([self.end], _PATIENCE)
        code = self.process.exitcode
        self.process.join(0)
        return code


def _pidfd(pid: int) -> int | None:
    """A descriptor that becomes ready when the process ends; ``None`` if the system has none."""
    if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _described(exit_code: int | None) -> Loss:
    """What an exit code says."""
    if exit_code is None:
        return Loss("is gone, for an unknown reason")
    if exit_code >= 0:
        return Loss("ended before its work was done", exit_code)
    name = signal.Signals(-exit_code).name if -exit_code in set(signal.Signals) else f"signal {-exit_code}"
    if name == "SIGKILL":
        return Loss("was killed by SIGKILL, probably by the system for lack of memory", exit_code)
    if name in _CRASHES:
        return Loss(f"crashed with {name}, probably a fault in compiled code", exit_code)
    return Loss(f"was ended by {name}, probably by another program", exit_code)


# The side of the worker


class _Connection:
    """The connection of a worker to its parent."""

    def __init__(self, far: socket.socket) -> None:
        self._socket, self._reader = far, far.makefile("rb")

    def next_batch(self) -> list[int]:
        """Wait for a batch."""
        line = self._reader.readline()
        if not line:
            raise EOFError
        batch: list[int] = json.loads(line)
        return batch

    def send(self, message: Any) -> None:
        """Send a message, preceded by its length."""
        data = ForkingPickler.dumps(_as_arrays(message) if isinstance(message, Trial) else message)
        self._socket.sendall(len(data).to_bytes(_SIZE, "little"))
        self._socket.sendall(data)

    def is_closed(self) -> bool:
        """Whether the parent has closed its end; during a batch it sends nothing."""
        return bool(wait([self._socket], 0))


def _run(far: socket.socket, plan: Plan, config: Config, parent: int) -> None:
    """The whole life of a worker process. It leaves without the exit handlers of its parent, which are not its own."""
    code = 1
    try:
        for number in _SIGNALS:  # the parent handles them
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        _die_with(parent)
        keep_freed_memory()
        work(_Connection(far), plan, config)
        code = 0
    finally:
        os._exit(code)


def _die_with(parent: int) -> None:
    """Make the kernel kill this process when its parent ends."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


def _as_arrays(trial: Trial) -> Any:
    """The trial with arrays in place of tensors, which would be passed through shared memory."""
    parameters: Any = {name: one.numpy(force=True) for name, one in trial.parameters.items()}
    scores: Any = trial.scores.numpy(force=True)
    return replace(trial, parameters=parameters, scores=scores)


def _as_tensors(trial: Trial) -> Trial:
    parameters = {name: torch.as_tensor(one) for name, one in trial.parameters.items()}
    return replace(trial, parameters=parameters, scores=torch.as_tensor(trial.scores))
