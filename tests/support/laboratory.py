"""A process that loads the package and collects the tests once, and forks to run a test against each mutant.

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from support.mutants import MUTANTS
from support.mutation import Mutant, StaleMutantError, dispatchers, live_functions

ROOT = Path(__file__).parents[2]
PLUGINS_LEFT_OUT = ("cacheprovider", "doctest", "unraisableexception", "threadexception", "junitxml", "pastebin")
OPTIONS = ["-q", "-s", "--rootdir", str(ROOT), "-o", "addopts=", "--no-header", "--tb=line"]
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
        self._unchanged: dict[tuple[str, str], Answer] = {}

    def run(self, mutant: Mutant) -> Answer:
        """Run the test that should notice the mutant, until it fails."""
        return self._ask(mutant=mutant.name, test=f"tests/{mutant.noticed_by}", backend=mutant.backend)

    def run_unchanged(self, test: str, backend: str) -> Answer:
        """Run a test without a mutant; once, because several mutants are noticed by the same one."""
        if (test, backend) not in self._unchanged:
            self._unchanged[test, backend] = self._ask(mutant=None, test=test, backend=backend)
        return self._unchanged[test, backend]

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
        try:
            yield Laboratory(process)
        finally:
            process.stdin.close()
            try:
                process.wait(SECONDS_FOR_A_TEST)
            except subprocess.TimeoutExpired:  # another process may have inherited the pipe, which then never ends
                process.kill()


class Bench:
    """A plugin of pytest: answers questions with the tests that were collected, instead of running them all."""

    def __init__(self, questions: TextIO, answers: TextIO) -> None:
        self.questions, self.answers = questions, answers
        self.failed: str | None = None

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        named = {f"tests/{one.noticed_by}" for one in MUTANTS.values()}
        items[:] = [item for item in items if item.nodeid.partition("[")[0] in named]

    def pytest_runtestloop(self, session: Any) -> bool:
        gc.unfreeze()  # the collection of tests has frozen what it found; functions are looked for among what is not
        live_functions()
        dispatchers()
        gc.freeze()  # what is here now is no garbage in any child
        for line in self.questions:
            mutant, test, backend = json.loads(line)
            print(json.dumps(in_a_fork(self._run, session, mutant, test, backend)), file=self.answers, flush=True)
        return True

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid
            print(report.nodeid, report.longreprtext, sep="\n")

    def _run(self, session: Any, mutant: str | None, test: str, backend: str) -> tuple[int, str | None]:
        """Run a test until it fails: the exit code of pytest, and the case that failed."""
        import pytest

        from hypergnn.kernels import dispatch

        dispatch.wanted = backend
        if mutant is not None:
            MUTANTS[mutant].apply()
        found = [item for item in session.items if test in (item.nodeid, item.nodeid.partition("[")[0])]
        items = [item for item in found if backend_of(item) in (None, backend)]
        for item, following in zip(items, [*items[1:], None], strict=True):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return int(pytest.ExitCode.TESTS_FAILED), self.failed
        return int(pytest.ExitCode.OK if items else pytest.ExitCode.NO_TESTS_COLLECTED), None


def backend_of(item: Any) -> str | None:
    """The kernels that a case runs with, if it chooses."""
    return item.callspec.params.get("backend") if hasattr(item, "callspec") else None


def main() -> None:
    """Answer until there are no more questions."""
    import hypothesis
    import pytest
    import torch

    unshrunk = [phase for phase in hypothesis.Phase if phase not in (hypothesis.Phase.shrink, hypothesis.Phase.explain)]
    loaded = [hypothesis.HealthCheck.too_slow]  # as a machine with other work may be
    hypothesis.settings.register_profile("laboratory", phases=unshrunk, suppress_health_check=loaded)
    hypothesis.settings.load_profile("laboratory")  # that a mutant is noticed says enough
    questions, answers = (os.fdopen(os.dup(number), mode) for number, mode in ((0, "r"), (1, "w")))
    torch.set_num_threads(1)
    for mutant in MUTANTS.values():
        with suppress(StaleMutantError):  # the test of this mutant says so
            mutant.load()
    torch.testing.assert_close(torch.zeros(1), torch.zeros(1))  # loads much of torch
    files = {ROOT / "tests" / one.noticed_by.partition("::")[0] for one in MUTANTS.values()}
    with open(os.devnull, "r+") as nothing, redirect_stdout(nothing):
        os.dup2(nothing.fileno(), 0)  # what a test starts must not read the questions
        pytest.main(
            [*OPTIONS, *sorted(str(file) for file in files if file.exists())], plugins=[Bench(questions, answers)]
        )


def in_a_fork(run: Callable[..., tuple[int, str | None]], *arguments: Any) -> tuple[int, str | None, str]:
    """Call a function in a child: exit code, the test that failed, and the output."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as failed:
        child = os.fork()
        if child == 0:
            code = 70
            signal.alarm(SECONDS_FOR_A_TEST)
            try:
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
                code, test = run(*arguments)
                failed.write((test or "").encode())
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


if __name__ == "__main__":
    main()
