"""Parser for the LINQS files of Cora, which are plain text; the result is in the order of the Planetoid files.

Both publications hold the same articles in different orders. ``cora_articles.txt`` lists the paper ids in Planetoid
order, which also determines the public split. It was found by matching words and links. 25 articles have a twin with
the same words, links and class; their relative order does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn.datasets.catalogue import DataError
from hypergnn.datasets.planetoid import N_VALIDATION, Articles, Ids

CORA_CLASSES = (
    "Theory",
    "Reinforcement_Learning",
    "Genetic_Algorithms",
    "Neural_Networks",
    "Probabilistic_Methods",
    "Case_Based",
    "Rule_Learning",
)
"""LINQS class names, in the order of the Planetoid labels."""
_N_TRAIN, _N_TEST = 140, 1000


def parse(content: Mapping[str, bytes]) -> Articles:
    """Read ``cora.content`` and ``cora.cites``.

    Raises:
        DataError: If a file is truncated or corrupt, or does not hold the articles of Cora.
    """
    articles = np.array(files("hypergnn.datasets").joinpath("cora_articles.txt").read_bytes().split(), dtype=np.int64)
    ids, words, labels = _read_content(content["cora.content"])
    if not np.array_equal(np.sort(ids), np.sort(articles)):
        raise DataError(f"cora.content must describe the {articles.size} articles of Cora; it describes {ids.size}.")
    row = np.argsort(ids)[np.searchsorted(np.sort(ids), articles)]
    citing, cited = _read_cites(content["cora.cites"], articles)
    return Articles(
        x=sparse.csr_array(words[row], dtype=np.float32),
        y=labels[row],
        citing=citing,
        cited=cited,
        train=np.arange(_N_TRAIN),
        val=np.arange(_N_TRAIN, _N_TRAIN + N_VALIDATION),
        test=np.arange(articles.size - _N_TEST, articles.size),
    )


def _read_content(content: bytes) -> tuple[Ids, npt.NDArray[np.uint8], Ids]:
    """Paper ids, words ``(N, F)`` and classes. A line holds, separated by tabs: id, a 0 or 1 per word, class."""
    try:
        lines = [line.split(b"\t", 1) for line in content.splitlines()]
        ids = np.array([line[0] for line in lines], dtype=np.int64)
        bodies = [line[1].rsplit(b"\t", 1) for line in lines]
        labels = np.array([CORA_CLASSES.index(body[1].decode()) for body in bodies])
        text = np.frombuffer(b"".join(body[0] for body in bodies), dtype=np.uint8).reshape(len(lines), -1)
    except (ValueError, IndexError, OverflowError) as error:
        raise DataError(f"cora.content is truncated or corrupt ({error}).") from error
    words = text[:, ::2] - ord("0")
    if text.shape[1] % 2 == 0 or (words > 1).any() or (text[:, 1::2] != ord("\t")).any():
        raise DataError("cora.content is corrupt: words must be zeros and ones, separated by tabs.")
    return ids, words, labels


def _read_cites(content: bytes, articles: Ids) -> tuple[Ids, Ids]:
    """Positions in ``articles`` of the citing and the cited article of each citation."""
    try:
        pairs = np.array(content.split(), dtype=np.int64).reshape(-1, 2)
    except (ValueError, OverflowError) as error:
        raise DataError(f"cora.cites is truncated or corrupt: each line must hold two paper ids ({error}).") from error
    if not np.isin(pairs, articles).all():
        raise DataError("cora.cites must refer only to articles in cora.content.")
    order = np.argsort(articles)
    positions = order[np.searchsorted(articles, pairs, sorter=order)]
    return positions[:, 1], positions[:, 0]
