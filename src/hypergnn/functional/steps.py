r"""The steps that your own operators are made of: vertices → hyperedges → vertices, and softmax over incidences.

All take ``(..., rows, heads, F')`` with leading axes, hypergraphs and blocks of them, and give gradients. None holds a
tensor of incidences × features. A factor of each incidence, ``values``, is ``(..., incidences, heads)`` in the order
of :func:`incidences`.

In a sampled block, hyperedges are drawn by weight. Sums of members, means, and sums of messages times ``H.weight``
stand for those of the whole hypergraph. Sums with ``values`` are those over what was drawn.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from hypergnn import kernels
from hypergnn._utils.checks import check_choice
from hypergnn.functional.attention import attend_over_vertices
from hypergnn.functional.checks import WIDE, check_heads, check_hypergraph, check_like, check_plain, check_slope
from hypergnn.functional.means import hyperedge_mean, vertex_mean
from hypergnn.structures.base import TwoSided
from hypergnn.structures.incidence import Incidence

Reduce = Literal["sum", "mean", "max"]
REDUCE = ("sum", "mean", "max")
Side = Literal["senders", "receivers"]


def to_hyperedges(x: Tensor, H: TwoSided, *, values: Tensor | None = None, reduce: Reduce = "sum") -> Tensor:
    """What each hyperedge gathers from its vertices: the way there.

    Args:
        x: Features of the vertices, ``(..., N, heads, F')``.
        H: The hypergraph, or a block of one.
        values: A factor of each incidence of the senders and head, ``(..., incidences, heads)``; only with ``"sum"``.
        reduce: The ``"sum"`` of the members, their ``"mean"``, or the ``"max"`` of each feature.

    Returns:
        ``(..., M, heads, F')``; 0 for an empty hyperedge.

    Example:
        >>> import torch
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3)
        >>> to_hyperedges(torch.tensor([1.0, 2.0, 4.0]).view(3, 1, 1), H, reduce="mean").flatten()
        tensor([1.5000, 3.0000])
    """
    check_hypergraph(H)
    check_heads("x", x, H.n_vertices, H.device)
    _check_reduce(reduce, values)
    if reduce == "max" and H.parts is not None:
        raise ValueError(
            'reduce="max" needs all members of a hyperedge in one process; got a shard. Use reduce="mean" or "sum".'
        )
    if reduce == "mean":
        return _by_head(hyperedge_mean(x.flatten(-2), H), x)
    own = _reduced(x, H.senders.T, values, reduce, H.senders)
    gathered = own if H.parts is None else kernels.total(own.flatten(-2), H.parts).reshape(own.shape)
    return gathered if values is not None or reduce == "max" else _standing_for_all(gathered, H.hyperedge_scale)


def to_vertices(messages: Tensor, H: TwoSided, *, values: Tensor | None = None, reduce: Reduce = "sum") -> Tensor:
    """What each vertex gathers from its hyperedges: the way back.

    Args:
        messages: Features of the hyperedges, ``(..., M, heads, F')``.
        H: The hypergraph, or a block of one.
        values: A factor of each incidence of the receivers and head, ``(..., incidences, heads)``; only with ``"sum"``.
        reduce: The ``"sum"`` of the hyperedges, their ``"mean"`` weighted by ``H.weight``, or the ``"max"`` of each
            feature.

    Returns:
        ``(..., receivers, heads, F')``; 0 for a vertex without hyperedges.

    Example:
        >>> import torch
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3, weight=[1.0, 3.0])
        >>> to_vertices(torch.tensor([2.0, 6.0]).view(2, 1, 1), H, reduce="mean").flatten()
        tensor([2., 5., 6.])
    """
    check_hypergraph(H)
    check_heads("messages", messages, H.n_hyperedges, H.device)
    _check_reduce(reduce, values)
    if reduce == "mean":
        return _by_head(vertex_mean(messages.flatten(-2), H), messages)
    gathered = _reduced(messages, H.receivers, values, reduce, H.receivers)
    return gathered if values is not None or reduce == "max" else _standing_for_all(gathered, H.receiver_scale)


def propagate(
    x: Tensor,
    H: TwoSided,
    *,
    left: Tensor | None = None,
    middle: Tensor | None = None,
    right: Tensor | None = None,
    values: Tensor | None = None,
    receiver_values: Tensor | None = None,
) -> Tensor:
    """Both ways in one step, ``left R middle Sᵀ right X``: the fastest form if nothing happens at the hyperedges.

    Args:
        x: Features of the vertices, ``(..., N, heads, F')``.
        H: The hypergraph, or a block of one.
        left: A factor of each receiver, ``(..., receivers, heads or 1)``; 1 if omitted.
        middle: A factor of each hyperedge, ``(..., M, heads or 1)``.
        right: A factor of each sender, ``(..., N, heads or 1)``.
        values: A factor of each incidence of the senders and head, ``(..., incidences, heads)``.
        receiver_values: The same for the receivers; needed with ``values``.

    Returns:
        ``(..., receivers, heads, F')``.

    Example:
        >>> import torch
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3)
        >>> size = H.hyperedge_degree().float().unsqueeze(-1)
        >>> propagate(torch.tensor([1.0, 2.0, 4.0]).view(3, 1, 1), H, middle=1 / size).flatten()
        tensor([1.5000, 4.5000, 3.0000])
    """
    check_hypergraph(H)
    check_heads("x", x, H.n_vertices, H.device)
    if (values is None) != (receiver_values is None):
        raise ValueError(
            "values and receiver_values must be given together: those of the senders and of the receivers."
        )
    heads = x.shape[-2]
    sizes = {"left": (left, H.n_receivers), "middle": (middle, H.n_hyperedges), "right": (right, H.n_vertices)}
    for name, (factor, rows) in sizes.items():
        if factor is not None:
            width = (
                heads
                if isinstance(factor, Tensor) and not factor.is_nested and factor.dim() and factor.shape[-1] == heads
                else 1
            )
            check_like(name, factor, x, (rows, width), "one entry per row and head, or one per row")
    if values is None:
        left, middle = _times(left, H.receiver_scale, x), _times(middle, H.hyperedge_scale, x)
    factors = {"left": left, "middle": middle, "right": right}
    if values is not None and receiver_values is not None:
        _check_values("values", values, H.senders, x)
        _check_values("receiver_values", receiver_values, H.receivers, x)
    elif heads == 1 or all(one is None or one.shape[-1] == 1 for one in factors.values()):
        flat = kernels.transition(x.flatten(-2), H.senders, H.receivers, **factors, parts=H.parts)
        return _by_head(flat, x)
    else:
        values, receiver_values = (x.new_ones(pairs.n_pairs, heads) for pairs in (H.senders, H.receivers))
    of_pairs = {"values": values, "receiver_values": receiver_values}
    return kernels.transition(x, H.senders, H.receivers, **factors, **of_pairs, parts=H.parts)


def softmax_over_hyperedges(
    vertex_score: Tensor, hyperedge_score: Tensor, H: TwoSided, *, negative_slope: float = 0.2
) -> Tensor:
    """Attention of each vertex to its hyperedges, for the way back: softmax of LeakyReLU of the sum of both scores.

    Args:
        vertex_score: Score of each receiver and head, ``(..., receivers, heads)``.
        hyperedge_score: Score of each hyperedge and head, ``(..., M, heads)``.
        H: The hypergraph, or a block of one.
        negative_slope: Slope of LeakyReLU below 0.

    Returns:
        Values of the receivers' incidences for :func:`to_vertices`, ``(..., incidences, heads)``.

    Example:
        >>> import torch
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2)
        >>> softmax_over_hyperedges(torch.zeros(2, 1), torch.zeros(2, 1), H).flatten()
        tensor([1.0000, 0.5000, 0.5000])
    """
    check_hypergraph(H)
    _check_scores(vertex_score, hyperedge_score, H.n_receivers, H)
    check_slope(negative_slope)
    return kernels.attend(vertex_score, hyperedge_score, H.receivers, negative_slope)


def softmax_over_members(
    vertex_score: Tensor, hyperedge_score: Tensor, H: TwoSided, *, negative_slope: float = 0.2
) -> Tensor:
    """Attention of each hyperedge to its members, for the way there: softmax of LeakyReLU of the sum of both scores.

    Args:
        vertex_score: Score of each sender and head, ``(..., N, heads)``.
        hyperedge_score: Score of each hyperedge and head, ``(..., M, heads)``.
        H: The hypergraph, or a block of one.
        negative_slope: Slope of LeakyReLU below 0.

    Returns:
        Values of the senders' incidences for :func:`to_hyperedges`, ``(..., incidences, heads)``.

    Example:
        >>> import torch
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1]], n_vertices=2)
        >>> softmax_over_members(torch.zeros(2, 1), torch.zeros(2, 1), H).flatten()
        tensor([0.5000, 0.5000, 1.0000])
    """
    check_hypergraph(H)
    _check_scores(vertex_score, hyperedge_score, H.n_vertices, H)
    check_slope(negative_slope)
    return attend_over_vertices(vertex_score, hyperedge_score, H, H.senders, negative_slope)


def head_score(x: Tensor, vector: Tensor) -> Tensor:
    """Inner product of each row of ``x`` ``(..., rows, heads, F')`` with the vector of each head, ``(..., heads, F')``.

    Returns:
        ``(..., rows, heads)``.

    Example:
        >>> import torch
        >>> head_score(torch.ones(3, 2, 4), torch.ones(2, 4)).shape
        torch.Size([3, 2])
    """
    _check_number_type("x", x)
    if x.dim() < 3:
        raise ValueError(f"x must have shape (..., rows, heads, features); got {tuple(x.shape)}.")
    check_like("vector", vector, x, tuple(x.shape[-2:]), "one entry per head and feature")
    return kernels.head_scores(x, vector)[0]


def pair_product(x: Tensor, messages: Tensor, H: TwoSided, *, of: Side = "senders") -> Tensor:
    """Inner product, for each incidence and head, of the row of the vertex and the row of the hyperedge.

    Use it for values that depend on both rows. Distances follow as ``|x|² + |m|² - 2 x·m``.

    Args:
        x: Features of the vertices, ``(..., N, heads, F')``; those of the receivers if ``of="receivers"``.
        messages: Features of the hyperedges, ``(..., M, heads, F')``.
        H: The hypergraph, or a block of one.
        of: Which incidences: those of the ``"senders"``, for :func:`to_hyperedges`, or of the ``"receivers"``, for
            :func:`to_vertices`.

    Returns:
        ``(..., incidences, heads)`` in the order of :func:`incidences`.

    Example:
        >>> import torch
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3)
        >>> x = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]]).unsqueeze(1)  # (N, 1, F')
        >>> m = to_hyperedges(x, H, reduce="mean")  # (M, 1, F')
        >>> product = pair_product(x, m, H)
        >>> product.flatten()
        tensor([ 0.5000,  2.0000,  6.0000, 16.5000])
        >>> vertex, hyperedge = incidences(H)
        >>> (x.square().sum(-1)[vertex] + m.square().sum(-1)[hyperedge] - 2 * product).flatten()  # |x - m|²
        tensor([1.2500, 1.2500, 3.2500, 3.2500])
    """
    check_hypergraph(H)
    check_choice("of", of, ("senders", "receivers"))
    pairs = H.senders if of == "senders" else H.receivers
    check_heads("x", x, pairs.n_rows, H.device)
    check_heads("messages", messages, H.n_hyperedges, H.device)
    check_like("messages", messages, x, (H.n_hyperedges, *x.shape[-2:]), "the heads and features of x")
    return kernels.pair_dot(x, messages, pairs)


def incidences(H: TwoSided, of: Side = "senders") -> tuple[Tensor, Tensor]:
    """The rows of the vertices and the hyperedges of all incidences, in the order that values follow.

    Args:
        H: The hypergraph, or a block of one.
        of: The ``"senders"``, which hyperedges gather from, or the ``"receivers"``, which gather from hyperedges.
            They are the same in a hypergraph, and others in a block and in a directed hypergraph.

    Returns:
        Two tensors of ids, ``(incidences,)`` each.

    Example:
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3)
        >>> [one.tolist() for one in incidences(H)]
        [[0, 1, 1, 2], [0, 0, 1, 1]]
    """
    check_hypergraph(H)
    check_choice("of", of, ("senders", "receivers"))
    pairs = H.senders if of == "senders" else H.receivers
    return pairs.rows().long(), pairs.members.clone().long()


def of_receivers(x: Tensor, H: TwoSided) -> Tensor:
    """The rows of the vertices that receive, of ``(..., N, heads, F')``: all of them unless ``H`` is a block.

    Example:
        >>> import torch
        >>> from hypergnn import Hypergraph
        >>> block = Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3).around([2])
        >>> of_receivers(torch.arange(2.0).view(2, 1, 1), block).flatten()
        tensor([1.])
    """
    check_hypergraph(H)
    check_heads("x", x, H.n_vertices, H.device)
    return x if H.rows is None else x.index_select(-3, H.rows)


def _standing_for_all(total: Tensor, scale: Tensor | None) -> Tensor:
    """A sum over what a sampled block has drawn, scaled to the sum over all; ``(..., rows, heads, F')``."""
    return total if scale is None else total * scale.to(total.dtype).unsqueeze(-1).unsqueeze(-1)


def _times(factor: Tensor | None, scale: Tensor | None, x: Tensor) -> Tensor | None:
    """A factor of each row, ``(..., rows, heads or 1)``, times the scale of a sampled block."""
    if scale is None:
        return factor
    own = scale.to(x.dtype).unsqueeze(-1)  # (rows, 1)
    return own if factor is None else factor * own


def _reduced(x: Tensor, by: Incidence, values: Tensor | None, reduce: Reduce, pairs: Incidence) -> Tensor:
    """Rows of ``x`` reduced per group of ``by``, ``(..., groups, heads, F')``."""
    if values is not None:
        _check_values("values", values, pairs, x)
        return kernels.segment_sum(x, by=by, values=values)
    step = kernels.segment_max if reduce == "max" else kernels.segment_sum
    return _by_head(step(x.flatten(-2), by), x)


def _by_head(flat: Tensor, like: Tensor) -> Tensor:
    """``(..., rows, heads * F')`` as ``(..., rows, heads, F')``."""
    return flat.reshape(*flat.shape[:-1], *like.shape[-2:])


def _check_reduce(reduce: str, values: Tensor | None) -> None:
    check_choice("reduce", reduce, REDUCE)
    if values is not None and reduce != "sum":
        raise ValueError(f"values must be omitted with reduce={reduce!r}: they are factors of a sum.")


def _check_values(name: str, values: Tensor, pairs: Incidence, x: Tensor) -> None:
    check_like(name, values, x, (pairs.n_pairs, x.shape[-2]), "one entry per incidence and head")


def _check_scores(vertex_score: Tensor, hyperedge_score: Tensor, n_rows: int, H: TwoSided) -> None:
    for name, score in (("vertex_score", vertex_score), ("hyperedge_score", hyperedge_score)):
        _check_number_type(name, score)
    if hyperedge_score.device != H.device:
        raise ValueError(
            f"hyperedge_score is on {hyperedge_score.device} but the structure is on {H.device}: move one of them with "
            ".to()."
        )
    heads = vertex_score.shape[-1] if vertex_score.dim() else 1
    like = hyperedge_score
    check_like("vertex_score", vertex_score, like, (n_rows, heads), "one entry per vertex and head")
    check_like("hyperedge_score", hyperedge_score, like, (H.n_hyperedges, heads), "one entry per hyperedge and head")


def _check_number_type(name: str, tensor: object) -> None:
    """Raise unless this is a tensor of floating-point numbers."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a torch tensor; got {type(tensor).__name__}.")
    check_plain(name, tensor)
    if tensor.dtype not in WIDE:
        raise TypeError(
            f"{name} must be float32, float64 or bfloat16; got {tensor.dtype}. Convert it, e.g. {name}.float()."
        )
