"""Shards: equal to one process, forward and backward, in real processes; and what can be tested in one."""

import pickle

import numpy as np
import pytest
import torch
from support import compare_with_one_process
from support.ranks import forked

import hypergnn as hg
from hypergnn import distributed
from hypergnn.distributed.division import Division
from hypergnn.distributed.shards import shard_of

LISTS = [[0, 1, 2], [2, 3], [3, 4, 5, 6], [6, 7], [0, 7], []]


@pytest.fixture
def H():
    return hg.Hypergraph.from_hyperedges(LISTS, n_vertices=9, weight=[1.0, 2, 3, 4, 5, 6])


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3])
def test_every_layer_gives_what_one_process_gives(n, tmp_path):
    ended = forked(n, compare_with_one_process.main, tmp_path)
    assert ended.returncode == 0, ended.stderr
    lines = [line.split("\t") for line in ended.stdout.splitlines()]
    assert [line for line in lines if line[0] not in ("ok", "refused")] == []
    assert sum(line[0] == "ok" for line in lines) > 150
    refused = [line[1] for line in lines if line[0] == "refused"]
    assert [one.split(" must")[0].split("/")[-1] for one in refused] == [
        "the hypergraph",
        "the process of each vertex",
        "too-many",
        "the folder of shards",
    ]


def test_one_process_has_everything(H):
    x, layer = torch.rand(9, 4), hg.HypergraphConv(4, 3)
    with distributed.start():
        assert distributed.rank_and_size() == (0, 1)
        shard = distributed.shard(H)
        torch.testing.assert_close(layer(x[shard.vertices], shard), layer(x, H))
    assert not torch.distributed.is_initialized()


def test_the_vertices_of_all_shards_are_the_vertices_once(H):
    shards = [shard_of(H, distributed.partition(H, 3), number, 3) for number in range(3)]
    assert torch.cat([one.vertices for one in shards]).sort().values.tolist() == list(range(9))
    assert sum(one.n_incidences for one in shards) == H.n_incidences
    assert torch.cat([one.places for one in shards]).sort().values.tolist() == list(range(H.n_incidences))


def test_only_shared_hyperedges_travel(H):
    process = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1])
    shards = [shard_of(H, process, number, 2) for number in range(2)]
    for shard in shards:  # {2, 3} and {0, 7} are cut
        assert shard.hyperedges[shard.parts.there.sent].tolist() == [1, 4]
        assert shard.parts.back.most == 0
        assert shard.parts.bytes_moved(10) == 2 * 10 * 4


def test_hyperedges_of_three_processes_have_an_owner_that_all_agree_on(H):
    process = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2])
    shards = [shard_of(H, process, number, 3) for number in range(3)]
    for one in shards:
        for other in shards:
            for route in ("there", "back"):
                mine, yours = getattr(one.parts, route), getattr(other.parts, route)
                sent = mine.sent.split(list(mine.n_sent))[other.process]
                received = yours.received.split(list(yours.n_received))[one.process]
                assert one.hyperedges[sent].tolist() == other.hyperedges[received].tolist()
                assert mine.most >= max(len(mine.sent), len(mine.received))


def test_degrees_are_those_of_the_whole(H):
    shard = shard_of(H, [0, 1] * 4 + [0], 1, 2)
    torch.testing.assert_close(shard.vertex_degree(), H.vertex_degree()[shard.vertices])
    torch.testing.assert_close(shard.hyperedge_degree(), H.hyperedge_degree()[shard.hyperedges])


def test_a_shard_shows_its_sizes_and_can_be_pickled(H):
    shard = shard_of(H, [0, 1] * 4 + [0], 0, 2)
    assert repr(shard) == "Shard(1 of 2: 5 of 9 vertices, 5 hyperedges, 7 incidences)"
    again = pickle.loads(pickle.dumps(shard))
    assert repr(again) == repr(shard)
    assert again.parts.there.sent.tolist() == shard.parts.there.sent.tolist()


def test_a_layer_needs_a_process_group_and_a_shard_no_direction(H):
    with pytest.raises(RuntimeError, match="must be connected first"):
        distributed.shard(H)
    with pytest.raises(ValueError, match="a shard has no directions"):
        shard_of(H, [0] * 9, 0, 1).ways("backward")


@pytest.mark.parametrize(
    ("process", "message"),
    [
        ([0] * 8, r"process must be whole numbers of shape \(9,\)"),
        ([0.5] * 9, "process must be whole numbers"),
        ([0] * 8 + [2], "below 2, the number of processes; got 0 to 2"),
        ([-1] + [0] * 8, "must be at least 0"),
    ],
)
def test_a_division_that_does_not_fit_is_refused(H, process, message):
    with pytest.raises(ValueError, match=message):
        shard_of(H, process, 0, 2)


def test_directed_hypergraphs_are_refused():
    directed = hg.DirectedHypergraph.from_hyperedges([([0], [1])], n_vertices=2)
    with pytest.raises(TypeError, match=r"Take H.undirected\(\)"), distributed.start():
        distributed.shard(directed)
    with pytest.raises(TypeError, match=r"Take H.undirected\(\)"):
        distributed.partition(directed, 2)


def test_compiled_programs_are_refused(H):
    with distributed.start():
        shard = distributed.shard(H)
        with pytest.raises(NotImplementedError, match="a shard cannot be compiled"):
            torch.func.vmap(lambda x: hg.functional.hypergraph_conv(x, shard))(torch.rand(2, 9, 3))


def test_a_division_counts_what_it_cuts(H):
    assert Division(H, np.array([0, 1] * 4 + [0]), 2).n_cut() == 5
    assert distributed.cut(H, [0] * 9).hyperedges == 0


class TestPartition:
    def test_communities_stay_together(self):
        rng = np.random.default_rng(0)
        home = rng.permutation(400) % 4  # the community of each vertex
        lists = [rng.choice(np.flatnonzero(home == number % 4), 5, replace=False).tolist() for number in range(400)]
        H = hg.Hypergraph.from_hyperedges(lists, n_vertices=400)
        found = distributed.cut(H, distributed.partition(H, 4))
        assert found.share < 0.25 < distributed.cut(H, rng.integers(0, 4, 400)).share
        assert found.balance < 1.15

    def test_it_is_the_same_each_time_and_uses_all_processes(self, H):
        first, second = distributed.partition(H, 3), distributed.partition(H, 3)
        assert (first == second).all()
        assert set(first) == {0, 1, 2}

    @pytest.mark.parametrize("n", [1, 2, 7])
    def test_hypergraphs_without_incidences_and_more_processes_than_vertices(self, n):
        empty = hg.Hypergraph.from_hyperedges([[]], n_vertices=3)
        process = distributed.partition(empty, n)
        assert process.shape == (3,)
        assert process.max() < n
        assert distributed.partition(hg.Hypergraph.from_hyperedges([], n_vertices=0), n).shape == (0,)

    def test_a_hub_does_not_unbalance_it(self):
        lists = [list(range(60)), *[[k, k + 1] for k in range(0, 118, 2)]]
        H = hg.Hypergraph.from_hyperedges(lists, n_vertices=120)
        assert distributed.cut(H, distributed.partition(H, 2)).balance < 1.2

    def test_a_number_of_processes_is_needed(self, H):
        with pytest.raises(ValueError, match="n must be at least 1"):
            distributed.partition(H, 0)
