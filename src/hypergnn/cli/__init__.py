"""The command line: parse, call, print. Each command registers itself with one function.

Commands import what they need when they run, so that ``hypergnn --help`` is fast.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Sequence

from hypergnn import __version__
from hypergnn.cli import check, data, explain, predict, report, reproduce, train

_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None, *, program: str = "hypergnn") -> int:
    """Run a command and return the exit code.

    Args:
        argv: The arguments; those of the process if omitted.
        program: The command that starts the program, for messages that say what to type.

    Returns:
        0 for success, 1 if ``check`` found damage, 2 for an error in the command or its data, 130 for an interrupt.

    Example:
        >>> main(["data", "describe", "digits"])  # doctest: +ELLIPSIS
        digits
          1797 vertices, 0 of them isolated
          ...
        0
    """
    parser = argparse.ArgumentParser(prog="hypergnn", description="Hypergraph convolution and hypergraph attention.")
    parser.add_argument("--version", action="version", version=f"hypergnn {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in (reproduce, report, train, predict, explain, check, data):
        command.register(commands)
    given = sys.argv[1:] if argv is None else list(argv)
    arguments = parser.parse_args(given)
    arguments.typed = f"{program} {shlex.join(given)}"
    run: Callable[[argparse.Namespace], int] = arguments.run
    try:
        return run(arguments)
    except BrokenPipeError:  # the reader of the pipe, for example head, has finished
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, TypeError, OSError, ImportError) as error:
        print(f"hypergnn: {_message(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("hypergnn: stopped.", file=sys.stderr)
        return _INTERRUPTED


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)
