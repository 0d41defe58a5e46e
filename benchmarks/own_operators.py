"""Operators of one's own on our steps, and the same written with PyG's: a forward and backward pass on one core.

    python -m benchmarks.own_operators unigat all-deep-sets

Without names, all are measured. ``--write`` puts the numbers into docs/own_operators.md. Processor time of one core, so
that other programs disturb little.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu, relu

from benchmarks.inputs import skewed
from benchmarks.measuring import Contestant, Say, Work, interleave, prepare, ratios
from hypergnn import Hypergraph, functional
from hypergnn.layers import Dense, Operator
from hypergnn.persistence.files import write_atomic

PAGE = Path(__file__).parents[1] / "docs" / "own_operators.md"
BEGIN, END = "<!-- speed: written by `python -m benchmarks.own_operators --write` -->", "<!-- end of speed -->"
FEATURES, HEADS = 64, 8


class UniGAT(Operator):
    """``x_i' = Σ_e α_ie m_e``, ``α_ie = softmax_e LeakyReLU(a·[x_i ‖ m_e])``, with the mean ``m_e`` of the members."""

    def __init__(
        self, in_features: int, out_features: int, *, heads: int = 1, bias: bool = True, skip: bool = False
    ) -> None:
        """Create and draw the parameters."""
        super().__init__(in_features, out_features, heads=heads, bias=bias, skip=skip)
        self.a_vertex = nn.Parameter(torch.empty(heads, out_features))
        self.a_hyperedge = nn.Parameter(torch.empty(heads, out_features))
        self.reset_parameters()

    def to_vertices(self, messages: Tensor, x: Tensor, H: Any) -> Tensor:
        """The messages weighted by attention."""
        scores = functional.head_score(x, self.a_vertex), functional.head_score(messages, self.a_hyperedge)
        return functional.to_vertices(messages, H, values=functional.softmax_over_hyperedges(*scores, H))


class AllDeepSets(Operator):
    """``m_e = relu(Q mean_j relu(x_j P))``, ``x_i' = R relu(mean_e m_e)``: a network at the hyperedges."""

    def __init__(
        self, in_features: int, out_features: int, *, heads: int = 1, bias: bool = True, skip: bool = False
    ) -> None:
        """Create and draw the parameters."""
        super().__init__(in_features, out_features, heads=heads, bias=bias, skip=skip)
        width = heads * out_features
        self.update, self.out = Dense(width, width), Dense(width, width)
        self.reset_parameters()

    def to_hyperedges(self, x: Tensor, H: Any) -> Tensor:
        """The mean of the members, through a layer of the hyperedges' own."""
        gathered = functional.to_hyperedges(relu(x), H, reduce="mean")
        return relu(self.update(gathered.flatten(-2))).view_as(gathered)

    def to_vertices(self, messages: Tensor, x: Tensor, H: Any) -> Tensor:  # noqa: ARG002
        """The mean of the messages, through another layer."""
        gathered = functional.to_vertices(messages, H, reduce="mean")
        out: Tensor = self.out(relu(gathered.flatten(-2)))
        return out.view_as(gathered)


def pyg_unigat(layer: UniGAT, x: Tensor, index: Tensor) -> Tensor:
    """The same operator by gathering and scattering, as PyG's users write it."""
    from torch_geometric.utils import scatter, softmax

    vertex, hyperedge = index
    n, heads = x.shape[0], layer.heads
    projected = (x @ layer.projection).view(n, heads, -1)
    m = scatter(projected[vertex], hyperedge, reduce="mean")
    score = (projected * layer.a_vertex).sum(-1)[vertex] + (m * layer.a_hyperedge).sum(-1)[hyperedge]
    alpha = softmax(leaky_relu(score, 0.2), vertex, num_nodes=n)
    out: Tensor = scatter(alpha.unsqueeze(-1) * m[hyperedge], vertex, dim_size=n, reduce="sum")
    return out.flatten(-2) if layer.bias is None else out.flatten(-2) + layer.bias


def pyg_deep_sets(layer: AllDeepSets, x: Tensor, index: Tensor) -> Tensor:
    """The same for the other."""
    from torch_geometric.utils import scatter

    vertex, hyperedge = index
    m = scatter(relu(x @ layer.projection)[vertex], hyperedge, reduce="mean")
    m = relu(layer.update(m))
    out: Tensor = layer.out(relu(scatter(m[hyperedge], vertex, dim_size=x.shape[0], reduce="mean")))
    return out if layer.bias is None else out + layer.bias


CASES: dict[str, tuple[type[Operator], Callable[..., Tensor]]] = {
    "unigat": (UniGAT, pyg_unigat),
    "all-deep-sets": (AllDeepSets, pyg_deep_sets),
}


def works(name: str, H: Hypergraph) -> tuple[Work, Work]:
    """A forward and backward pass of ours, and of PyG's, with the same parameters."""
    kind, theirs = CASES[name]
    torch.manual_seed(0)
    layer = kind(FEATURES, FEATURES // HEADS, heads=HEADS)
    x = torch.rand(H.n_vertices, FEATURES, requires_grad=True)
    gradient = torch.rand(H.n_vertices, FEATURES)
    index = torch.stack([H.vertex.long(), H.hyperedge.long()])

    def of(run: Callable[[], Tensor]) -> Work:
        def work(times: int) -> None:
            for _ in range(times):
                layer.zero_grad()
                x.grad = None
                run().backward(gradient)

        return work

    return of(lambda: layer(x, H)), of(lambda: theirs(layer, x, index))


def measure(name: str, say: Say, *, n_incidences: int, repetitions: int = 5, seconds: float = 0.2) -> dict[str, Any]:
    """Seconds of processor time of a pass of ours and of PyG's, in turns."""
    H = skewed(n_incidences // 10, n_incidences // 10, n_incidences)
    pair = zip(("ours", "PyG"), works(name, H), strict=True)
    ours, theirs = (
        prepare(Contestant(title, work, threads=1), seconds=seconds, all_threads=1, clock=time.process_time)
        for title, work in pair
    )
    return interleave(ours, [theirs], repetitions=repetitions, say=say, clock=time.process_time)


def with_numbers(page: str, measured: dict[str, dict[str, Any]], n_incidences: int) -> str:
    """The page with the table of speeds replaced."""
    rows = ["| operator | hypergnn | PyG | PyG / hypergnn |", "|---|---|---|---|"]
    for name, case in measured.items():
        pair = case["peers"]["PyG"]
        ours, theirs, ratio = median(pair["ours"]), median(pair["theirs"]), ratios(pair)
        spread = f"{ratio.median:.1f} ({ratio.lower:.1f} to {ratio.upper:.1f})"
        rows.append(f"| `{name}` | {1e3 * ours:.0f} ms | {1e3 * theirs:.0f} ms | {spread} |")
    size = f"{n_incidences:,}".replace(",", " ")
    about = (
        f"A forward and backward pass over {size} incidences, a tenth as many vertices and hyperedges, {FEATURES}\n"
        f"features in {HEADS} heads; processor time of one core, medians and quartiles."
    )
    before, _, rest = page.partition(BEGIN)
    return before + "\n".join([BEGIN, about, "", *rows, END]) + rest.partition(END)[2]


def main(arguments: list[str]) -> int:
    """Measure the chosen operators, print the times and, if asked, write them into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.own_operators", description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--incidences", type=int, default=500_000, metavar="N", help="default: 500000")
    parser.add_argument("--write", action="store_true", help="write the numbers into docs/own_operators.md")
    options = parser.parse_args(arguments)
    chosen = options.cases or list(CASES)
    if unknown := [name for name in chosen if name not in CASES]:
        parser.error(f"CASE must be one of {', '.join(CASES)}; got {unknown[0]!r}")
    measured = {}
    for name in chosen:
        measured[name] = measure(name, lambda _: None, n_incidences=options.incidences)
        pair = measured[name]["peers"]["PyG"]
        times = f"hypergnn {1e3 * median(pair['ours']):.1f} ms, PyG {1e3 * median(pair['theirs']):.1f} ms"
        print(f"{name}: {times}; {ratios(pair).median:.1f} times as fast", flush=True)
    if options.write:
        write_atomic(PAGE, with_numbers(PAGE.read_text(encoding="utf-8"), measured, options.incidences).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
