"""``save`` and ``load``: networks and estimators in files that cannot run code."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn import __version__ as sklearn_version
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hypergnn._utils.checks import Names
from hypergnn.persistence import models, tensor_files
from hypergnn.persistence.allowed import class_named, name_of
from hypergnn.persistence.object_reader import DAMAGES, Reader, made_of
from hypergnn.persistence.object_writer import Writer

if TYPE_CHECKING:
    from hypergnn.estimators import CorrectAndSmooth, HypergraphClassifier, HypergraphEmbedding, HypergraphRegressor
    from hypergnn.persistence.models import SavedModel

FORMAT = 1
_KIND = "Estimator"
_TREE = "tree"
_LEFT_OUT = ("on_epoch",)
_HOME = "hypergnn.estimators."


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    class_names: Iterable[Any] | None = None,
    about: Mapping[str, Any] | None = None,
    vertex_names: Names | None = None,
    hypergraph: Mapping[str, Any] | None = None,
) -> None:
    """Write a network or a fitted estimator to a file atomically: the old file or the new one, never a part of either.

    The file holds arrays and settings and nothing that could be executed. Estimators are stored whole, with their
    hypergraph, scales and models of scikit-learn, and predict the same after :func:`load`. A function given to an
    estimator (as ``construct``, or in a vectorizer) cannot be stored and is refused by name; the callback ``on_epoch``
    is left out.

    Args:
        model: A :class:`hypergnn.Network` or a fitted estimator of this package.
        path: The file, by convention ``*.safetensors``.
        class_names: Of a network, names of the classes in the order of the scores; their numbers if omitted.
        about: Of a network, anything else to store, in JSON types.
        vertex_names: Of a network, names of the vertices that it was trained on.
        hypergraph: Of a network, how the hypergraph that it was trained on was built, in JSON types.

    Raises:
        TypeError: If ``model`` is neither, or holds something that a file cannot hold.
        ValueError: If an option does not fit.

    Example:
        >>> import tempfile, hypergnn as hg
        >>> from sklearn.datasets import load_wine
        >>> X, y = load_wine(return_X_y=True)
        >>> model = hg.HypergraphClassifier("hyper-conv", max_epochs=5, random_state=0).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     hg.save(model, f"{folder}/wine.safetensors")
        ...     again = hg.load(f"{folder}/wine.safetensors")
        >>> bool((again.predict_proba(X * 1.01) == model.predict_proba(X * 1.01)).all())
        True
    """
    if not _is_ours(type(model)):
        given = {"class_names": class_names, "about": about, "vertex_names": vertex_names, "hypergraph": hypergraph}
        models.save(model, path, **given)  # type: ignore[arg-type]
        return
    if any(one is not None for one in (class_names, about, vertex_names, hypergraph)):
        raise ValueError("class_names, about, vertex_names and hypergraph are for networks; an estimator has its own.")
    check_is_fitted(model)
    writer, kind = Writer(), type(model).__name__
    state = {name: None if name in _LEFT_OUT else one for name, one in vars(model).items()}
    tree = [[name, writer.write(one, f"{kind}.{name}")] for name, one in state.items()]
    written = torch.from_numpy(np.frombuffer(json.dumps(tree).encode(), dtype=np.uint8).copy())
    header = {"class": _class_name(model), "scikit-learn": sklearn_version}
    tensor_files.write(path, _KIND, FORMAT, header, {**writer.tensors, _TREE: written})


def load(
    path: str | os.PathLike[str],
) -> SavedModel | CorrectAndSmooth | HypergraphClassifier | HypergraphEmbedding | HypergraphRegressor:
    """Read a network or an estimator written by :func:`save`.

    Returns:
        A :class:`hypergnn.SavedModel` with the network, or the estimator.

    Raises:
        ValueError: If the file is not such a file, is damaged, has another format, or holds something that it must not.

    Example:
        >>> load("model.safetensors")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'model.safetensors'
    """
    if tensor_files.kind_of(path) != _KIND:
        return models.load(path)
    header, tensors = tensor_files.read(path, _KIND, FORMAT)
    if header.get("scikit-learn") != sklearn_version:
        warnings.warn(
            f"{path} was written with scikit-learn {header.get('scikit-learn')}; this is {sklearn_version}. Compare "
            "some predictions, or fit and save the estimator again.",
            stacklevel=2,
        )
    try:
        kind = class_named(header["class"])
        if not _is_ours(kind):
            raise ValueError(f"it holds a {kind.__name__}, which is no estimator of hypergnn")
        tree = json.loads(tensors.pop(_TREE).numpy().tobytes())
        reader = Reader(tensors)
        made: CorrectAndSmooth | HypergraphClassifier | HypergraphEmbedding | HypergraphRegressor
        made = made_of(kind, {str(name): reader.read(one) for name, one in tree})
    except DAMAGES as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{path} is not a valid file of an estimator: {' '.join(what.split())}") from error
    return made


def _is_ours(kind: type) -> bool:
    """Whether a class is an estimator of this package, or derived from one."""
    return issubclass(kind, BaseEstimator) and any(one.__module__.startswith(_HOME) for one in kind.__mro__)


def _class_name(model: BaseEstimator) -> str:
    name = name_of(type(model))
    if name is None:
        raise TypeError(
            f"model must be an estimator of hypergnn itself; got {type(model).__name__}, a class of yours. Use "
            "joblib.dump, and load such files only from people you trust."
        )
    return name
