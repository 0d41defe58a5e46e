"""What separates the columns of a CSV file. No import but the standard library's, so that Spark can use it too."""

from __future__ import annotations

import re

SEPARATORS = (",", ";", "\t")
_QUOTED = re.compile(r'(?:^|(?<=[,;\t\r\n]))"[^"]*(?:""[^"]*)*"(?=[,;\t\r\n]|$)')
"""A whole cell in quotes, which may hold separators and ends of lines."""


def separator_of(start: str) -> str:
    r"""The separator of a CSV file, from its first lines.

    It is the one that gives the header and the first row the same number of cells, at least two. If several do, it is
    the one that gives the most cells, of equals the comma. If none does, the file has a single column, and a comma is
    returned. A header without a row decides alone.

    Args:
        start: The header and the first row, or more of the file, without a byte order mark.

    Example:
        >>> separator_of('Kunde;"Preis, EUR"\nAnn;3,5\n'), separator_of("notes; remarks\nlate\n")
        (';', ',')
    """
    lines = [line for line in re.split(r"[\r\n]+", _QUOTED.sub("x", start), maxsplit=3) if line]
    best, most = ",", 1
    for one in SEPARATORS:
        cells = {line.count(one) + 1 for line in lines[:2]}
        if len(cells) == 1 and max(cells) > most:
            best, most = one, max(cells)
    return best
