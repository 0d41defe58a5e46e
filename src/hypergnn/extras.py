"""Libraries that only some functions need: imported where they are used, never by ``import hypergnn``."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def import_extra(module: str, extra: str, purpose: str) -> Any:
    """Return ``module``, or raise an error that says what needs it and how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{purpose} needs {module}, which is not installed. Install it with: pip install 'hypergnn[{extra}]'"
        ) from error
