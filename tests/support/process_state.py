"""What a process shares among all that runs in it, before and after some work.

``python -m support.process_state estimator`` prints, as JSON, what the work changed and which functions of C libraries
were looked up for it.
"""

import ctypes
import json
import locale
import logging
import os
import random
import signal
import sys
import warnings

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
        "floating-point errors": np.geterr(),
        "environment variables": dict(os.environ),
        "logging": (logging.getLogger().level, repr(logging.getLogger().handlers), logging.root.manager.disable),
        "folder": os.getcwd(),
        "locale": locale.setlocale(locale.LC_ALL),
        "recursion limit": sys.getrecursionlimit(),
        "hooks": [repr(one) for one in (sys.excepthook, sys.unraisablehook, sys.gettrace(), sys.getprofile())],
        "processors": sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [],
    }


def estimator() -> None:
    rows = np.random.default_rng(0).normal(size=(40, 3))
    hg.HypergraphClassifier(max_epochs=3, random_state=0).fit(rows, rows[:, 0] > 0).predict(rows)


def one_worker() -> None:
    training.fit(hg.datasets.load("digits"), Config(model="hyper-conv", max_epochs=2), trials=2, jobs=1)


def two_workers() -> None:
    training.fit(hg.datasets.load("digits"), Config(model="hyper-conv", max_epochs=2), trials=2, batch=1, jobs=2)


def main(work: str) -> None:
    """Do the work, and print what it changed."""
    torch.set_num_threads(2)
    warnings.simplefilter("default")
    random.seed(1)
    np.random.seed(2)
    torch.manual_seed(3)
    looked_up.clear()
    before = state()
    {"estimator": estimator, "one worker": one_worker, "two workers": two_workers}[work]()
    after = state()
    print(json.dumps({"changed": [one for one in before if before[one] != after[one]], "looked up": looked_up}))


if __name__ == "__main__":
    main(sys.argv[1])
