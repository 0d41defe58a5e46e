"""Documents: one hyperedge per word, over the documents that use it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from hypergnn._utils.tables import as_column, row_names
from hypergnn.structures.hypergraph import Hypergraph


def from_text(
    documents: Any,
    *,
    min_df: int | float = 2,
    max_df: int | float = 0.5,
    max_words: int | None = None,
    stop_words: str | list[str] | None = "english",
    vectorizer: Any = None,
) -> Hypergraph:
    """Make one hyperedge per word: all documents that use it, named by the word.

    A document that uses none of the words is an isolated vertex.

    Args:
        documents: Strings, one per vertex: a list, an array or a column of a table. The index of a pandas column gives
            the vertices their names, unless it only counts the rows.
        min_df: Smallest number of documents that use a word (``int``), or their share of all documents (``float``).
        max_df: Largest number of documents that use a word, or their share.
        max_words: Use only this many words, the most frequent ones; all by default.
        stop_words: ``"english"`` for scikit-learn's list, a list of words, or ``None``.
        vectorizer: A scikit-learn vectoriser that chooses the words, in place of the four options above. One that is
            fitted keeps its vocabulary, and words that no document uses give empty hyperedges; any other is fitted.

    Raises:
        TypeError: If ``documents`` is a single string or holds something that is not a string.
        ValueError: If there are no documents, or no word remains.

    Example:
        >>> import hypergnn as hg
        >>> documents = ["A hypergraph has hyperedges.", "Hyperedges have vertices.", "Graphs have vertices.", "And?"]
        >>> H = hg.construct.from_text(documents)
        >>> H
        Hypergraph(4 vertices, 2 hyperedges, 4 incidences)
        >>> H.hyperedge_names.tolist()
        ['hyperedges', 'vertices']
    """
    return Words(
        documents, min_df=min_df, max_df=max_df, max_words=max_words, stop_words=stop_words, vectorizer=vectorizer
    ).hypergraph


class Words:
    """Words as hyperedges; a new document joins the hyperedges of the words that it uses.

    Args:
        documents: Strings, one per vertex. All arguments are those of :func:`from_text`.
        min_df: Smallest number or share of documents that use a word.
        max_df: Largest number or share of documents that use a word.
        max_words: Number of words to use, the most frequent ones; all by default.
        stop_words: Words to leave out.
        vectorizer: A scikit-learn vectoriser that chooses the words, in place of the four options above.

    Attributes:
        hypergraph: The hypergraph, as :func:`from_text` returns it.
        vectorizer: The fitted vectoriser, which knows the vocabulary.

    Example:
        >>> import hypergnn as hg
        >>> documents = ["A hypergraph has hyperedges.", "Hyperedges have vertices.", "Graphs have vertices.", "And?"]
        >>> relation = hg.construct.Words(documents)
        >>> relation.join(["A vertex, not two vertices."]).toarray().tolist()       # hyperedges, vertices
        [[0.0, 1.0]]
    """

    def __init__(
        self,
        documents: Any,
        *,
        min_df: int | float = 2,
        max_df: int | float = 0.5,
        max_words: int | None = None,
        stop_words: str | list[str] | None = "english",
        vectorizer: Any = None,
    ) -> None:
        """Find the words."""
        texts = _as_strings(documents)
        if vectorizer is None:
            from sklearn.feature_extraction.text import CountVectorizer

            vectorizer = CountVectorizer(
                binary=True, min_df=min_df, max_df=max_df, max_features=max_words, stop_words=stop_words
            )
        elif (min_df, max_df, max_words, stop_words) != (2, 0.5, None, "english"):
            raise ValueError("vectorizer brings its own min_df, max_df, max_words and stop_words: set them there.")
        uses = _uses(vectorizer, texts).tocoo()
        present, (n_documents, n_words) = uses.data != 0, uses.shape
        self.vectorizer = vectorizer
        self.hypergraph = Hypergraph.from_incidence(
            uses.row[present],
            uses.col[present],
            n_documents,
            n_words,
            vertex_names=row_names(documents),
            hyperedge_names=vectorizer.get_feature_names_out() if hasattr(vectorizer, "vocabulary_") else None,
        )

    def join(self, documents: Any) -> sparse.csr_array:
        """Return the memberships of new documents, ``(rows, M)``: the words that they use."""
        return sparse.csr_array(self.vectorizer.transform(_as_strings(documents)) != 0, dtype=np.float64)


def _uses(vectorizer: Any, texts: list[str]) -> Any:
    """How much each document uses each word, ``(N, M)``; fits the vectoriser unless it has a vocabulary."""
    try:
        if hasattr(vectorizer, "vocabulary_"):
            return vectorizer.transform(texts)
        return vectorizer.fit_transform(texts)
    except ValueError as error:
        if isinstance(error, TypeError):  # scikit-learn refuses an option and names it
            raise
        advice = "" if _limits_can_be_met(vectorizer, len(texts)) else ". With so few documents, pass max_df=1.0."
        raise ValueError(f"documents contain no words to make hyperedges of: {error}{advice}") from error


def _limits_can_be_met(vectorizer: Any, n_documents: int) -> bool:
    """Whether some number of documents is at least ``min_df`` and at most ``max_df``."""
    limits = [getattr(vectorizer, "min_df", 1), getattr(vectorizer, "max_df", 1.0)]
    fewest, most = (limit * n_documents if isinstance(limit, float) else limit for limit in limits)
    return bool(fewest <= most)


def _as_strings(documents: Any) -> list[str]:
    if isinstance(documents, (str, bytes)):
        raise TypeError(
            f"documents must be several strings, one per vertex; got a single one. Pass [{documents[:20]!r}, …]."
        )
    column = as_column(documents, name="documents")
    texts = [text.as_py() if hasattr(text, "as_py") else text for text in column]
    if not texts:
        raise ValueError("documents must hold at least one string, one per vertex; got none.")
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(
                f"documents must be strings; document {place} is {text!r} of type {type(text).__name__}. "
                "Pass '' for a document without text."
            )
    return texts
