"""Documents: one hyperedge per word, over the documents that use it."""

from __future__ import annotations

from typing import Any

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
    """Make one hyperedge per word: all documents that use it, called by the word.

    A document that uses none of the words is an isolated vertex.

    Args:
        documents: Strings, one per vertex: a list, an array or a column of a table. The index of a pandas column
            becomes the names of the vertices unless it only counts.
        min_df: Fewest documents that use a word, a number (``int``) or a share of all (``float``).
        max_df: Most documents that use a word, a number or a share of all.
        max_words: Keep only so many words, the most frequent ones.
        stop_words: ``"english"`` for scikit-learn's list, a list of words, or ``None``.
        vectorizer: A vectoriser of scikit-learn to take the words from instead of the four options above. One that
            has a vocabulary keeps it, and words that no document uses give empty hyperedges; one without is fitted.

    Raises:
        TypeError: If ``documents`` is one string or something in it is not a string.
        ValueError: If there is no document or no word is left.

    Example:
        >>> import hypergnn as hg
        >>> documents = ["A hypergraph has hyperedges.", "Hyperedges have vertices.", "Graphs have vertices.", "And?"]
        >>> H = hg.construct.from_text(documents)
        >>> H
        Hypergraph(4 vertices, 2 hyperedges, 4 incidences)
        >>> H.hyperedge_names.tolist()
        ['hyperedges', 'vertices']
    """
    texts = _as_strings(documents)
    options = (min_df, max_df, max_words, stop_words)
    if vectorizer is None:
        from sklearn.feature_extraction.text import CountVectorizer

        vectorizer = CountVectorizer(
            binary=True, min_df=min_df, max_df=max_df, max_features=max_words, stop_words=stop_words
        )
    elif options != (2, 0.5, None, "english"):
        raise ValueError("vectorizer brings its own min_df, max_df, max_words and stop_words: set them there.")
    is_fitted = hasattr(vectorizer, "vocabulary_")
    try:
        counts = vectorizer.transform(texts) if is_fitted else vectorizer.fit_transform(texts)
    except ValueError as error:
        if isinstance(error, TypeError):  # an option that scikit-learn refuses, which its error names
            raise
        remedy = ". With so few documents, give max_df=1.0." if "max_df corresponds" in str(error) else ""
        raise ValueError(f"documents give no words to make hyperedges of: {error}{remedy}") from error
    pairs = counts.tocoo()
    present = pairs.data != 0
    n_documents, n_words = pairs.shape
    return Hypergraph.from_incidence(
        pairs.row[present],
        pairs.col[present],
        n_documents,
        n_words,
        vertex_names=row_names(documents),
        hyperedge_names=vectorizer.get_feature_names_out() if hasattr(vectorizer, "vocabulary_") else None,
    )


def _as_strings(documents: Any) -> list[str]:
    if isinstance(documents, (str, bytes)):
        raise TypeError(f"documents must be several strings, one per vertex; got one. Give [{documents[:20]!r}, …].")
    column = as_column(documents, name="documents")
    texts = [text.as_py() if hasattr(text, "as_py") else text for text in column]
    if not texts:
        raise ValueError("documents must hold at least one string, one per vertex; got none.")
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(
                f"documents must be strings; document {place} is {text!r} of type {type(text).__name__}. "
                "Give '' for a document without text."
            )
    return texts
