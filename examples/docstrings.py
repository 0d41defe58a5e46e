"""Predict which part of SciPy a function belongs to, by the words of its description and from few labels.

Each word is a hyperedge over all descriptions that use it. The descriptions are the docstrings of the functions, so
there is nothing to download. Run with ``python examples/docstrings.py``; it takes some seconds and prints a table.
"""

import inspect
from importlib import import_module

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

import hypergnn as hg

PARTS = ("fft", "linalg", "ndimage", "optimize", "signal", "stats")
SIZES = (1, 2, 5, 10)


def descriptions() -> tuple[np.ndarray, np.ndarray]:
    """Return each function's docstring, up to its list of parameters, and the part of SciPy it belongs to."""
    found = {}
    for part in PARTS:
        module = import_module(f"scipy.{part}")
        for thing in map(vars(module).get, module.__all__):
            if inspect.isroutine(thing) and thing.__doc__:
                found[inspect.getdoc(thing).split("Parameters\n")[0]] = part
    return np.array(list(found), dtype=object), np.array(list(found.values()), dtype=object)


def accuracy(
    model: hg.HypergraphClassifier | Pipeline, texts: np.ndarray, parts: np.ndarray, size: int, seed: int
) -> float:
    """Return the accuracy of a model on the unlabelled descriptions."""
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(np.flatnonzero(parts == part), size, replace=False) for part in PARTS]
    known = np.isin(np.arange(len(parts)), chosen)
    if isinstance(model, hg.HypergraphClassifier):  # sees all texts and some labels
        found = model.fit(texts, np.where(known, parts, None)).transduction_
    else:
        found = model.fit(texts[known], parts[known]).predict(texts)
    return float((found == parts)[~known].mean())


def main(draws: int = 5) -> None:
    texts, parts = descriptions()
    models = {
        "hypergraph convolution": hg.HypergraphClassifier("hyper-conv", construct="text", random_state=0),
        "the same without structure": hg.HypergraphClassifier("mlp", construct="text", random_state=0),
        "logistic regression": make_pipeline(TfidfVectorizer(stop_words="english"), LogisticRegression()),
    }
    print(f"{len(texts)} descriptions, {hg.construct.from_text(texts.tolist())}\n")
    print("labels per part".ljust(28) + "".join(f"{size:8}" for size in SIZES))
    for name, model in models.items():
        means = [np.mean([accuracy(model, texts, parts, size, seed) for seed in range(draws)]) for size in SIZES]
        print(name.ljust(28) + "".join(f"{mean:8.1%}" for mean in means))


if __name__ == "__main__":
    main()
