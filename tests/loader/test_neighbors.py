"""Batches: the same for each seed, epoch and number, from memory and from files, whoever makes them."""

import os
import pickle
import sys
import threading
from multiprocessing import popen_spawn_posix
from multiprocessing.context import set_spawning_popen
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest
import torch
from scipy import sparse
from torch.utils.data import DataLoader

import hypergnn as hg
from hypergnn.loader import features
from hypergnn.structures.sparse_features import SparseFeatures

N = 60
FANOUT = [(3, 4), (2, 3)]


@pytest.fixture(scope="module")
def H():
    draw = np.random.default_rng(0)
    edges = [draw.choice(N, draw.integers(1, 15), replace=False).tolist() for _ in range(40)]
    return hg.Hypergraph.from_hyperedges(edges, N, weight=draw.uniform(0.5, 2, 40))


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(1).random((N, 5), np.float32)


@pytest.fixture
def loader(H, x):
    return hg.NeighborLoader(H, x, np.arange(N), batch_size=16, fanout=FANOUT, seed=3)


def same(one, other):
    assert len(one) == len(other)
    for mine, yours in zip(one, other, strict=True):
        assert (mine.epoch, mine.number) == (yours.epoch, yours.number)
        assert torch.equal(mine.vertices, yours.vertices)
        assert torch.equal(mine.x, yours.x)
        assert torch.equal(mine.y, yours.y)
        for a, b in zip(mine.blocks, yours.blocks, strict=True):
            assert torch.equal(a.read, b.read)
            assert torch.equal(a.weight, b.weight)
            assert torch.equal(a.senders.members, b.senders.members)


def test_a_batch_has_its_vertices_features_and_labels(loader, x):
    batches = list(loader)
    assert [batch.vertices.shape[0] for batch in batches] == [16, 16, 16, 12]
    assert sorted(torch.cat([batch.vertices for batch in batches]).tolist()) == list(range(N))
    for batch in batches:
        assert torch.equal(batch.y, batch.vertices)
        assert torch.equal(batch.x, torch.from_numpy(x)[batch.blocks[0].read])
        assert torch.equal(batch.blocks[1].made, batch.vertices)
        assert torch.equal(batch.blocks[0].made, batch.blocks[1].read)
    assert repr(batches[0]).startswith("Batch(16 vertices, ")
    assert len(loader) == 4


def test_one_layer_makes_a_row_for_each_vertex(H, x):
    loader = hg.NeighborLoader(H, x, vertices=[5, 2, 9], batch_size=2, fanout=[(2, 2)], shuffle=False)
    layer = hg.HypergraphConv(5, 3)
    assert [layer(batch.x, batch.blocks[0]).shape[0] for batch in loader] == [2, 1]
    assert torch.cat([batch.vertices for batch in loader]).tolist() == [5, 2, 9]


@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention", "hyper-sage"])
def test_without_sampling_a_network_gives_the_full_result(H, x, model):
    network = hg.Network(hg.Config(model=model, hidden=2, heads=2), 5, 3).eval()
    full = network(torch.from_numpy(x), hypergraph=H)
    for fanout in (None, [None, (99, 99)], [(None, None), None]):
        loader = hg.NeighborLoader(H, x, fanout=fanout, depth=2, attention="attention" in model, batch_size=25)
        for batch in loader:
            torch.testing.assert_close(network(batch.x, hypergraph=batch.blocks), full[batch.vertices])


@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention", "hyper-sage"])
def test_networks_train_on_sampled_batches(H, x, model):
    network = hg.Network(hg.Config(model=model, hidden=2, heads=2), 5, 3)
    batch = hg.NeighborLoader(H, x, fanout=FANOUT, attention="attention" in model, batch_size=25).batch(1)
    network(batch.x, hypergraph=batch.blocks).square().sum().backward()
    assert all(one.grad is not None and bool(one.grad.isfinite().all()) for one in network.parameters())


def test_batches_depend_on_seed_epoch_and_number_only(H, x, loader):
    first, second = list(loader), list(loader)
    assert [batch.epoch for batch in second] == [1] * 4
    loader.set_epoch(0)
    same(first, list(loader))
    same(second, [loader.batch(number, epoch=1) for number in range(4)])
    same(second[2:], list(loader.batches(1, start=2)))
    without = hg.NeighborLoader(H, x, np.arange(N), batch_size=16, fanout=FANOUT, seed=3, prefetch=0)
    same(first, list(without))
    assert not torch.equal(first[0].vertices, second[0].vertices)
    other = hg.NeighborLoader(H, x, np.arange(N), batch_size=16, fanout=FANOUT, seed=4)
    assert not torch.equal(first[0].vertices, other.batch(0).vertices)


def test_draws_differ_between_epochs_batches_and_layers(H, x):
    loader = hg.NeighborLoader(H, x, vertices=[7], fanout=[(1, 1), (1, 1)], shuffle=False)
    reads = {tuple(loader.batch(0, epoch).blocks[1].read.tolist()) for epoch in range(20)}
    assert len(reads) > 3


@pytest.mark.slow
def test_workers_give_the_same_batches(loader):
    expected = [list(loader) for _ in range(2)]
    loader.set_epoch(0)
    data = DataLoader(loader, batch_size=None, num_workers=2)
    assert len(data) == 4
    for one in expected:
        same(one, list(data))


class Starting:
    """A process that is being started afresh, as multiprocessing sees it while it pickles what that needs."""

    DupFd = staticmethod(popen_spawn_posix._DupFd)
    duplicate_for_child = staticmethod(os.dup)


def test_workers_that_are_not_forked_share_the_epoch(loader):
    set_spawning_popen(Starting())
    try:
        sent = ForkingPickler.dumps(loader)
    finally:
        set_spawning_popen(None)
    worker, copy = pickle.loads(sent), pickle.loads(pickle.dumps(loader))
    assert [worker._epochs.started(0), loader._epochs.next_of(0), copy._epochs.next_of(0)] == [0, 1, 0]


def test_a_data_loader_without_workers(loader):
    expected = list(loader)
    loader.set_epoch(0)
    same(expected, list(DataLoader(loader, batch_size=None)))


def test_shares_are_all_batches_and_equally_many(loader):
    expected = list(loader)
    shares = [list(loader.shard(index, 3).batches(0)) for index in range(3)]
    assert [[batch.number for batch in one] for one in shares] == [[0, 3], [1, 0], [2, 1]]
    same(expected, [shares[0][0], shares[1][0], shares[2][0], shares[0][1]])
    nested = loader.shard(1, 2).shard(0, 2)
    assert [batch.number for batch in nested] == [1]
    assert "share 1 of 4" in repr(nested)
    with pytest.raises(ValueError, match="index must be below n=2"):
        loader.shard(2, 2)


def test_a_loader_can_be_left_early(loader):
    for batch in loader:
        assert batch.number == 0
        break


FILES = ["memmap", "npy", "safetensors", "parquet", "tensor", "double"]


@pytest.fixture
def stored(x, tmp_path, request):
    if request.param == "memmap":
        np.save(tmp_path / "x.npy", x)
        return np.load(tmp_path / "x.npy", mmap_mode="r")
    if request.param == "npy":
        np.save(tmp_path / "x.npy", x)
        return tmp_path / "x.npy"
    if request.param == "safetensors":
        from safetensors.torch import save_file

        save_file({"x": torch.from_numpy(x), "other": torch.zeros(2)}, tmp_path / "x.safetensors")
        return str(tmp_path / "x.safetensors")
    if request.param == "parquet":
        pytest.importorskip("pyarrow")
        import pyarrow as arrow
        from pyarrow import parquet

        columns = {f"x{number}": column for number, column in enumerate(x.T)}
        parquet.write_table(arrow.table(columns), tmp_path / "x.parquet", row_group_size=7)
        return tmp_path / "x.parquet"
    return torch.from_numpy(x) if request.param == "tensor" else x.astype(np.float64)


@pytest.mark.parametrize("stored", FILES, indirect=True)
def test_features_from_everywhere(H, loader, stored, tmp_path):
    H.save(tmp_path / "H.safetensors")
    mapped = hg.Hypergraph.load(tmp_path / "H.safetensors")
    other = hg.NeighborLoader(mapped, stored, np.arange(N), batch_size=16, fanout=FANOUT, seed=3)
    batches = list(other)
    if batches[0].x.dtype == torch.float64:
        assert torch.equal(batches[0].x.float(), loader.batch(0).x)
    else:
        same(list(loader), batches)
    same(batches, list(pickle.loads(pickle.dumps(other)).batches(0)))


def test_a_pickled_loader_names_its_files(H, tmp_path):
    H.save(tmp_path / "H.safetensors")
    np.save(tmp_path / "x.npy", np.zeros((N, 500), np.float32))
    loader = hg.NeighborLoader(hg.Hypergraph.load(tmp_path / "H.safetensors"), tmp_path / "x.npy")
    assert len(pickle.dumps(loader)) < 20_000


@pytest.mark.parametrize("kind", ["scipy", "csr", "prepared"])
def test_sparse_features(H, x, kind):
    matrix = sparse.csr_array(np.where(x > 0.5, x, 0))
    given = {"scipy": matrix, "csr": torch.from_numpy(matrix.toarray()).to_sparse_csr()}.get(kind)
    given = SparseFeatures.from_scipy(matrix) if given is None else given
    sampled = hg.NeighborLoader(H, given, fanout=FANOUT, batch_size=16).batch(0)
    dense = hg.NeighborLoader(H, matrix.toarray(), fanout=FANOUT, batch_size=16).batch(0)
    network = hg.Network(hg.Config(), 5, 3).eval()
    torch.testing.assert_close(network(sampled.x, hypergraph=sampled.blocks), network(dense.x, hypergraph=dense.blocks))


def test_half_precision_features_become_single(H, x):
    assert hg.NeighborLoader(H, x.astype(np.float16)).batch(0).x.dtype == torch.float32
    assert hg.NeighborLoader(H, torch.from_numpy(x).bfloat16()).batch(0).x.dtype == torch.float32
    assert hg.NeighborLoader(H, np.asfortranarray(x)).batch(0).x.dtype == torch.float32


def test_batches_move(loader):
    moved = loader.batch(0).to("meta")
    assert {moved.x.device.type, moved.blocks[0].device.type, moved.y.device.type} == {"meta"}


BAD = {
    "H": (TypeError, "H must be a Hypergraph", {"H": [[0, 1]]}),
    "rows of x": (ValueError, "x must have 60 rows, one per vertex; got 3", {"x": np.zeros((3, 2))}),
    "a vector": (ValueError, "x must have two dimensions", {"x": np.zeros(60)}),
    "text": (TypeError, "x must hold numbers", {"x": np.full((60, 1), "a")}),
    "a list": (TypeError, "x must be a tensor, an array", {"x": [1, 2]}),
    "rows of y": (ValueError, "y must have 60 rows", {"y": [1, 2]}),
    "text in y": (TypeError, "y must hold numbers", {"y": ["a"] * 60}),
    "no vertices": (ValueError, "vertices must not be empty", {"vertices": []}),
    "vertices twice": (ValueError, "vertices must be given once each", {"vertices": [1, 1]}),
    "vertices out of range": (ValueError, "vertices must hold ids from 0 to 59", {"vertices": [60]}),
    "batch size": (ValueError, "batch_size must be at least 1; got 0", {"batch_size": 0}),
    "a pair": (TypeError, "fanout must hold a pair", {"fanout": [5]}),
    "a number": (TypeError, "fanout must be a list with a pair", {"fanout": 5}),
    "no fan-out": (TypeError, "fanout must be a list with a pair", {"fanout": []}),
    "nothing drawn": (ValueError, "fanout must be at least 1; got 0", {"fanout": [(0, 5)]}),
    "depth": (ValueError, "depth must be omitted, or 1", {"fanout": [(2, 2)], "depth": 2}),
    "both": (ValueError, "direction must be 'forward', 'backward'", {"direction": "both"}),
    "direction": (ValueError, "direction must be one of", {"direction": "up"}),
    "seed": (TypeError, "seed must be a whole number", {"seed": 0.5}),
    "missing file": (FileNotFoundError, "nowhere", {"x": "nowhere.npy"}),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(H, x, case):
    error, words, given = BAD[case]
    with pytest.raises(error, match=words):
        hg.NeighborLoader(**{"H": H, "x": x, **given})


@pytest.mark.parametrize("name", ["x.csv", "x.safetensors", "x.parquet"])
def test_bad_files(H, tmp_path, name):
    (tmp_path / name).write_text("x,y\n1,2\n")
    with pytest.raises(ValueError, match=r"must be a file of the kind|is damaged or not"):
        hg.NeighborLoader(H, tmp_path / name)


def test_a_parquet_file_must_hold_numbers_for_all(H, tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow as arrow
    from pyarrow import parquet

    for columns, words in (({"name": ["a"]}, "must hold numbers only"), ({"x": [1.0, None]}, "has nulls")):
        parquet.write_table(arrow.table(columns), tmp_path / "x.parquet")
        with pytest.raises(ValueError, match=words):
            hg.NeighborLoader(H, tmp_path / "x.parquet")


def test_numbers_of_batches(loader):
    with pytest.raises(ValueError, match="number must be below 4"):
        loader.batch(4)


def test_memory_is_used_again_only_after_a_batch_is_gone(H, x, monkeypatch):
    monkeypatch.setattr(features, "_LARGE", 0)
    loader = hg.NeighborLoader(H, x, batch_size=16, fanout=FANOUT)
    held = list(loader)
    view = loader.batch(0, epoch=5).x[3:]  # holds the memory of its batch
    read = loader.batch(0, epoch=5).blocks[0].read
    for batch in [*held, *loader]:
        assert torch.equal(batch.x, torch.from_numpy(x)[batch.blocks[0].read])
    assert torch.equal(view, torch.from_numpy(x)[read[3:]])
    places = {batch.x.data_ptr() for batch in held}
    del held, batch
    assert loader.batch(0).x.data_ptr() in places


def test_threads_never_get_the_same_memory(monkeypatch):
    monkeypatch.setattr(features, "_LARGE", 0)
    buffers = features._Buffers(np.dtype(np.float32))
    overwritten = []

    def work(own):
        for _ in range(3000):
            room = buffers.room(4, 4)
            room[:] = own
            overwritten.extend([own] * bool((room != own).any()))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(own,)) for own in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not overwritten


@pytest.mark.parametrize("what", ["structure", "features"])
def test_a_file_that_was_replaced_is_not_taken_for_the_one_that_was_pickled(H, tmp_path, what):
    H.save(tmp_path / "h.safetensors")
    np.save(tmp_path / "x.npy", np.ones((H.n_vertices, 2), np.float32))
    mapped = hg.Hypergraph.load(tmp_path / "h.safetensors")
    loader = hg.NeighborLoader(mapped, tmp_path / "x.npy", np.zeros(H.n_vertices, np.int64), batch_size=5, prefetch=0)
    sent = pickle.dumps(loader)
    pickle.loads(sent)
    if what == "structure":
        hg.Hypergraph.from_hyperedges([[0, 1]], 9).save(tmp_path / "h.safetensors")
    else:
        np.save(tmp_path / "y.npy", np.zeros((H.n_vertices, 2), np.float32))
        (tmp_path / "y.npy").replace(tmp_path / "x.npy")
    with pytest.raises(ValueError, match="was replaced or changed after the loader had been pickled"):
        pickle.loads(sent)
    again = pickle.loads(pickle.dumps(loader))  # what is mapped is still the old file
    same(list(loader.batches(0)), list(again.batches(0)))


def test_there_is_a_limit_of_layers(H):
    with pytest.raises(ValueError, match="depth must be at most 10000; got 1000000000"):
        hg.NeighborLoader(H, torch.ones(H.n_vertices, 1), depth=10**9)
