"""Parser for the 100-word version of 20 Newsgroups: postings, their words and four groups."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn.datasets.catalogue import DataError

_READER = (
    "import sys; from hypergnn.datasets.newsgroups import digest, parse; "
    "print(digest(parse('the file', sys.stdin.buffer.read())))"
)
_PATIENCE = 120
"""Seconds to read an untrusted file."""


class Postings(NamedTuple):
    """The parsed file."""

    x: sparse.csr_array  # (N, words) float32, 1 where the word occurs in the posting
    y: npt.NDArray[np.int64]  # (N,)
    words: tuple[str, ...]
    groups: tuple[str, ...]


def parse(file: str, content: bytes) -> Postings:
    """Read a MATLAB file with ``documents``, ``newsgroups``, ``wordlist`` and ``groupnames``.

    Raises:
        DataError: If the file is truncated or corrupt, or lacks a variable.
    """
    from scipy.io import loadmat

    try:
        parts = loadmat(io.BytesIO(content), variable_names=["documents", "newsgroups", "wordlist", "groupnames"])
    except Exception as error:  # damaged files make the reader raise almost anything
        raise DataError(f"{file} is truncated or corrupt: it is not a complete MATLAB file ({error}).") from error
    try:
        words, groups = _names(parts["wordlist"]), _names(parts["groupnames"])
        parts["documents"].check_format(full_check=True)  # SciPy does not validate indices and could read out of bounds
        x = sparse.csr_array(parts["documents"].T, dtype=np.float32)
        y = parts["newsgroups"].ravel().astype(np.int64) - 1  # the file counts groups from 1
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{file} must hold documents, newsgroups, wordlist and groupnames ({error}).") from error
    x.sum_duplicates()
    if x.shape != (y.size, len(words)) or not (x.data == 1).all() or y.min() < 0 or y.max() >= len(groups):
        raise DataError(f"{file} must hold zeros and ones, one row per word, one column per posting and its group.")
    return Postings(x, y, words, groups)


def digest(postings: Postings) -> str:
    """Checksum of the parsed postings, independent of the file format."""
    x, y, words, groups = postings
    names = json.dumps([x.shape, words, groups]).encode()
    numbers = b"".join(part.astype("<i8").tobytes() for part in (x.indptr, x.indices, y))
    return hashlib.sha256(names + numbers).hexdigest()


def digest_apart(content: bytes) -> str | None:
    """The :func:`digest` of an untrusted file, or ``None`` if it cannot be parsed.

    The file is read in a separate process because damaged bytes can crash SciPy's reader.
    """
    if content[:6] != b"MATLAB" or content[126:128] not in (b"IM", b"MI"):
        return None
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _READER], input=content, capture_output=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout.decode().strip()


def _names(cells: Any) -> tuple[str, ...]:
    return tuple(str(cell.item()) for cell in cells.ravel())
