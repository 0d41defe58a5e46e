"""The environment that produced a result: versions, commit, processor."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hypergnn import __version__

_CHECKOUT = Path(__file__).parents[3]
_LIBRARIES = ("torch", "numpy", "scipy")


def environment() -> dict[str, Any]:
    """Describe the environment of this process, in JSON types.

    Returns:
        The versions of this package, of Python and of the numerical libraries; the commit if the package runs from a
        checkout, followed by ``-dirty`` if files were changed, else ``None``; the processor model, the number of cores
        and the platform.

    Example:
        >>> list(environment())
        ['hypergnn', 'python', 'torch', 'numpy', 'scipy', 'commit', 'cpu', 'cores', 'platform']
    """
    return {
        "hypergnn": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in _LIBRARIES},
        "commit": _commit(_CHECKOUT),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "platform": platform.platform(),
    }


def _commit(checkout: Path) -> str | None:
    """The commit of ``checkout``; ``None`` for an installed package, or if ``git`` does not answer."""
    if not (checkout / ".git").exists():
        return None
    command = ["git", "--no-optional-locks", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        answer = subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()


def _cpu() -> str:
    """The processor model, or the closest description that the platform gives."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
