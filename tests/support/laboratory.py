"""A process that loads the package once, and forks to run a test against each mutant.

``python -m support.laboratory`` reads names of mutants, one a line, and answers each with a line of JSON: the exit code
of pytest and what it printed. The empty name stands for the package without a fault.
"""

import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from support.mutants import MUTANTS
from support.mutation import Mutant, dispatchers, live_functions

ROOT = Path(__file__).parents[2]
PLUGINS_LEFT_OUT = ("cacheprovider", "doctest", "unraisableexception", "threadexception", "junitxml", "pastebin")
OPTIONS = ["-x", "-q", "--rootdir", str(ROOT), "-o", "addopts=", "--no-header", "--tb=line"]
OPTIONS += [word for name in PLUGINS_LEFT_OUT for word in ("-p", f"no:{name}")]


class Laboratory:
    """The other end of the process."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def exit_code_of(self, mutant: Mutant | None) -> tuple[int, str]:
        """Exit code and output of the test that should notice the mutant; without one, of all these tests."""
        self.process.stdin.write(f"{'' if mutant is None else mutant.name}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the laboratory ended with exit code {self.process.wait()}.")
        code, output = json.loads(answer)
        return code, output


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
    """A plugin of pytest that leaves out tests which run with other kernels."""

    def __init__(self, backend: str) -> None:
        self.backend = backend

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if self._of(item) in (None, self.backend)]

    def _of(self, item: Any) -> str | None:
        return item.callspec.params.get("backend") if hasattr(item, "callspec") else None


def main() -> None:
    """Answer until there are no more questions."""
    prepare()
    for line in sys.stdin:
        name = line.rstrip("\n")
        print(json.dumps(run(MUTANTS[name] if name else None)), flush=True)


def prepare() -> None:
    """Load all that the children need: what they need not load themselves is shared."""
    import pytest
    import torch

    torch.set_num_threads(1)
    for mutant in MUTANTS.values():
        mutant.load()
    torch.testing.assert_close(torch.zeros(1), torch.zeros(1))  # loads much of torch
    with open(os.devnull, "w") as nothing, redirect_stdout(nothing):
        pytest.main([*OPTIONS, "--collect-only", *sorted({f"tests/{one.noticed_by}" for one in MUTANTS.values()})])
    live_functions()
    dispatchers()
    gc.freeze()  # what is here now is no garbage in any child


def run(mutant: Mutant | None) -> tuple[int, str]:
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            code = 70
            try:
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                code = _run(mutant)
            finally:
                sys.stdout.flush()
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        return code, output.read().decode(errors="replace")


def _run(mutant: Mutant | None) -> int:
    import pytest

    from hypergnn.kernels import dispatch

    if mutant is None:
        tests = sorted({one.noticed_by for one in MUTANTS.values()})
        return int(pytest.main([*OPTIONS, *(f"tests/{test}" for test in tests)]))
    dispatch.wanted = mutant.backend
    mutant.apply()
    return int(pytest.main([*OPTIONS, f"tests/{mutant.noticed_by}"], plugins=[OneBackend(mutant.backend)]))


if __name__ == "__main__":
    main()
