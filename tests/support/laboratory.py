"""A process that loads the package once, and forks to run a test against each mutant.

``python -m support.laboratory`` reads lines of JSON, ``[mutant or null, test, backend]``, and answers each with a line:
``[exit code of pytest, first test that failed or null, output]``.
"""

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.mutants import MUTANTS
from support.mutation import Mutant, StaleMutantError, dispatchers, live_functions

ROOT = Path(__file__).parents[2]
PLUGINS_LEFT_OUT = ("cacheprovider", "doctest", "unraisableexception", "threadexception", "junitxml", "pastebin")
OPTIONS = ["-x", "-q", "--rootdir", str(ROOT), "-o", "addopts=", "--no-header", "--tb=line"]
OPTIONS += [word for name in PLUGINS_LEFT_OUT for word in ("-p", f"no:{name}")]

SECONDS_FOR_A_TEST = 300
"""Afterwards a child is killed: a mutant may run for ever."""


@dataclass(frozen=True)
class Answer:
    """How some tests ended: exit code of pytest, the first test that failed, and what was printed."""

    code: int
    failed: str | None
    output: str


class Laboratory:
    """The other end of the process."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def run(self, mutant: Mutant) -> Answer:
        """Run the test that should notice the mutant, until it fails."""
        return self._ask(mutant=mutant.name, test=f"tests/{mutant.noticed_by}", backend=mutant.backend)

    def run_unchanged(self, test: str, backend: str) -> Answer:
        """Run a test without a mutant."""
        return self._ask(mutant=None, test=test, backend=backend)

    def _ask(self, mutant: str | None, test: str, backend: str) -> Answer:
        self.process.stdin.write(f"{json.dumps([mutant, test, backend])}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the laboratory ended with exit code {self.process.wait()}.")
        return Answer(*json.loads(answer))


@contextmanager
def opened() -> Iterator[Laboratory]:
    """A laboratory that ends with the block."""
    folders = [str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(folders),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "OMP_NUM_THREADS": "1",
    }
    environment.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-m", "support.laboratory"]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, env=environment, **pipes) as process:
        yield Laboratory(process)
        process.stdin.close()


class OneBackend:
    """A plugin of pytest: leaves out tests that run with other kernels, and notes which test fails."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.failed: str | None = None

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if self._of(item) in (None, self.backend)]

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid

    def _of(self, item: Any) -> str | None:
        return item.callspec.params.get("backend") if hasattr(item, "callspec") else None


def main() -> None:
    """Answer until there are no more questions."""
    prepare()
    for line in sys.stdin:
        print(json.dumps(in_a_fork(*json.loads(line))), flush=True)


def prepare() -> None:
    """Load all that the children need: what they need not load themselves is shared."""
    import pytest
    import torch

    torch.set_num_threads(1)
    for mutant in MUTANTS.values():
        with suppress(StaleMutantError):  # the test of this mutant says so
            mutant.load()
    torch.testing.assert_close(torch.zeros(1), torch.zeros(1))  # loads much of torch
    with open(os.devnull, "w") as nothing, redirect_stdout(nothing):
        pytest.main([*OPTIONS, "--collect-only", *sorted({f"tests/{one.noticed_by}" for one in MUTANTS.values()})])
    gc.unfreeze()  # the collection of tests has frozen what it found; functions are looked for among what is not
    live_functions()
    dispatchers()
    gc.freeze()  # what is here now is no garbage in any child


def in_a_fork(mutant: str | None, test: str, backend: str) -> tuple[int, str | None, str]:
    """Run a test, changed or not, in a child: exit code, the test that failed, and the output."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as failed:
        child = os.fork()
        if child == 0:
            code = 70
            signal.alarm(SECONDS_FOR_A_TEST)
            try:
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                plugin = OneBackend(backend)
                code = _run(mutant, test, plugin)
                failed.write((plugin.failed or "").encode())
                failed.flush()
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        failed.seek(0)
        return code, failed.read().decode() or None, output.read().decode(errors="replace")


def _run(mutant: str | None, test: str, plugin: OneBackend) -> int:
    import pytest

    from hypergnn.kernels import dispatch

    dispatch.wanted = plugin.backend
    if mutant is not None:
        MUTANTS[mutant].apply()
    return int(pytest.main([*OPTIONS, test], plugins=[plugin]))


if __name__ == "__main__":
    main()
