"""Optional libraries, imported where they are used and never by ``import hypergnn``."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def import_extra(module: str, extra: str, purpose: str = "this") -> Any:
    """Import ``module``, or raise an error that says what needs it and how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs {module.partition('.')[0]}, which could not be imported ({error}). "
            f"Install it with: pip install '.[{extra}]' in the folder of hypergnn's source."
        ) from error
