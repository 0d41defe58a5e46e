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


def library_of(thing: Any) -> str:
    """The library that a table or column, or a base class of it, comes from; empty if none of the three.

    Example:
        >>> library_of({"a": [1]})
        ''
    """
    homes = (kind.__module__.partition(".")[0] for kind in type(thing).__mro__)
    return next((home for home in homes if home in ("pandas", "polars", "pyarrow")), "")
