"""Hypergraphs that change: any sequence of edits gives what a structure built at once gives, to the bit."""

import time
from datetime import date, datetime, timedelta, timezone
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support import structures

from hypergnn import DirectedHypergraph, Hypergraph, batch

WEIGHTS = st.floats(0.1, 10)


def members(n_vertices):
    return st.sets(st.integers(0, n_vertices - 1), max_size=5).map(sorted) if n_vertices else st.just([])


def drawn(draw, n_vertices, directed):
    part = members(n_vertices)
    one = st.tuples(part, part) if directed else part
    return draw(st.lists(st.tuples(one, WEIGHTS, st.integers(-1, n_vertices - 1), st.integers(0, 9)), max_size=4))


def built(kind, n_vertices, hyperedges, names):
    lists, weight, centroid, times = ([one[k] for one in hyperedges] for k in range(4))
    has_one = any(one >= 0 for one in centroid)
    return kind.from_hyperedges(
        lists,
        n_vertices,
        weight,
        centroid if has_one else None,
        hyperedge_names=[f"h{name}" for name in names],
        time=np.array(times, dtype=np.int64),
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Hypergraph, DirectedHypergraph])
@given(data=st.data())
def test_edits_give_what_building_at_once_gives(kind, data):
    n_vertices = data.draw(st.integers(1, 6))
    hyperedges = drawn(data.draw, n_vertices, kind is DirectedHypergraph)
    names = list(range(len(hyperedges)))
    H, next_name = built(kind, n_vertices, hyperedges, names), len(names)
    for _ in range(data.draw(st.integers(1, 4))):
        step = data.draw(st.sampled_from(["add", "add_vertices", "remove", "window"]))
        if step == "add":
            more = drawn(data.draw, n_vertices, kind is DirectedHypergraph)
            new = list(range(next_name, next_name + len(more)))
            H = H.add(
                [one[0] for one in more],
                weight=[one[1] for one in more],
                centroid=[one[2] for one in more] if any(one[2] >= 0 for one in more) else None,
                hyperedge_names=np.array([f"h{name}" for name in new], dtype=object),
                time=np.array([one[3] for one in more], dtype=np.int64),
            )
            hyperedges, names, next_name = hyperedges + more, names + new, next_name + len(more)
        elif step == "add_vertices":
            n_new = data.draw(st.integers(0, 2))
            H, n_vertices = H.add_vertices(n_new), n_vertices + n_new
        else:
            if step == "remove":
                gone = data.draw(st.sets(st.integers(0, len(hyperedges) - 1))) if hyperedges else set()
                H = H.remove(sorted(gone))
            else:
                start, stop = sorted(data.draw(st.tuples(st.integers(0, 10), st.integers(0, 10))))
                H = H.window(start, stop)
                gone = {k for k, one in enumerate(hyperedges) if not start <= one[3] < stop}
            hyperedges = [one for k, one in enumerate(hyperedges) if k not in gone]
            names = [one for k, one in enumerate(names) if k not in gone]
    expected = built(kind, n_vertices, hyperedges, names)
    assert H.equals(expected)
    assert H.n_hyperedges == len(hyperedges)


@pytest.mark.parametrize("kind", [Hypergraph, DirectedHypergraph])
def test_a_few_edits_by_hand(kind):
    lists = [[0, 1], [1, 2, 3], [0, 3], [2]]
    given = lists if kind is Hypergraph else [(one, one[:1]) for one in lists]
    H = kind.from_hyperedges(given[:2], n_vertices=4, weight=[0.5, 2.0])
    H = H.add(given[2:], weight=[1.5, 3.0]).remove([1]).add_vertices(1)
    expected = kind.from_hyperedges([given[0], *given[2:]], n_vertices=5, weight=[0.5, 1.5, 3.0])
    assert H.equals(expected)
    assert H.vertex_degree().tolist() == expected.vertex_degree().tolist()
    sides = [(H.senders, expected.senders), (H.receivers, expected.receivers)]
    assert all(torch.equal(a, b) for side in sides for a, b in zip(*side, strict=True) if a is not None)


@pytest.mark.parametrize(
    "added",
    [
        [np.array([0, 2]), np.array([1, 2], dtype=np.int16)],
        [np.array([0, 2]), np.array([1, 2], dtype=np.uint64)],
        [torch.tensor([0, 2]), (1, 2)],
        ([0, 2] if k == 0 else {1, 2} for k in range(2)),
    ],
)
def test_hyperedges_are_added_as_lists_or_arrays(added):
    H = Hypergraph.from_hyperedges([[0, 1]], n_vertices=3)
    assert H.add(added).to_hyperedges() == [[0, 1], [0, 2], [1, 2]]
    assert H.add([np.array([0, 2]), np.array([])]).to_hyperedges() == [[0, 1], [0, 2], []]


def test_the_old_structure_stays_what_it_is():
    H = Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3, weight=[1.0, 2.0])
    before = Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3, weight=[1.0, 2.0])
    H.add([[0, 2]]).remove([0]).add_vertices(2)
    assert H.equals(before)


def test_a_degree_that_vanishes_is_exactly_0():
    H = Hypergraph.from_hyperedges([[0], [0]], n_vertices=1, weight=[0.1, 0.3])
    assert H.add([[0]], weight=[0.7]).remove([0, 1, 2]).vertex_degree().tolist() == [0.0]


def test_windows_of_dates():
    days = [date(2024, 1, day) for day in (1, 2, 5)]
    H = Hypergraph.from_hyperedges([[0], [1], [0, 1]], n_vertices=2, time=days)
    assert H.window(date(2024, 1, 2)).to_hyperedges() == [[1], [0, 1]]
    assert H.window(stop=np.datetime64("2024-01-05")).to_hyperedges() == [[0], [1]]


def test_times_are_stored(tmp_path):
    for H in (
        Hypergraph.from_hyperedges([[0], [1]], n_vertices=2, time=[1.5, 0.5]),
        DirectedHypergraph.from_hyperedges([([0], [1])], n_vertices=2, time=[date(2024, 1, 1)]),
    ):
        H.save(tmp_path / "timed")
        assert type(H).load(tmp_path / "timed").equals(H)


NAMED = Hypergraph.from_hyperedges([[0, 1]], n_vertices=2, vertex_names=["a", "b"], hyperedge_names=["x"], time=[3])
PLAIN = structures.hypergraph("unit weights")


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: PLAIN.add([[7]]), "vertex must hold ids from 0 to 3"),
        (lambda: PLAIN.add([[0, 0]]), "incidences must be unique"),
        (lambda: PLAIN.add([np.array([7])]), "vertex must hold ids from 0 to 3"),
        (lambda: PLAIN.add([np.array([True])]), "vertex must hold integer ids; got bool"),
        (lambda: PLAIN.add([np.array([[0]])]), "hyperedges must hold a list of vertices for each hyperedge"),
        (lambda: PLAIN.add([[0]], weight=[-1.0]), "weight must"),
        (lambda: PLAIN.add([[0]], hyperedge_names=["z"]), "hyperedge_names must be given for new ones if"),
        (lambda: NAMED.add([[0]], time=[1]), "hyperedge_names must be given for new ones if"),
        (lambda: NAMED.add([[0]], hyperedge_names=["x"], time=[1]), "hyperedge_names must all be different"),
        (lambda: NAMED.add([[0]], hyperedge_names=["y"]), "time must be given for all hyperedges"),
        (lambda: NAMED.add_vertices(1), "vertex_names must be given for new ones if"),
        (lambda: NAMED.add_vertices(1, vertex_names=["a"]), "vertex_names must all be different"),
        (lambda: PLAIN.remove([2]), "hyperedges must hold ids of the 2 hyperedges that are there, from 0; got 2"),
        (lambda: PLAIN.remove([0, -1]), "hyperedges must hold ids of the 2 hyperedges that are there, from 0; got -1"),
        (lambda: PLAIN.remove(["x"]), "hyperedges must hold integer ids"),
        (lambda: PLAIN.window(0, 1), "the hyperedges have no time"),
        (lambda: NAMED.window(4, 3), "stop must not be before start"),
        (lambda: NAMED.window(date(2024, 1, 1)), "start and stop must be of the kind of the times"),
        (
            lambda: NAMED.window("soon"),
            "start must hold numbers or dates, such as '2024-05-17', all of one kind; got 'soon'",
        ),
        (lambda: NAMED.window(0, np.nan), "stop must be known and finite"),
        (
            lambda: Hypergraph.from_hyperedges([[0]], 1, time=["soon"]),
            "time must hold numbers or dates, .*; got 'soon'",
        ),
        (lambda: Hypergraph.from_hyperedges([[0]] * 2, 1, time=[1, None]), "time must hold .*; got None"),
        (lambda: Hypergraph.from_hyperedges([[0]], 1, time=[True]), "time must hold .*; got True"),
        (lambda: Hypergraph.from_hyperedges([[0]], 1, time=[1j]), "time must hold .*; got 1j"),
        (lambda: Hypergraph.from_hyperedges([[0]], 1, time=[np.nan]), "time must be known and finite"),
        (lambda: Hypergraph.from_hyperedges([[0]], 1, time=[1, 2]), "time must have shape"),
        (lambda: DirectedHypergraph.from_hyperedges([([0], [0])], 1).add([[0]]), "hyperedge 0 must be a pair"),
    ],
)
def test_what_does_not_fit_is_one_clear_error(run, message):
    with pytest.raises((ValueError, TypeError), match=message):
        run()


@pytest.mark.timing
def test_adding_a_hundredth_costs_a_fifth_of_building_and_half_from_sorted_pairs():
    rng, n_vertices, n_hyperedges = np.random.default_rng(0), 1_000_000, 200_000
    in_order = np.divmod(np.unique(rng.integers(0, n_vertices * n_hyperedges, 10_000_000)), n_hyperedges)
    order = rng.permutation(in_order[0].size)
    shuffled = tuple(ids[order] for ids in in_order)
    new = [np.unique(rng.integers(0, n_vertices, 50)) for _ in range(2000)]
    taken = {"shuffled": [], "in order": [], "add": []}

    def timed(name, run):
        start = time.process_time()
        made = run()
        taken[name].append(time.process_time() - start)
        return made

    for _ in range(7):
        timed("shuffled", lambda: Hypergraph.from_incidence(*shuffled, n_vertices, n_hyperedges))
        H = timed("in order", lambda: Hypergraph.from_incidence(*in_order, n_vertices, n_hyperedges))
        timed("add", partial(H.add, new))
    print(taken)
    warm = {name: np.median(seconds[2:]) for name, seconds in taken.items()}  # the first passes get memory
    assert warm["add"] <= warm["shuffled"] / 5
    assert warm["add"] <= warm["in order"] / 2


def test_what_is_added_takes_part(normalization):
    from hypergnn import functional

    H = Hypergraph.from_hyperedges([[0, 1, 2]], n_vertices=4).add([[2, 3]], weight=[3.0])
    again = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4, weight=[1.0, 3.0])
    x = torch.rand(4, 3)
    results = [functional.hypergraph_conv(x, one, normalization=normalization) for one in (H, again)]
    assert torch.equal(*results)


def test_nothing_new_needs_no_names():
    H = Hypergraph.from_hyperedges([[0, 1]], 2, vertex_names=["a", "b"], hyperedge_names=["h"])
    assert H.add([]).equals(H)
    assert H.add_vertices(0).equals(H)
    with pytest.raises(
        ValueError, match=r"vertex_names must be given for new ones .*: the others have names, so give some"
    ):
        H.add_vertices(1)


def test_a_batch_is_edited_member_by_member():
    both = batch([Hypergraph.from_hyperedges([[0, 1]], 2)] * 2)
    for edit in (lambda: both.add([[0]]), lambda: both.remove([0]), lambda: both.add_vertices(1)):
        with pytest.raises(TypeError, match="a batch cannot be edited; edit its members"):
            edit()


def test_ids_beyond_all_numbers_are_unknown():
    H = Hypergraph.from_hyperedges([[0, 1]], 2)
    with pytest.raises(ValueError, match=f"ids of the 1 hyperedges that are there, from 0; got {2**63 + 5}"):
        H.remove(np.array([2**63 + 5], dtype=np.uint64))


def test_times_that_would_change_are_refused():
    H = Hypergraph.from_hyperedges([[0, 1]], 2, time=[2**60 + 1])
    with pytest.raises(ValueError, match="time must be whole numbers for all hyperedges"):
        H.add([[0]], time=[0.5])
    aware = datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=5)))
    with pytest.raises(ValueError, match="time must have no time zone"):
        Hypergraph.from_hyperedges([[0, 1]], 2, time=[aware])


def test_dates_may_be_text():
    H = Hypergraph.from_hyperedges([[0, 1], [1]], 2, time=["2024-01-01", "2024-02-01"])
    assert H.window("2024-01-15").to_hyperedges() == [[1]]
    assert H.time.dtype.kind == "M"
