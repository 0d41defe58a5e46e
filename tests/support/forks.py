"""Functions run in a forked process, for which nobody waits for ever.

Not ``multiprocessing.Pool``: its threads and locks can deadlock when it ends. Not an unbounded ``recv``: it waits for
ever for a child that died while another process holds a copy of its end of the pipe.
"""

import multiprocessing
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from subprocess import CompletedProcess
from typing import Any

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
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            sys.stdout, sys.stderr = (open(number, "w", buffering=1, closefd=False) for number in (1, 2))  # noqa: SIM115
            os.environ.update(variables)
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
