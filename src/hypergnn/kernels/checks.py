"""Checks of arguments: compiled loops do not check bounds, so all sizes are compared before they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from hypergnn._utils.checks import check_number
from hypergnn._utils.pairs import check_offsets, check_range
from hypergnn.structures.base import derived

if TYPE_CHECKING:
    from hypergnn.kernels import Dropout

IDS = (torch.int32, torch.int64)


def check_dense(name: str, x: object, least: int = 0) -> None:
    """Raise unless ``x`` is a dense tensor of real numbers with at least so many axes."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a torch tensor; got {type(x).__name__}.")
    if x.layout != torch.strided:
        raise TypeError(f"{name} must be dense; got {x.layout}. Convert it, e.g. {name}.to_dense().")
    if not x.dtype.is_floating_point:
        raise TypeError(f"{name} must be of a floating-point dtype; got {x.dtype}. Convert it, e.g. {name}.float().")
    if x.dim() < least:
        raise ValueError(f"{name} must have at least {least} axes; got shape {tuple(x.shape)}.")


def check_ends(name: str, x: Tensor, ends: tuple[int, ...], meaning: str, like: Tensor | None = None) -> None:
    """Raise unless ``x`` is a dense tensor whose last axes are ``ends``, of the dtype and device of ``like``."""
    check_dense(name, x)
    if x.dim() < len(ends) or tuple(x.shape[x.dim() - len(ends) :]) != ends:
        shape = ", ".join(["...", *map(str, ends)])
        raise ValueError(f"{name} must have shape ({shape}), {meaning}; got {tuple(x.shape)}.")
    if like is not None:
        check_alike(name, x, like)


def check_alike(name: str, x: Tensor, like: Tensor) -> None:
    """Raise unless both have the same dtype and device."""
    if x.dtype != like.dtype:
        raise TypeError(f"{name} must have the dtype of x, {like.dtype}; got {x.dtype}. Convert one with .to().")
    if x.device != like.device:
        raise ValueError(f"{name} must be on the device of x, {like.device}; got {x.device}. Move one with .to().")


def check_product(x: Tensor, projection: Tensor) -> None:
    """Raise unless ``x`` ``(trials or none, N, F)`` can be multiplied by ``projection`` ``(trials, F, F')``."""
    check_dense("x", x, 2)
    check_dense("projection", projection, 3)
    check_alike("projection", projection, x)
    is_fitting = projection.dim() == 3 and x.dim() <= 3 and x.shape[-1] == projection.shape[1]
    if not is_fitting or (x.dim() == 3 and x.shape[0] not in (1, projection.shape[0])):
        raise ValueError(
            f"projection must have shape (trials, features of x, width) and x (trials or none, rows, features); got "
            f"{tuple(projection.shape)} and {tuple(x.shape)}."
        )


def check_rows_alike(x: Tensor, grad: Tensor) -> None:
    """Raise unless ``x`` ``(trials or 1, N, F)`` and ``grad`` ``(trials, N, F')`` have the same rows."""
    check_dense("x", x, 3)
    check_dense("grad", grad, 3)
    check_alike("grad", grad, x)
    is_fitting = x.dim() == grad.dim() == 3 and x.shape[1] == grad.shape[1] and x.shape[0] in (1, grad.shape[0])
    if not is_fitting:
        raise ValueError(
            f"x and grad must have shapes (trials, rows, features) and (trials, rows, width); got {tuple(x.shape)} and "
            f"{tuple(grad.shape)}."
        )


def check_csr(x: Tensor) -> None:
    """Raise unless the indices of a sparse CSR tensor are valid.

    torch does not check them when such a tensor is made, unless it is asked to.
    """
    if torch.compiler.is_compiling() or x.device.type == "meta" or x.dim() != 2:
        return
    if x.is_inference():  # which does not count its changes
        _read_csr(x)
    else:
        derived(x, ("is sound", x._version), lambda: _read_csr(x))


def _read_csr(x: Tensor) -> None:
    starts, columns = x.crow_indices(), x.col_indices()
    if starts.shape[0] != x.shape[0] + 1 or columns.shape[0] != x.values().shape[0]:
        raise ValueError("x must have an offset for each row and a column for each value; its indices do not fit.")
    check_offsets(starts, columns.shape[0])
    check_range("the column indices of x", columns, x.shape[1])


def check_draws(x: Tensor, trials: int, n_rows: int, dropout: Dropout) -> None:
    """Raise unless there are two keys per trial and one place per row."""
    rate, keys, places = dropout
    check_number("dropout.rate", rate, below=1)
    if not isinstance(keys, Tensor) or keys.dtype != torch.int32 or keys.device.type != "cpu":
        raise TypeError("dropout.keys must be an int32 tensor on the CPU.")
    if tuple(keys.shape) != (trials, 2):
        raise ValueError(f"dropout.keys must have shape ({trials}, 2), two per trial of x; got {tuple(keys.shape)}.")
    if places is None:
        return
    if not isinstance(places, Tensor) or places.dtype not in IDS:
        raise TypeError("dropout.places must be a tensor of ids.")
    if tuple(places.shape) != (n_rows,) or places.device != x.device:
        raise ValueError(f"dropout.places must have shape ({n_rows},), one per row of x; got {tuple(places.shape)}.")


def check_classes(scores: Tensor, classes: Tensor, rows: Tensor) -> None:
    """Raise unless there is a class for each row of the scores; which rows and classes there are is looked up later."""
    check_dense("scores", scores, 3)
    if scores.dim() != 3 or scores.shape[2] == 0:
        raise ValueError(f"scores must have shape (trials, rows, classes); got {tuple(scores.shape)}.")
    for name, ids in (("classes", classes), ("rows", rows)):
        if not isinstance(ids, Tensor) or ids.dtype not in IDS or ids.layout != torch.strided:
            raise TypeError(f"{name} must be a tensor of int32 or int64 ids.")
        if ids.dim() != 1 or ids.device != scores.device:
            raise ValueError(f"{name} must have one axis, on the device of the scores; got {tuple(ids.shape)}.")
    if classes.shape[0] != scores.shape[1]:
        raise ValueError(f"classes must have {scores.shape[1]} entries, one per row; got {classes.shape[0]}.")
