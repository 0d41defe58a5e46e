"""``--import MODULE``: modules of the user's own, which may register networks."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

HELP = "import a module that registers networks"


def add_imports(parser: argparse.ArgumentParser, *, hidden: bool = False) -> None:
    """Add the option to a command that makes networks or reads model files; ``hidden`` in its help."""
    parser.add_argument(
        "--import",
        dest="modules",
        metavar="MODULE",
        action="append",
        help=argparse.SUPPRESS if hidden else HELP,
    )


def import_modules(arguments: argparse.Namespace) -> None:
    """Import the modules that the command line names, from the working folder or from what is installed.

    Raises:
        ImportError: If one of them cannot be imported.
    """
    for name in getattr(arguments, "modules", None) or ():
        imported("--import", name)


def imported(option: str, name: str) -> ModuleType:
    """Import a module that an option names.

    Raises:
        ImportError: If it cannot be imported, for any reason.
    """
    with from_here():
        try:
            return import_module(name)
        except ImportError as error:
            raise ImportError(
                f"{option} must name a module in this folder or an installed one, without .py; got {name!r}: {error}"
            ) from error
        except (Exception, SystemExit) as error:  # a module that exits must not end the command as if it were done
            raise ImportError(f"{option} must name a module that can be imported; {name} raised {error!r}.") from error


@contextmanager
def from_here() -> Iterator[None]:
    """Import from the working folder too."""
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
