"""Layer-wise inference gives the scores of the whole, from memory and from files."""

import os
import sys
from contextlib import nullcontext, suppress

import numpy as np
import pytest
import torch
from support import structures
from support.faults import DeathError, Faulty, injected, points

import hypergnn as hg
from hypergnn.models import infer

N = structures.N_SCATTERED


@pytest.fixture(scope="module")
def x():
    return torch.rand(N, 6, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention", "hyper-sage"])
@pytest.mark.parametrize("batch_size", [7, 1000])
def test_scores_are_those_of_the_whole(model, batch_size, x):
    H = structures.scattered("some")
    network = hg.Network(hg.Config(model=model, hidden=2, heads=2, depth=3, skip=True), 6, 3).train()
    scores = infer(network, H, x, batch_size=batch_size)
    assert network.training
    torch.testing.assert_close(scores, network.eval()(x, hypergraph=H).detach())


@pytest.mark.parametrize("direction", ["forward", "backward", "both", "undirected"])
def test_directed_hypergraphs(direction):
    H = structures.directed("overlapping parts")
    network = hg.Network(hg.Config(direction=direction, hidden=2, heads=2), 3, 2).eval()
    x = torch.rand(4, 3)
    torch.testing.assert_close(infer(network, H, x, batch_size=3), network(x, hypergraph=H).detach())


def test_an_undirected_network_over_hyperedges_that_do_not_point(x):
    H = structures.scattered("some")
    network = hg.Network(hg.Config(model="hyper-attention", direction="undirected", hidden=2, heads=2), 6, 3).eval()
    torch.testing.assert_close(infer(network, H, x, batch_size=7), network(x, hypergraph=H).detach())


class Doubled(hg.HypergraphConv):
    def _linear(self, x, H):
        return 2 * super()._linear(x, H)


@pytest.mark.parametrize(
    "layers",
    [
        lambda: [hg.HypergraphConv(6, 4), Doubled(4, 3)],
        lambda: [hg.layers.Dense(6, 4), hg.HypergraphConv(4, 4), hg.layers.Dense(4, 3)],
        lambda: [hg.HypergraphAttention(6, 4), hg.HypergraphConv(4, 3, learn_weight=True)],
    ],
    ids=["a subclass", "dense layers", "learned weights"],
)
@pytest.mark.parametrize("is_sparse", [False, True])
def test_given_layers(layers, is_sparse, x):
    H, x = structures.scattered("some"), x.to_sparse_csr() if is_sparse else x
    network = hg.Network(hg.Config(), layers=layers()).eval()
    torch.testing.assert_close(infer(network, H, x, batch_size=7), network(x, hypergraph=H).detach())


def test_hooks_see_every_layer(x):
    H = structures.scattered("some")
    network = hg.Network(hg.Config(hidden=2, heads=2), 6, 3).eval()
    for layer in network.layers:
        layer.register_forward_hook(lambda _, __, out: out + 1)
    torch.testing.assert_close(infer(network, H, x, batch_size=7), network(x, hypergraph=H).detach())


def test_files_in_and_out(tmp_path, x):
    H = structures.scattered("none")
    H.save(tmp_path / "H.safetensors")
    np.save(tmp_path / "x.npy", x.numpy())
    network = hg.Network(hg.Config(), 6, 3, linear_output=True).eval()
    mapped = hg.Hypergraph.load(tmp_path / "H.safetensors")
    scores = infer(network, mapped, tmp_path / "x.npy", out=tmp_path / "scores.npy")
    assert isinstance(scores, np.memmap)
    expected = network(x, hypergraph=H).detach()
    torch.testing.assert_close(torch.from_numpy(np.load(tmp_path / "scores.npy")), expected)


def test_double_precision_and_sparse_features(x):
    H = structures.scattered("all")
    network = hg.Network(hg.Config(), 6, 3).double().eval()
    sparse = (x * (x > 0.5)).double().to_sparse_csr()
    torch.testing.assert_close(infer(network, H, sparse), network(sparse, hypergraph=H).detach())


def test_bad_input(x):
    H = structures.scattered("none")
    with pytest.raises(ValueError, match="network must be of hypergraph layers only; got 'gcn'"):
        infer(hg.Network(hg.Config(model="gcn"), 6, 3), H, x)
    graphs = hg.Network(hg.Config(), layers=[hg.GraphConv(6, 3)])
    with pytest.raises(ValueError, match=r"of hypergraph layers only; got layers that take \('graph',\)"):
        infer(graphs, H, x)
    with pytest.raises(ValueError, match="hyperedges that follow the features"):
        infer(hg.Network(hg.Config(), layers=[hg.layers.DynamicHypergraphConv(6, 3)]), H, x)
    network = hg.Network(hg.Config(), 6, 3)
    with pytest.raises(ValueError, match=r"x must have 50 rows, one per vertex, and 6 features; got \(50, 5\)"):
        infer(network, H, x[:, 1:])
    with pytest.raises(TypeError, match="H must be a Hypergraph"):
        infer(network, None, x)
    with pytest.raises(ValueError, match="batch_size must be at least 1"):
        infer(network, H, x, batch_size=0)
    wrong = H.incidence._replace(back_members=torch.full_like(H.incidence.back_members, 77))
    damaged = hg.Hypergraph(wrong, H.weight, H._vertex_degree, H._hyperedge_degree)
    with pytest.raises(ValueError, match=r"ids from 0|damaged"):
        infer(network, damaged, x)


def test_both_directions_need_convolutions():
    H = structures.directed("overlapping parts")
    network = hg.Network(hg.Config(model="hyper-attention", direction="both"), 3, 2)
    with pytest.raises(ValueError, match="one way, unless it is made of convolutions"):
        infer(network, H, torch.rand(4, 3))


@pytest.mark.parametrize(
    "settings",
    [{"residual": "initial"}, {"norm": "pair"}, {"model": "hyper-grand"}, {"model": "dynamic-hyper-conv"}],
)
def test_what_is_more_than_layers_is_refused(settings):
    H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
    network = hg.Network(hg.Config(**settings), n_features=64, n_classes=3)
    with pytest.raises(ValueError, match="network must be made of layers one after the other"):
        infer(network, H, torch.rand(4, 64))


def test_a_file_appears_when_it_is_complete(tmp_path, monkeypatch):
    H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
    network, x = hg.Network(hg.Config(), n_features=5, n_classes=3).eval(), torch.rand(4, 5)
    found = infer(network, H, x, out=tmp_path / "scores.npy")
    torch.testing.assert_close(torch.from_numpy(np.array(found)), network(x, hypergraph=H))

    def fail(*_):
        raise OSError(28, "No space left on device")

    before = (tmp_path / "scores.npy").read_bytes()
    monkeypatch.setattr("hypergnn.models.inference.elu", fail)
    with pytest.raises(OSError, match="No space"):
        infer(network, H, x, out=tmp_path / "scores.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["scores.npy"]
    assert (tmp_path / "scores.npy").read_bytes() == before


def test_a_network_is_in_training_mode_again_after_an_error_of_the_disk(tmp_path, monkeypatch):
    H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
    network = hg.Network(hg.Config(), n_features=5, n_classes=3).train()

    class Full:
        def write(self, _):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("hypergnn.models.inference.replacing", lambda _: nullcontext(Full()))
    monkeypatch.setattr("numpy.lib.format.write_array_header_1_0", lambda *_: None)
    with pytest.raises(OSError, match="No space") as raised:
        infer(network, H, torch.rand(4, 5), out=tmp_path / "scores.npy")
    assert network.training, raised  # the traceback holds what was going on


def scored(tmp_path, out, **options):
    H = hg.Hypergraph.from_hyperedges([[0, 1, 2], [2, 3], [3, 4, 5]], n_vertices=6)
    network, x = hg.Network(hg.Config(), n_features=8, n_classes=2).eval(), torch.rand(6, 8)
    return infer(network, H, x, out=tmp_path / out, **options), network(x, hypergraph=H).detach().numpy()


def test_a_file_of_scores_is_replaced_like_any_other(tmp_path):
    path = tmp_path / "scores.npy"
    path.write_bytes(b"old")
    path.chmod(0o600)
    (tmp_path / ".scores.npy.0123456789abcdef.tmp").write_bytes(b"of a killed process")
    (tmp_path / "link.npy").symlink_to(path)
    found, expected = scored(tmp_path, "link.npy", batch_size=2)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.npy", "scores.npy"]
    assert (tmp_path / "link.npy").is_symlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_scores_do_not_replace_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(OSError, match=r"regular file|directory"):
            scored(tmp_path, name)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["folder", "pipe"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the injector needs /proc")
@pytest.mark.parametrize("fault", ["error", "kill", "power"])
def test_a_file_of_scores_is_the_old_or_the_new_one(fault, tmp_path, tally):
    old = np.zeros((6, 2), np.float32)
    root, after = tmp_path / "root", tmp_path / "after"
    root.mkdir()
    np.save(root / "scores.npy", old)
    for at, part in points(lambda: scored(root, "scores.npy", batch_size=4)):
        np.save(root / "scores.npy", old)
        faulty = Faulty(fault, at, part)
        faulty.disk.start_with(root)
        with injected(faulty), suppress(OSError, DeathError):
            scored(root, "scores.npy", batch_size=4)
        if fault == "power":
            faulty.disk.restore(root, after)
        found = np.load((after if fault == "power" else root) / "scores.npy")
        assert found.shape == (6, 2)
        assert bool(found.any()) or np.array_equal(found, old)
        tally({"error": "failing calls", "kill": "kills", "power": "power cuts"}[fault] + ": file of scores")


@pytest.mark.parametrize(
    ("change", "message"),
    [(lambda one: one.bfloat16(), "float32, float64 or float16"), (lambda one: one.to("meta"), "on the CPU")],
)
def test_networks_that_numpy_cannot_hold_are_refused(change, message):
    H = hg.Hypergraph.from_hyperedges([[0, 1, 2]], n_vertices=3)
    with pytest.raises(ValueError, match=message):
        infer(change(hg.Network(hg.Config(), n_features=8, n_classes=2)), H, torch.rand(3, 8))
    with pytest.raises(TypeError, match="must be a Network; got str"):
        infer("network", H, torch.rand(3, 8))


def test_a_hypergraph_that_was_changed_in_place_is_refused():
    H = hg.Hypergraph.from_hyperedges([[0, 1, 2]], n_vertices=3)
    H.senders.offsets.fill_(0)
    with pytest.raises(ValueError, match="changed in place"):
        infer(hg.Network(hg.Config(), n_features=8, n_classes=2), H, torch.rand(3, 8))
