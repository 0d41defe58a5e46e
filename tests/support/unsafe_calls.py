"""Calls of public functions with arguments that do not fit: each must return or raise an ordinary exception.

Run as ``python -m support.unsafe_calls EVERY ROOM …``; makes every so many of the calls, and prints how many it made
and how many of them raised. Each argument is replaced in turn by each of the things that a caller may confuse it with,
and some pairs of arguments at random.
"""

import copy
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array

import hypergnn as hg
from hypergnn import Graph, Hypergraph, SharedGraph, functional, kernels
from hypergnn.kernels import Dropout
from hypergnn.structures import Incidence, SparseFeatures

H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3], [3]], n_vertices=5, weight=[1.0, 3.0, 2.0], centroid=[0, -1, 3])
LARGE = Hypergraph.from_hyperedges([range(k, k + 40) for k in range(60)], n_vertices=100)
GRAPH = Graph.from_links([0, 1, 2], [1, 2, 3], n_vertices=5)
BLOCK = H.around([1, 3], attention=True)
PAIRS = H.incidence
N, M, E = 5, 3, 7
KEYS = torch.tensor([[1, 2], [3, 4]], dtype=torch.int32)


def bad_csr() -> torch.Tensor:
    crow, col = torch.tensor([0, 1, 2, 3, 4, 5]), torch.tensor([0, 1, 10**9, -5, 1])
    return torch.sparse_csr_tensor(crow, col, torch.ones(5), (N, 4), check_invariants=False)


def bad_pairs() -> list[Incidence]:
    """Pairs with one thing wrong each."""
    ids = torch.int32
    far = torch.tensor([0, 0, 1, 0, 1, 1, 2**30], dtype=ids)
    return [
        PAIRS._replace(members=far),
        PAIRS._replace(members=-PAIRS.members),
        PAIRS._replace(back_members=far),
        PAIRS._replace(back_position=far),
        PAIRS._replace(position=far),
        PAIRS._replace(back_position=None),
        PAIRS._replace(offsets=torch.tensor([0, 1, 3, 5, 7, 2**30], dtype=ids)),
        PAIRS._replace(offsets=torch.tensor([0, -9, 3, 5, 7, 7], dtype=ids)),
        PAIRS._replace(offsets=PAIRS.offsets.long()),
        PAIRS._replace(members=PAIRS.members[:3]),
        PAIRS._replace(offsets=torch.zeros(0, dtype=ids)),
        PAIRS._replace(members=PAIRS.members.float()),
        Incidence(*[one.repeat_interleave(2)[::2] if one is not None else None for one in PAIRS]),
        changed_in_place(),
    ]


def changed_in_place() -> Incidence:
    own = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3], [3]], n_vertices=5).incidence
    own.members[0] = 10**9
    return own


def wrong() -> list[Any]:
    """What a caller may pass by mistake."""
    shapes = [(), (0,), (1,), (5,), (7,), (1, 1), (5, 2), (3, 2), (7, 1), (7, 64), (4, 2, 3), (5, 64, 8), (2, 5, 1, 3)]
    shapes += [(0, 2), (5, 0), (0, 5, 2, 3), (5, 0, 3), (3, 5, 1), (1, 3, 64), (2, 7, 2)]
    tensors = [torch.ones(shape) for shape in shapes]
    kinds = [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64]
    tensors += [torch.ones(5, 2).to(kind) for kind in kinds]
    others = [torch.ones(5, 2, device="meta"), torch.eye(5).to_sparse(), torch.eye(5)[:, :4].to_sparse_csr(), bad_csr()]
    others += [
        torch.full((5, 2), torch.nan),
        torch.full((5, 2), 1e38),
        torch.ones(5, 4).t(),
        torch.ones(1).expand(5, 2),
    ]
    structures = [H, LARGE, GRAPH, BLOCK, SharedGraph.from_hypergraph(H), PAIRS, PAIRS.T, LARGE.incidence, *bad_pairs()]
    features = [SparseFeatures.from_scipy(csr_array(np.eye(5, 4))), np.ones((5, 2)), csr_array(np.eye(5, 3))]
    ids = [torch.tensor([0, 10**9]), torch.tensor([-7, 1], dtype=torch.int32), np.array([2**40]), [0, 10**6], [-1]]
    plain = [None, True, "row", "no", 0, -1, 2**40, 0.5, 1.0, float("nan"), [], [[]], {}, (), object()]
    draws = [
        Dropout(0.5, KEYS),
        Dropout(1.0, KEYS),
        Dropout(0.5, KEYS.long()),
        Dropout(0.5, KEYS[:1], torch.arange(99)),
    ]
    return [*tensors, *others, *structures, *features, *ids, *plain, *draws]


def of_kernels() -> list[tuple[Callable[..., Any], dict[str, Any]]]:
    x, heads, values = torch.rand(N, 2), torch.rand(N, 2, 3), torch.rand(E, 2)
    left, middle = torch.rand(1, N, 1), torch.rand(1, M, 1)
    sides = {"senders": PAIRS, "receivers": PAIRS}
    csr = torch.eye(5)[:, :4].to_sparse_csr()
    attended = {"x": heads, **sides, "left": torch.rand(N, 2), "middle": torch.rand(M, 2), "right": None}
    dropped = {"x": torch.rand(2, M, 3), "by": PAIRS, "values": torch.rand(E), "dropout": Dropout(0.5, KEYS)}
    return [
        (kernels.segment_sum, {"x": x, "by": PAIRS.T, "values": None, "dropout": None}),
        (kernels.segment_sum, {"x": heads, "by": PAIRS.T, "values": values, "dropout": None}),
        (kernels.segment_sum, dropped),
        (kernels.transition, {"x": x, **sides, "left": left, "middle": middle, "right": left}),
        (kernels.transition, {**attended, "values": values, "receiver_values": None}),
        (kernels.transition, {**attended, "values": values, "receiver_values": values.clone()}),
        (kernels.activated_transition, {"x": x, **sides, "left": left, "middle": middle, "right": left, "bias": x[0]}),
        (kernels.value_sums, {"values": values, "by": PAIRS, "weight": torch.rand(M)}),
        (kernels.attend, {"ours": x, "theirs": torch.rand(M, 2), "by": PAIRS, "slope": 0.2}),
        (kernels.segment_softmax, {"logits": values, "by": PAIRS}),
        (kernels.pair_dot, {"ours": heads, "theirs": torch.rand(M, 2, 3), "by": PAIRS}),
        (lambda x, a, b: kernels.head_scores(x, a, b), {"x": heads, "a": heads[0], "b": heads[1]}),
        (kernels.matmul, {"x": x, "projection": torch.rand(3, 2, 4)}),
        (kernels.matmul_gradient, {"x": torch.rand(3, N, 2), "grad": torch.rand(3, N, 4)}),
        (kernels.csr_matmul, {"x": csr, "projection": torch.rand(4, 2)}),
        (
            kernels.cross_entropy,
            {"scores": torch.rand(2, N, 3), "classes": torch.arange(N) % 3, "rows": torch.arange(3)},
        ),
        (kernels.seeded_dropout, {"x": torch.rand(2, N, 3), "dropout": Dropout(0.5, KEYS, torch.arange(N))}),
        (kernels.elu_dropout, {"x": torch.rand(2, N, 3), "bias": torch.rand(3), "dropout": Dropout(0.5, KEYS)}),
        (kernels.relu_dropout, {"x": torch.rand(2, N, 3), "bias": torch.rand(3), "dropout": Dropout(0.5, KEYS)}),
        (kernels.inverse, {"degree": x, "root": True, "least": 0.0}),
    ]


def of_functions() -> list[tuple[Callable[..., Any], dict[str, Any]]]:
    x, heads, a = torch.rand(N, 4), torch.rand(N, 2, 3), torch.rand(2, 3)
    given = {"H": H, "normalization": "row", "weight": torch.rand(M)}
    scores = {"a_vertex": a, "a_hyperedge": a, "softmax_over": "vertices", "negative_slope": 0.2}
    links = torch.rand(GRAPH.links.n_pairs, 2)
    return [
        (functional.hypergraph_conv, {"x": x, **given, "projection": torch.rand(4, 2)}),
        (functional.project, {"x": x.to_sparse_csr(), "projection": torch.rand(3, 4, 2)}),
        (
            functional.hypergraph_conv,
            {"x": torch.eye(5)[:, :4].to_sparse_csr(), "H": H, "projection": torch.rand(4, 2)},
        ),
        (functional.hypergraph_attention, {"x": heads, "incidence": torch.rand(E, 2), **given, "dropped": None}),
        (functional.attention_incidence, {"x": heads, "x_hyperedge": torch.rand(M, 2, 3), "H": H, **scores}),
        (functional.hyperedge_features, {"x": x, "H": H}),
        (functional.vertex_degree, {"H": H, "incidence": torch.rand(E, 2), "weight": torch.rand(M)}),
        (functional.hyperedge_degree, {"H": H, "incidence": torch.rand(E, 2)}),
        (functional.graph_conv, {"x": x, "graph": GRAPH, "normalization": "row", "projection": torch.rand(4, 2)}),
        (functional.attention_links, {"x": heads, "graph": GRAPH, "a_target": a, "a_source": a, "negative_slope": 0.2}),
        (functional.graph_attention, {"x": heads, "graph": GRAPH, "attention": links}),
        (functional.mean_conv, {"x": x, "graph": GRAPH, "H": H, "projection": torch.rand(4, 2)}),
        (functional.mean_attention, {"x": heads, "graph": GRAPH, "H": H, "attention": links, "incidence": links[:E]}),
        (functional.project, {"x": x, "projection": torch.rand(4, 2)}),
        (functional.pair_product, {"x": heads, "messages": torch.rand(M, 2, 3), "H": H, "of": "receivers"}),
    ]


def of_layers() -> list[tuple[Callable[..., Any], dict[str, Any]]]:
    x = torch.rand(N, 4)
    conv, attention = hg.HypergraphConv(4, 2, heads=2), hg.HypergraphAttention(4, 2, heads=2)
    own = hg.HypergraphAttention(4, 2, hyperedge_features=3, softmax_over="vertices")
    network = hg.Network(hg.Config(depth=2, hidden=2, heads=2), 4, 3)
    return [
        (conv, {"x": x, "H": H}),
        (hg.HypergraphConv(4, 2, learn_weight=True, skip=True), {"x": x, "H": H}),
        (attention, {"x": x, "H": H, "x_hyperedge": torch.rand(M, 4), "return_attention": False}),
        (own, {"x": x, "H": H, "x_hyperedge": torch.rand(M, 3), "return_attention": True}),
        (hg.GraphConv(4, 2), {"x": x, "graph": GRAPH}),
        (hg.GraphAttention(4, 2), {"x": x, "graph": GRAPH}),
        (network, {"x": x, "graph": None, "hypergraph": H}),
        (lambda H: network(torch.rand(5, 4), hypergraph=H), {"H": [H, H]}),
        (lambda H: conv(torch.rand(100, 4), H), {"H": LARGE}),
        (lambda H: attention(torch.rand(100, 4), H), {"H": LARGE}),
        (lambda pairs: conv(x, Hypergraph(pairs, H.weight, H._vertex_degree, H._hyperedge_degree)), {"pairs": PAIRS}),
        (lambda w: conv(x, Hypergraph(PAIRS, w, H._vertex_degree, H._hyperedge_degree)), {"w": H.weight}),
        (lambda d: conv(x, Hypergraph(PAIRS, H.weight, d, H._hyperedge_degree)), {"d": H._vertex_degree}),
        (lambda d: conv(x, Hypergraph(PAIRS, H.weight, H._vertex_degree, d)), {"d": H._hyperedge_degree}),
    ]


def of_structures() -> list[tuple[Callable[..., Any], dict[str, Any]]]:
    pairs = {"vertex": np.array([0, 1]), "hyperedge": np.array([0, 0]), "n_vertices": 3, "n_hyperedges": 2}
    more = {"weight": [1.0, 2.0], "centroid": [0, 1], "vertex_names": list("abc"), "hyperedge_names": [1, 2]}
    entries = SparseFeatures.from_scipy(csr_array(np.eye(5, 4)))
    return [
        (Hypergraph.from_incidence, pairs | more),
        (Hypergraph.from_hyperedges, {"hyperedges": [[0, 1], [1]], "n_vertices": 3, "weight": [1.0, 2.0]}),
        (Hypergraph.from_scipy, {"incidence": H.to_scipy(), "weight": None}),
        (Graph.from_links, {"source": [0, 1], "target": [1, 2], "n_vertices": 3}),
        (Graph.from_scipy, {"adjacency": csr_array(np.eye(3))}),
        (SharedGraph.from_hypergraph, {"H": H}),
        (SparseFeatures.from_scipy, {"matrix": csr_array(np.eye(3))}),
        (entries.select_rows, {"rows": torch.tensor([0, 2])}),
        (H.around, {"vertices": [0, 1], "attention": True}),
        (H.joined_by, {"memberships": csr_array(np.eye(2, 3)), "depth": 2}),
        (GRAPH.around, {"vertices": [0, 1]}),
        (GRAPH.neighbours, {"vertex": 0}),
        (SharedGraph.from_hypergraph(H).neighbours, {"vertex": 0}),
        (SharedGraph.from_hypergraph(H).around, {"vertices": [0]}),
        (PAIRS.select_rows, {"rows": np.array([0])}),
        (PAIRS.pairs_of, {"rows": np.array([0])}),
        (lambda pairs: Incidence.rows(pairs), {"pairs": PAIRS}),
        (lambda pairs: Incidence.to(pairs, "cpu").check(), {"pairs": PAIRS}),
        (copy.copy, {"x": H}),
    ]


def calls(kind: Callable[[], list[tuple[Callable[..., Any], dict[str, Any]]]]) -> Iterator[tuple[Any, Any, bool]]:
    """The right call first, then each argument in turn replaced by each wrong one, then two at a time at random."""
    rng = random.Random(0)
    for function, arguments in kind():
        yield function, arguments, True
        for name in arguments:
            for one in wrong():
                yield function, arguments | {name: one}, False
        mistakes = wrong()
        for _ in range(60 if len(arguments) > 1 else 0):
            changed = {name: rng.choice(mistakes) for name in rng.sample(sorted(arguments), 2)}
            yield function, arguments | changed, False


def main(every: int, rooms: list[str]) -> None:
    warnings.simplefilter("ignore")
    kinds = {"kernels": of_kernels, "functional": of_functions, "layers": of_layers, "structures": of_structures}
    n_calls, n_raised = 0, 0
    all_calls = chain.from_iterable(calls(kinds[room]) for room in rooms)
    for number, (function, arguments, is_right) in enumerate(all_calls):
        if number % every and not is_right:
            continue
        n_calls += 1
        try:
            result = function(**arguments)
            results = result if isinstance(result, tuple) else (result,)
            learned = [one.sum() for one in results if isinstance(one, torch.Tensor) and one.requires_grad]
            if learned:
                sum(learned).backward()
        except Exception:
            if is_right:
                raise
            n_raised += 1
    print(n_calls, n_raised)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
