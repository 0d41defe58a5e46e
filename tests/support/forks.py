"""Functions run in a forked process, for which nobody waits for ever.

Not ``multiprocessing.Pool``: its threads and locks can deadlock when it ends. Not an unbounded ``recv``: it waits for
ever for a child that died while another process holds a copy of its end of the pipe.
"""

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from subprocess import CompletedProcess
from typing import Any, Self

LIMIT = 60
"""Seconds that a child may take."""


def in_a_fork(function: Callable[[], Any]) -> Any:
    """What a function returns in a forked child; an error if it takes more than a minute or dies."""
    near, far = multiprocessing.Pipe(duplex=False)

    def send() -> None:
        far.send(function())

    child = multiprocessing.get_context("fork").Process(target=send, daemon=True)
    child.start()
    far.close()
    try:
        assert near.poll(LIMIT), "the child neither answers nor ends"
        return near.recv()
    finally:
        near.close()
        child.join(LIMIT)
        child.kill()
        child.join()


def _run_as_program(out: int, err: int, function: Callable[..., int | None], *arguments: Any) -> None:
    """Call a function in this process as if it was a new one, and end the process with the code that it returns."""
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.stdout, sys.stderr = (open(number, "w", buffering=1, closefd=False) for number in (1, 2))  # noqa: SIM115
    warnings.resetwarnings()
    for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", kind)
    code = 1
    try:
        code = function(*arguments) or 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


class Program:
    """A function that returns an exit code, in a fork that can be watched and killed, much like ``subprocess.Popen``.

    Attributes:
        pid: The id of the process.
        returncode: Its exit code, negative for a signal; ``None`` until it has been waited for.
        stdout, stderr: What it prints, to be read while it runs.
    """

    def __init__(self, function: Callable[..., int | None], *arguments: Any) -> None:
        (out, out_of_child), (err, err_of_child) = os.pipe(), os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # other tests have started threads
            self.pid = os.fork()
        if self.pid == 0:
            for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
                signal.signal(number, usual)
            os.close(out)
            os.close(err)
            _run_as_program(out_of_child, err_of_child, function, *arguments)
        os.close(out_of_child)
        os.close(err_of_child)
        self.stdout, self.stderr = open(out), open(err)  # noqa: SIM115
        self.returncode: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.wait()
        self.stdout.close()
        self.stderr.close()

    def poll(self) -> int | None:
        """The exit code, or ``None`` while the process runs."""
        return self._wait(os.WNOHANG)

    def send_signal(self, number: int) -> None:
        """Send a signal to the process if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process."""
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float = LIMIT) -> int:
        """Wait for the end and return the exit code; a process that takes longer is killed."""
        with self._killed_after(timeout):
            self._wait(0)
        assert self.returncode is not None
        return self.returncode

    def communicate(self, timeout: float = LIMIT) -> tuple[str, str]:
        """What it prints on both streams until it ends; a process that takes longer is killed."""
        printed = [""]
        reader = threading.Thread(target=lambda: printed.append(self.stdout.read()))
        reader.start()
        with self._killed_after(timeout), self.stderr:
            told = self.stderr.read()
            reader.join()
            self._wait(0)
        self.stdout.close()
        return printed[-1], told

    @contextmanager
    def _killed_after(self, seconds: float) -> Iterator[None]:
        timer = threading.Timer(seconds, os.kill, (self.pid, signal.SIGKILL))
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    def _wait(self, options: int) -> int | None:
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, options)
            if ended:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def programs(
    function: Callable[..., int | None],
    *arguments: Any,
    environments: Sequence[Mapping[str, str]] = ({},),
    timeout: float = 300,
) -> "CompletedProcess[str]":
    """Call a function that returns an exit code in a fork for each environment, all at the same time.

    Like new processes, they have the usual filter of warnings and streams of their own; but nothing is loaded again.

    Returns:
        A finished process that stands for all: the first exit code that is not 0, and what they have printed.
    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:

        def run(variables: Mapping[str, str]) -> None:
            os.environ.update(variables)
            _run_as_program(out.fileno(), err.fileno(), function, *arguments)

        fork = multiprocessing.get_context("fork")
        processes = [fork.Process(target=run, args=(variables,)) for variables in environments]
        try:
            for process in processes:
                process.start()
            for process in processes:
                process.join(timeout)
        finally:
            for process in processes:
                process.kill()
                process.join()
        for file in (out, err):
            file.seek(0)
        codes = [process.exitcode or 0 for process in processes]
        return CompletedProcess([function.__name__], next(filter(None, codes), 0), out.read(), err.read())
