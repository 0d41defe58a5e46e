"""PyG's ``HypergraphConv``: its constructor, its call and its parameters, with the paper's mathematics."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from hypergnn import functional, kernels
from hypergnn._utils.checks import check_choice, check_number, check_size
from hypergnn.functional.attention import SoftmaxOver, attended_conv
from hypergnn.functional.checks import Features
from hypergnn.functional.projection import project
from hypergnn.kernels.dropout import dropout as drop
from hypergnn.pyg.known import Structure, sparse_if_few, structure_of, with_weight
from hypergnn.pyg.projection import LazyProjection, Projection, glorot
from hypergnn.structures.hypergraph import Hypergraph

AttentionMode = Literal["node", "edge"]
_SOFTMAX_OVER: dict[str, SoftmaxOver] = {"node": "vertices", "edge": "hyperedges"}


class HypergraphConv(nn.Module):
    """Hypergraph convolution and attention in place of ``torch_geometric.nn.HypergraphConv``.

    ``X' = D^-1 H W B^-1 Hᵀ X Θ``. With attention, the learned incidence takes the place of ``H`` everywhere, in ``D``
    and ``B`` as well. PyG uses ``W`` in ``D`` only, and counts zeros and ones in ``D`` and ``B`` even with attention;
    ``exact=False`` does the same. Parameters have PyG's names and shapes, so its ``state_dict`` loads, and the same
    seed draws the same ones.

    The structure is made of ``hyperedge_index`` once and used again as long as the ids are the same. Constant features
    that are mostly zeros, such as bags of words, are multiplied sparsely.

    Args:
        in_channels: Features per vertex; -1 takes the number from the first call.
        out_channels: Features per vertex and head in the output.
        use_attention: Whether to learn the incidence.
        attention_mode: ``"node"`` takes the softmax over the vertices of each hyperedge, ``"edge"`` over the hyperedges
            of each vertex, which is the paper's.
        heads: Number of attentions side by side; 1 without attention.
        concat: Whether to concatenate the heads; their mean otherwise.
        negative_slope: Slope of LeakyReLU below 0.
        dropout: In training, probability of dropping an entry of the attended incidence, after ``D`` and ``B`` were
            taken.
        bias: Add a learned bias.
        exact: Whether to compute what the paper says; ``False`` gives PyG's numbers, in training with dropout as well.

    Example:
        >>> hyperedge_index = torch.tensor([[0, 1, 2, 1, 2, 3], [0, 0, 0, 1, 1, 1]])
        >>> conv = HypergraphConv(16, 8)
        >>> conv, conv(torch.rand(4, 16), hyperedge_index).shape
        (HypergraphConv(16, 8), torch.Size([4, 8]))
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        use_attention: bool = False,
        attention_mode: AttentionMode = "node",
        heads: int = 1,
        concat: bool = True,
        negative_slope: float = 0.2,
        dropout: float = 0,
        bias: bool = True,
        *,
        exact: bool = True,
    ) -> None:
        """Create and draw the parameters."""
        super().__init__()
        check_choice("attention_mode", attention_mode, ("node", "edge"))
        self.in_channels = in_channels if in_channels == -1 else check_size("in_channels", in_channels, minimum=1)
        self.out_channels = check_size("out_channels", out_channels, minimum=1)
        self.use_attention = use_attention
        self.attention_mode = attention_mode
        self.heads = check_size("heads", heads, minimum=1) if use_attention else 1
        self.concat = concat or not use_attention
        self.negative_slope = check_number("negative_slope", negative_slope)
        self.dropout = check_number("dropout", dropout, below=1)
        self.exact = exact
        width = self.heads * out_channels
        self.lin: nn.Linear = LazyProjection(width) if in_channels == -1 else Projection(in_channels, width)
        self.att = nn.Parameter(torch.empty(1, self.heads, 2 * out_channels)) if use_attention else None
        self.bias = nn.Parameter(torch.empty(width if self.concat else out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters, in PyG's order."""
        self.lin.reset_parameters()
        if self.att is not None:
            glorot(self.att)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(
        self,
        x: Features,
        hyperedge_index: Tensor,
        hyperedge_weight: Tensor | None = None,
        hyperedge_attr: Features | None = None,
        num_edges: int | None = None,
    ) -> Tensor:
        """Convolve ``x`` over the hypergraph.

        Args:
            x: Features of the vertices, ``(N, in_channels)``, dense or sparse CSR.
            hyperedge_index: Vertex and hyperedge of each incidence, ``(2, incidences)``.
            hyperedge_weight: Weight of each hyperedge, ``(M,)``, not negative; gradients flow into it. All ones if
                omitted.
            hyperedge_attr: Features of each hyperedge, ``(M, in_channels)``, for attention; the means of the members
                if omitted.
            num_edges: Number of hyperedges ``M``. Nothing depends on it but this: a compiled program cannot look at
                the ids, so it needs this number, weights or features of the hyperedges.

        Returns:
            ``(N, heads * out_channels)``, or ``(N, out_channels)`` without ``concat``.

        Raises:
            ValueError: If an id is out of range, shapes do not fit, a weight is negative or not finite, or, unless
                ``exact=False``, an incidence occurs twice.
        """
        if isinstance(self.lin, nn.LazyLinear):
            self.lin(torch.empty(0, x.shape[-1], dtype=x.dtype, device=x.device))  # takes the number of features
        sizes = [num_edges, *(None if one is None else one.shape[0] for one in (hyperedge_weight, hyperedge_attr))]
        known = [size for size in sizes if size is not None]
        n_hyperedges = min(known) if known else None
        structure = structure_of(hyperedge_index, x.shape[0], n_hyperedges, may_repeat=not self.exact)
        H = structure.H
        for name, size in zip(("num_edges", "hyperedge_weight", "hyperedge_attr"), sizes, strict=True):
            _check_covers(name, size, H.n_hyperedges)
        weight = None if hyperedge_weight is None else hyperedge_weight[: H.n_hyperedges].to(x.dtype)
        if self.exact and weight is not None:
            _check_weight(weight)
            if not weight.requires_grad and not torch.compiler.is_compiling():
                H, weight = with_weight(structure, weight), None
        x = sparse_if_few(x)
        if self.att is None:
            out = self._convolved(x, H, weight, structure.times)
        else:
            out = self._attended(x, H, weight, hyperedge_attr, structure)
        return out if self.bias is None else out + self.bias

    def _convolved(self, x: Features, H: Hypergraph, weight: Tensor | None, times: Tensor | None) -> Tensor:
        projection = self.lin.weight.t()
        if self.exact or (weight is None and times is None):
            return functional.hypergraph_conv(x, H, normalization="row", projection=projection, weight=weight)
        values = None if times is None else times.to(x.dtype).unsqueeze(-1)  # (n_incidences, 1)
        left, middle = _counted(H, x.dtype, weight, values)
        narrow = project(x, projection).to(x.dtype)
        if values is None:
            return kernels.transition(narrow, H.senders, H.receivers, left=left, middle=middle)
        rows = narrow.unsqueeze(-2)  # (N, 1, F'): one head
        return kernels.transition(rows, H.senders, H.receivers, left=left, middle=middle, values=values).squeeze(-2)

    def _attended(
        self, x: Features, H: Hypergraph, weight: Tensor | None, attr: Features | None, structure: Structure
    ) -> Tensor:
        projected = self._by_head(x)  # (N, heads, F')
        of_hyperedges = self._of_hyperedges(attr, H.n_hyperedges)  # (M, heads, F')
        a_vertex, a_hyperedge = self.att[0].chunk(2, dim=-1)  # type: ignore[index]  # (heads, F') each
        over = _SOFTMAX_OVER[self.attention_mode]
        scored = (projected, of_hyperedges, H, a_vertex, a_hyperedge)
        if self.exact:  # no incidence occurs twice
            out, _ = attended_conv(
                *scored,
                normalization="row",
                softmax_over=over,
                negative_slope=self.negative_slope,
                weight=weight,
                drop=lambda incidence, _: self._dropped(incidence, structure.place, None),
            )
            return self._joined(out)
        incidence = functional.attention_incidence(
            *scored, softmax_over=over, negative_slope=self.negative_slope
        )  # (n_incidences, heads)
        values = None if structure.times is None else structure.times.to(incidence.dtype).unsqueeze(-1)
        if values is not None:
            incidence = _softmax_of_repeated(incidence * values, H, over)
        dropped = self._dropped(incidence, structure.place, values)
        left, middle = _counted(H, incidence.dtype, weight, values)
        return self._joined(
            kernels.transition(projected, H.senders, H.receivers, left=left, middle=middle, values=dropped)
        )

    def _joined(self, out: Tensor) -> Tensor:
        """The heads side by side, or their mean."""
        return out.flatten(-2) if self.concat else out.mean(-2)

    def _by_head(self, x: Features) -> Tensor:
        projected = project(x, self.lin.weight.t()).to(self.lin.weight.dtype)  # whatever autocast has multiplied in
        return projected.reshape(*projected.shape[:-1], self.heads, self.out_channels)

    def _of_hyperedges(self, attr: Features | None, n_hyperedges: int) -> Tensor | None:
        if attr is not None:
            return self._by_head(sparse_if_few(attr))[:n_hyperedges]
        if self.exact:
            return None
        raise ValueError("hyperedge_attr must be given with exact=False: PyG has no attention without it.")

    def _dropped(self, incidence: Tensor, place: Tensor | None, times: Tensor | None) -> Tensor:
        """The incidence after dropout; with ``exact=False``, after what PyG drops of its columns in their own order."""
        if not self.training or self.dropout == 0:
            return incidence
        if place is None:
            return drop(incidence, self.dropout)
        columns = nn.functional.dropout(incidence.new_ones(place.shape[0], self.heads), self.dropout)
        left = torch.zeros_like(incidence).index_add(0, place, columns)
        return incidence * (left if times is None else left / times)

    def __repr__(self) -> str:
        """As PyG shows it."""
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels})"


def _counted(H: Hypergraph, dtype: torch.dtype, weight: Tensor | None, times: Tensor | None) -> tuple[Tensor, Tensor]:
    """``D^-1`` and ``B^-1`` as PyG takes them, from zeros and ones: ``(N, 1)`` and ``(M, 1)``.

    Args:
        H: The hypergraph.
        dtype: The dtype of the features.
        weight: Weights of the hyperedges; all ones if ``None``.
        times: How often each incidence is listed, ``(n_incidences, 1)``; once if ``None``.
    """
    counts = torch.ones(H.n_incidences, 1, dtype=dtype, device=H.device) if times is None else times
    degree = kernels.value_sums(counts, H.senders, weight)  # D  (N, 1)
    size = kernels.value_sums(counts, H.senders.T)  # B  (M, 1)
    return _inverse(degree), _inverse(size)


def _softmax_of_repeated(incidence: Tensor, H: Hypergraph, over: SoftmaxOver) -> Tensor:
    """The softmax over all columns from one over different ones, each times the number of its columns."""
    by, group = (H.senders, H._vertex_ids) if over == "hyperedges" else (H.senders.T, H._hyperedge_ids)
    return incidence / kernels.value_sums(incidence, by).index_select(0, group)


def _inverse(degree: Tensor) -> Tensor:
    is_zero = degree == 0
    return torch.where(is_zero, 0.0, 1 / torch.where(is_zero, 1.0, degree))


def _check_covers(name: str, size: int | None, n_hyperedges: int) -> None:
    if size is not None and size < n_hyperedges:
        what = "be" if name == "num_edges" else "have"
        rows = "" if name == "num_edges" else " rows, one per hyperedge"
        raise ValueError(
            f"{name} must {what} at least {n_hyperedges}{rows}: the largest hyperedge id is {n_hyperedges - 1}; "
            f"got {size}."
        )


def _check_weight(weight: Tensor) -> None:
    if weight.dim() != 1:
        raise ValueError(f"hyperedge_weight must have one entry per hyperedge; got {tuple(weight.shape)}.")
    if torch.compiler.is_compiling() or weight.shape[0] == 0:
        return
    least, largest = map(float, weight.detach().aminmax())
    if not 0 <= least <= largest < float("inf") or largest == 0:
        raise ValueError(
            f"hyperedge_weight must be finite, not negative and not all 0; got values from {least:g} to {largest:g}. "
            "For PyG's numbers with such weights use exact=False."
        )
