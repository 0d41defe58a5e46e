"""What a process shares among all that runs in it, before and after some work.

``python -m support.process_state estimator "one worker"`` prints, as a line of JSON for each work, what it changed and
which functions of C libraries were looked up for it. Each work runs in a fork of the process in which all is loaded.
"""

import ctypes
import gc
import json
import locale
import logging
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import threading
import warnings
from contextlib import suppress

looked_up: list[str] = []


class Watched(ctypes.CDLL):
    """Notes which functions are looked up."""

    def __getattr__(self, name):
        looked_up.append(name)
        return super().__getattr__(name)


ctypes.CDLL = Watched  # before anything that loads a library through it

# Other libraries set warning filters and environment variables when they are first imported: before the comparison.
import numba  # noqa: E402, F401
import numpy as np  # noqa: E402
import psutil  # noqa: E402
import scipy.stats  # noqa: E402, F401
import sklearn.cluster  # noqa: E402
import sklearn.neighbors  # noqa: E402, F401
import torch  # noqa: E402

import hypergnn as hg  # noqa: E402
from hypergnn import training  # noqa: E402
from hypergnn.models import Config  # noqa: E402


def state() -> dict[str, object]:
    """All that can be asked for."""
    return {
        "signal handlers": {str(one): repr(signal.getsignal(one)) for one in signal.valid_signals()},
        "torch threads": (torch.get_num_threads(), torch.get_num_interop_threads()),
        "warnings": (repr(warnings.filters), repr(warnings.showwarning)),
        "default dtype": repr(torch.get_default_dtype()),
        "default device": repr(torch.get_default_device()),
        "gradients": torch.is_grad_enabled(),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "random state": repr(random.getstate()),
        "random state of numpy": repr(np.random.get_state()),
        "random state of torch": torch.get_rng_state().tolist(),
        "seed of torch": torch.initial_seed(),
        "next numbers of torch": _next_numbers(),
        "floating-point errors": np.geterr(),
        "environment variables": dict(os.environ),
        "logging": (logging.getLogger().level, repr(logging.getLogger().handlers), logging.root.manager.disable),
        "folder": os.getcwd(),
        "locale": locale.setlocale(locale.LC_ALL),
        "recursion limit": sys.getrecursionlimit(),
        "hooks": [repr(one) for one in (sys.excepthook, sys.unraisablehook, sys.gettrace(), sys.getprofile())],
        "umask": _umask(),
        "limits": [resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")],
        "timers": [signal.getitimer(one) for one in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)],
        "blocked signals": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "descriptors": _descriptors() if sys.platform == "linux" else [],
        "processes": [child.pid for child in psutil.Process().children(recursive=True)],
        "threads": sorted(thread.name for thread in threading.enumerate() if not thread.name.startswith("hypergnn")),
        "processors": sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [],
    }


def _next_numbers() -> list[float]:
    """What the generator of torch would draw next, without drawing it."""
    copy = torch.Generator()
    copy.set_state(torch.get_rng_state())
    return torch.rand(3, generator=copy).tolist()


def _descriptors() -> list[str]:
    """Open files, without the memory that Python's multiprocessing shares and reuses."""
    found = []
    for number in sorted(os.listdir("/proc/self/fd")):
        with suppress(FileNotFoundError):  # that of the list itself
            if "/dev/shm/pym-" not in os.readlink(f"/proc/self/fd/{number}"):
                found.append(number)
    return found


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def estimator() -> None:
    rows = np.random.default_rng(0).normal(size=(40, 3))
    hg.HypergraphClassifier(max_epochs=3, random_state=0).fit(rows, rows[:, 0] > 0).predict(rows)


def regressor() -> None:
    rows = np.random.default_rng(0).normal(size=(40, 3))
    hg.HypergraphRegressor(max_epochs=3, random_state=0).fit(rows, rows[:, 0]).predict(rows)


def sampled() -> None:
    config = Config(model="hyper-conv", max_epochs=2, batch_size=50, fanout=((2, 2), (2, 2)))
    training.fit(hg.datasets.load("digits"), config)


def one_worker() -> None:
    training.fit(hg.datasets.load("digits"), Config(model="hyper-conv", max_epochs=2), trials=2, jobs=1)


def two_workers() -> None:
    training.fit(hg.datasets.load("digits"), Config(model="hyper-conv", max_epochs=2), trials=2, batch=1, jobs=2)


def lost_worker() -> None:
    """A worker is killed and replaced, and the run is recorded."""
    killed = []

    def kill(_: object) -> None:
        if not killed and (children := multiprocessing.active_children()):
            killed.append(os.kill(children[0].pid or 0, signal.SIGKILL))

    with tempfile.TemporaryDirectory() as folder:
        config = Config(model="hyper-conv", max_epochs=40, patience=40)
        data = hg.datasets.load("digits")
        result = training.fit(data, config, trials=2, batch=1, jobs=2, out=folder, on_progress=kill)
        assert killed
        assert len(result.records) == 2


WORK = {
    "estimator": estimator,
    "regressor": regressor,
    "sampled": sampled,
    "one worker": one_worker,
    "two workers": two_workers,
    "lost worker": lost_worker,
}


def main(work: str) -> None:
    """Do the work, and print what it changed."""
    torch.set_num_threads(2)
    warnings.simplefilter("default")
    random.seed(1)
    np.random.seed(2)
    torch.manual_seed(3)
    looked_up.clear()
    before = state()
    WORK[work]()
    gc.collect()
    after = state()
    print(json.dumps({"changed": [one for one in before if before[one] != after[one]], "looked up": looked_up}))


if __name__ == "__main__":
    for work in sys.argv[1:]:
        child = os.fork()
        if child == 0:
            main(work)
            sys.exit()
        if os.waitpid(child, 0)[1]:
            sys.exit(1)
