"""A map of vertices: hidden features in two dimensions, with neighbours close to each other."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

# On Cora, these take half the time of 30 components, 500 steps and an angle of 0.5, at the same trustworthiness.
_COMPONENTS = 15
_STEPS = 350
_ANGLE = 0.8
_PERPLEXITY = 30.0


def embed(hidden: Floats) -> Floats:
    """Places in the plane, ``(N, 2)`` between 0 and 1, by t-SNE with a deterministic start.

    Args:
        hidden: Features, ``(N, F)``.

    Returns:
        The places; the same features always give the same places.

    Example:
        >>> two_groups = np.repeat(np.eye(2, dtype=np.float32), 20, axis=0) + np.linspace(0, 0.1, 40)[:, None]
        >>> places = embed(two_groups)
        >>> places.shape, float(places.min()), float(places.max())
        ((40, 2), 0.0, 1.0)
    """
    n_vertices = len(hidden)
    if n_vertices < 4:  # too few for t-SNE
        return np.stack([np.linspace(0, 1, n_vertices), np.full(n_vertices, 0.5)], axis=1).astype(np.float32)
    places = _tsne(_principal(hidden))
    low, high = places.min(axis=0), places.max(axis=0)
    scaled: Floats = ((places - low) / np.maximum(high - low, 1e-9)).astype(np.float32)
    return scaled


def _principal(hidden: Floats) -> Floats:
    """The principal components of the features, scaled so that the first has variance 1."""
    centred = hidden.astype(np.float64) - hidden.mean(axis=0, dtype=np.float64)
    variance, directions = np.linalg.eigh(centred.T @ centred / len(hidden))
    largest = directions[:, ::-1][:, :_COMPONENTS]
    largest = largest * np.sign(
        largest[np.abs(largest).argmax(axis=0), range(largest.shape[1])]
    )  # the sign of a component is arbitrary
    scaled: Floats = (centred @ largest / np.sqrt(max(variance[-1], 1e-12))).astype(np.float32)
    return scaled


def _tsne(components: Floats) -> Floats:
    from sklearn.manifold import TSNE

    start = components[:, :2] if components.shape[1] > 1 else np.repeat(components, 2, axis=1)
    method = TSNE(
        init=np.ascontiguousarray(1e-4 * start),
        perplexity=min(_PERPLEXITY, (len(components) - 1) / 3),
        max_iter=_STEPS,
        angle=_ANGLE,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns about its own deprecations
        places: Floats = method.fit_transform(components)
    return places
