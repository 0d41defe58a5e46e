"""What each process runs: every layer over a shard, compared with the same over the whole hypergraph.

Process 0 prints one line per comparison; the test reads them.
"""

import numpy as np
import torch
from torch import distributed as dist

import hypergnn as hg
from hypergnn import distributed, functional, layers
from hypergnn.models import KINDS, Config, Network


def structures():
    """Hypergraphs of several kinds, with isolated vertices, empty hyperedges and centroids."""
    rng = np.random.default_rng(0)
    lists = [rng.choice(23, size, replace=False).tolist() for size in (1, 2, 3, 5, 8, 13, 20, 2, 4, 0, 6)]
    weight = rng.uniform(0.2, 3.0, len(lists))
    centroid = rng.integers(0, 24, len(lists))
    some = np.where(np.arange(len(lists)) % 2, centroid, -1)
    return {
        "plain": hg.Hypergraph.from_hyperedges(lists, n_vertices=25),
        "weighted": hg.Hypergraph.from_hyperedges(lists, n_vertices=25, weight=weight),
        "centred": hg.Hypergraph.from_hyperedges(lists, n_vertices=25, weight=weight, centroid=centroid),
        "partly centred": hg.Hypergraph.from_hyperedges(lists, n_vertices=25, centroid=some),
        "no incidences": hg.Hypergraph.from_hyperedges([[], []], n_vertices=5),
        "one hyperedge": hg.Hypergraph.from_hyperedges([list(range(9))], n_vertices=9),
    }


def operators():
    """Every layer that takes a hypergraph alone, with its options."""
    for normalization in ("symmetric", "row", "none"):
        yield f"conv {normalization}", lambda n=normalization: hg.HypergraphConv(6, 4, heads=2, normalization=n)
        yield (
            f"conv {normalization} learned weight",
            lambda n=normalization: hg.HypergraphConv(6, 4, normalization=n, learn_weight=True, skip=True),
        )
        for over in ("hyperedges", "vertices"):
            yield (
                f"attention {normalization} over {over}",
                lambda n=normalization, o=over: hg.HypergraphAttention(
                    6, 4, heads=3, normalization=n, softmax_over=o, aggregate="mean"
                ),
            )
    yield "conv wide", lambda: hg.HypergraphConv(6, 9)
    for pool in ("mean", "max", "attention"):
        yield f"sage {pool}", lambda p=pool: layers.HypergraphSAGE(6, 4, pool=p)
    yield "monet", lambda: layers.HypergraphMoNet(6, 4)
    yield "diffusion", lambda: layers.HypergraphDiffusion(6, 4)
    for name, kind in KINDS.items():
        if kind.structures == ("hypergraph",) and not kind.is_dynamic:
            yield f"layer of {name}", lambda k=kind: k.layer(6, 4, heads=2)
    yield "own operator", lambda: layers.Operator(6, 4, heads=2, skip=True)
    yield "own sums", lambda: _OwnSums(6, 4, heads=2)
    yield "own attention", lambda: _OwnAttention(6, 4, heads=2)
    for model, depth in (("hyper-conv", 8), ("hyper-attention", 4), ("hyper-conv", 1)):
        config = Config(model=model, depth=depth, dropout=0.0, attention_dropout=0.0, skip=depth > 1)
        yield f"network {model} of {depth} layers", lambda c=config: _Whole(Network(c, 6, 3))


class _OwnSums(layers.Operator):
    """Both ways in one step, with values of each incidence, and sums of values of each hyperedge."""

    def to_hyperedges(self, x, H):
        sent = self._values(H, "senders")
        size = functional.hyperedge_degree(H, incidence=sent)
        factors = {"values": sent, "receiver_values": self._values(H, "receivers"), "middle": 1 / (1 + size)}
        self.out = functional.propagate(x, H, **factors) + functional.propagate(x, H)
        return functional.to_hyperedges(x, H, values=sent)

    def to_vertices(self, messages, x, H):  # noqa: ARG002
        return self.out + functional.to_vertices(messages, H)

    def _values(self, H, of):
        size = H.hyperedge_degree()[functional.incidences(H, of)[1]]
        return (1 / size).unsqueeze(-1).expand(-1, self.heads)


class _OwnAttention(layers.Operator):
    """Attention of hyperedges to their members, and of vertices to their hyperedges."""

    def __init__(self, *sizes, heads):
        super().__init__(*sizes, heads=heads)
        self.a_vertex = torch.nn.Parameter(torch.empty(heads, self.out_features))
        self.a_hyperedge = torch.nn.Parameter(torch.empty(heads, self.out_features))
        self.reset_parameters()

    def to_hyperedges(self, x, H):
        mean = functional.head_score(functional.to_hyperedges(x, H, reduce="mean"), self.a_hyperedge)
        share = functional.softmax_over_members(functional.head_score(x, self.a_vertex), mean, H)
        return functional.to_hyperedges(x, H, values=share)

    def to_vertices(self, messages, x, H):
        scores = functional.head_score(x, self.a_vertex), functional.head_score(messages, self.a_hyperedge)
        return functional.to_vertices(messages, H, values=functional.softmax_over_hyperedges(*scores, H))


class _Whole(torch.nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x, H):
        return self.network(x, hypergraph=H)


DIVISIONS = (
    ("plain", "few cuts"),
    ("weighted", "random"),
    ("weighted", "from a file"),
    ("centred", "random"),
    ("partly centred", "few cuts"),
    ("no incidences", "random"),
    ("one hyperedge", "random"),
    ("centred", "in one process"),
)


def with_parameters(make):
    """The operator in double precision with random parameters, the same in each process."""
    torch.manual_seed(0)
    operator = make().double()
    with torch.no_grad():
        for one in operator.parameters():
            one.copy_(torch.randn(one.shape, dtype=torch.float64) * 0.5)
    return operator


def difference(make, H, shard):
    """The largest difference of rows and gradients between the shard and the whole."""
    operator, own = with_parameters(make), with_parameters(make)
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(H.n_vertices, 6, dtype=torch.float64, generator=generator).requires_grad_()
    out = operator(x, H)
    wanted = torch.randn(out.shape, dtype=torch.float64, generator=generator)
    (out * wanted).sum().backward()
    x_own = x.detach()[shard.vertices].requires_grad_()
    out_own = own(x_own, shard)
    (out_own * wanted[shard.vertices]).sum().backward()
    distributed.sum_gradients(own)
    pairs = [(out_own, out[shard.vertices]), (x_own.grad, x.grad[shard.vertices])]
    for one, other in zip(own.parameters(), operator.parameters(), strict=True):
        pairs.append((one.grad, torch.zeros_like(other) if other.grad is None else other.grad))
    assert all(a.shape == b.shape for a, b in pairs)
    return max(_most((a - b).detach()) for a, b in pairs)


def report(name, own, allowed=1e-10):
    """Print a line for the worst process."""
    worst = torch.tensor([own], dtype=torch.float64)
    dist.all_reduce(worst, dist.ReduceOp.MAX)
    if dist.get_rank() == 0:
        print(f"{'ok' if worst.item() <= allowed else 'WRONG'}\t{name}\t{worst.item():.1e}", flush=True)


def with_functions(H, shard):
    """Functions of the user: attention with any incidence, and given features of hyperedges."""
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(H.n_vertices, 2, 3, dtype=torch.float64, generator=generator)
    incidence = torch.rand(H.n_incidences, 2, dtype=torch.float64, generator=generator)
    for normalization in ("row", "symmetric", "none"):
        whole = functional.hypergraph_attention(x, H, incidence, normalization=normalization)
        own = functional.hypergraph_attention(
            x[shard.vertices], shard, incidence[shard.places], normalization=normalization
        )
        report(f"any incidence {normalization}", _most(own - whole[shard.vertices]))
    u = torch.randn(H.n_hyperedges, 5, dtype=torch.float64, generator=generator)
    layer = with_parameters(lambda: hg.HypergraphAttention(6, 4, heads=2, hyperedge_features=5))
    flat = x.flatten(1)
    whole, own = layer(flat, H, u), layer(flat[shard.vertices], shard, u[shard.hyperedges])
    report("features of hyperedges", _most(own - whole[shard.vertices]))
    report("degrees", _most(shard.vertex_degree() - H.vertex_degree()[shard.vertices]))
    many = torch.randn(3, H.n_vertices, 6, dtype=torch.float64, generator=generator)
    conv = with_parameters(lambda: hg.HypergraphConv(6, 4))
    report("leading axes", _most(conv(many[:, shard.vertices], shard) - conv(many, H)[:, shard.vertices]))


def sampled_batches(H, rank, size):
    """A step of data-parallel training on sampled batches is a step with the batches of all processes."""
    generator = torch.Generator().manual_seed(4)
    x, y = torch.rand(H.n_vertices, 6, generator=generator).double(), torch.arange(H.n_vertices) % 3
    loader = hg.NeighborLoader(H, x, y, batch_size=5, fanout=[(2, 3), (2, 3)], seed=7)
    make = lambda: Network(Config(dropout=0.0), 6, 3)  # noqa: E731
    whole, own = with_parameters(make), torch.nn.parallel.DistributedDataParallel(with_parameters(make))

    def loss(network, batch):
        return torch.nn.functional.cross_entropy(network(batch.x, hypergraph=batch.blocks), batch.y)

    sum(loss(whole, loader.batch(number)) / size for number in range(size)).backward()
    loss(own, next(iter(loader.shard(rank, size)))).backward()
    pairs = zip(own.parameters(), whole.parameters(), strict=True)
    report("sampled batches with DistributedDataParallel", max(_most(a.grad - b.grad) for a, b in pairs))


def _most(x):
    return float(x.detach().abs().max()) if x.numel() else 0.0


def main(folder):
    with distributed.start(patience=120):
        rank, size = distributed.rank_and_size()
        known = structures()
        for name, how in DIVISIONS:
            H = known[name]
            process = None if how == "few cuts" else np.random.default_rng(3).integers(0, size, H.n_vertices)
            process = np.full(H.n_vertices, size - 1) if how == "in one process" else process
            if how == "from a file":
                shard = through_a_file(H, process, folder / name, rank, size)
            else:
                shard = distributed.shard(H, process)
            for what, make in operators():
                report(f"{name}, {how}: {what}", difference(make, H, shard))
            if name == "weighted":
                with_functions(H, shard)
        sampled_batches(known["weighted"], rank, size)
        refusals(known, rank, size, folder)


def through_a_file(H, process, folder, rank, size):
    """The shard of this process, loaded from the folder that process 0 has written."""
    if rank == 0:
        distributed.save_shards(H, folder, size, process=process)
    dist.barrier()
    return distributed.load_shard(folder)


def refusals(known, rank, size, folder):
    """Errors that all processes raise; process 0 prints them."""
    if rank == 0:
        distributed.save_shards(known["plain"], folder / "too-many", size + 1)
        distributed.save_shards(known["plain"], folder / "first", size)
        distributed.save_shards(known["plain"], folder / "second", size)
    dist.barrier()
    for call in (
        lambda: distributed.shard(known["plain" if rank else "weighted"]),
        lambda: distributed.shard(known["plain"], np.full(25, min(rank, 1))),
        lambda: distributed.load_shard(folder / "too-many"),
        lambda: distributed.load_shard(folder / ("second" if rank else "first")),
    ):
        try:
            call()
            print("NOT REFUSED", flush=True)
        except (ValueError, distributed.OtherProcessError) as error:
            if rank == 0:
                print(f"refused\t{error}", flush=True)
