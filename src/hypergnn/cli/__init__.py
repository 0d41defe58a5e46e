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
from hypergnn.cli import check, compare, data, explain, predict, report, reproduce, spark, train
from hypergnn.cli.imports import import_modules
from hypergnn.cli.streams import tolerant_stderr

_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None, *, program: str = "hypergnn") -> int:
    """Run a command and return the exit code.

    Args:
        argv: The arguments; those of the process if omitted.
        program: The command that starts the program, for messages that say what to type.

    Returns:
        0 for success, 1 if ``check`` found damage or a system of ``reproduce`` failed, 2 for an error in the command
        or its data, 130 for an interrupt.

    Example:
        >>> main(["data", "describe", "digits"])  # doctest: +ELLIPSIS
        digits
          1797 vertices, 0 of them isolated
          ...
        0
    """
    parser = argparse.ArgumentParser(
        prog="hypergnn",
        description="Hypergraph convolution and hypergraph attention.",
        epilog="example: hypergnn train digits --trials 10",
    )
    parser.add_argument("--version", action="version", version=f"hypergnn {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in (reproduce, report, train, compare, predict, explain, spark, check, data):
        command.register(commands)
    given = sys.argv[1:] if argv is None else list(argv)
    with tolerant_stderr():
        if not given:
            parser.print_help(sys.stderr)
            return 2
        arguments, unknown = parser.parse_known_args(given)
        if unknown:
            where = "; hypergnn train --help-settings lists all settings" if given[0] == "train" else ""
            parser.error(f"unrecognized arguments: {' '.join(unknown)}{where}")
        arguments.typed = f"{program} {shlex.join(given)}"
        if sys.stdout is None:  # closed before Python started
            print("hypergnn: standard output must be open: the result goes there.", file=sys.stderr)
            return 2
        return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    """Run the command; errors become one sentence, unless HYPERGNN_TRACEBACK asks for all of it."""
    run: Callable[[argparse.Namespace], int] = arguments.run
    try:
        import_modules(arguments)
        return run(arguments)
    except BrokenPipeError:  # the reader of the pipe, for example head, has finished
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, TypeError, OSError, ImportError, MemoryError, RuntimeError) as error:
        if os.environ.get("HYPERGNN_TRACEBACK"):
            raise
        print(f"hypergnn: {_message(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("hypergnn: stopped.", file=sys.stderr)
        return _INTERRUPTED


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        reason = f": {error}" if str(error) else ""
        return f"there is not enough memory{reason}. Use smaller data, fewer --jobs or a smaller --batch."
    if isinstance(error, RuntimeError):  # of torch: the first line says what, the others where in its own source
        first = (str(error).splitlines() or [type(error).__name__])[0]
        return f"{first} (set HYPERGNN_TRACEBACK=1 to see where)"
    return str(error)
