"""CSV that reads back as it was, or that is safe to open in a spreadsheet and to show on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    import numpy.typing as npt

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_FORMULA = re.compile(r"[\s]*[=+\-@]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_SPECIAL = re.compile(r'[",\r\n\x00]|^\s|\s$')


def write_csv(columns: Mapping[str, npt.NDArray[Any]], file: TextIO, *, safe: bool) -> None:
    r"""Write columns as CSV, with the six digits that float32 probabilities have.

    Args:
        columns: The columns by name.
        file: Where to write.
        safe: Whether to put an apostrophe before text that a spreadsheet would run as a formula, and to write control
            characters as escapes such as ``\x1b``. If not, each cell is exactly the id or the class.
    """
    texts = [[f"{one:.6f}" for one in column] if column.dtype.kind == "f" else column for column in columns.values()]
    file.write(_line(columns, safe=safe))
    file.writelines(_line(row, safe=safe) for row in zip(*texts, strict=True))
    file.flush()


def _line(cells: Iterable[Any], *, safe: bool) -> str:
    return ",".join(_quoted(safe_text(str(cell)) if safe else str(cell)) for cell in cells) + "\n"


def _quoted(text: str) -> str:
    """The text in quotation marks if it needs them: a lone carriage return ends a line for many readers."""
    return '"' + text.replace('"', '""') + '"' if _SPECIAL.search(text) else text


def safe_text(text: str) -> str:
    r"""Text that no spreadsheet runs as a formula and no terminal takes as a command.

    Example:
        >>> print(safe_text("=1+1"), safe_text("-5"), safe_text("a\x1b[2J"))
        '=1+1 -5 a\x1b[2J
    """
    shown = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    return f"'{shown}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else shown
