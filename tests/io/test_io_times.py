"""Times of hyperedges survive every format that can hold them, and the others refuse them."""

from datetime import date, datetime

import numpy as np
import pytest

import hypergnn as hg
from hypergnn import DirectedHypergraph, Hypergraph, construct, io

TIMES = {
    "whole numbers": [3, 1],
    "fractions": [0.5, 2.0],
    "days": np.array(["2024-02-29", "1969-12-31"], dtype="datetime64[D]"),
    "nanoseconds": np.array(["2024-02-29T12:30:00.000000001", "2024-01-01"], dtype="datetime64[ns]"),
    "months": np.array(["2024-02", "2025-01"], dtype="datetime64[M]"),
    "dates of Python": [datetime(2024, 2, 29, 12, 30), datetime(2024, 1, 1)],
}


def timed(time, kind=Hypergraph):
    lists = [[0, 1], [1, 2]] if kind is Hypergraph else [([0, 1], [1]), ([1], [2])]
    return kind.from_hyperedges(lists, n_vertices=3, weight=[1.0, 2.0], hyperedge_names=["x", "y"], time=time)


def written(H, path, write, read):
    write(H, path)
    return read(path)


def table(suffix, kind):
    role = "role" if kind is DirectedHypergraph else None

    def through(H, folder):
        def read(path):
            return io.read_incidence_table(path, weight="weight", time="time", role=role)

        return written(H, folder / f"incidences{suffix}", io.write_incidence_table, read)

    return through


def through_all(kind):
    found = {
        "HIF": lambda H, folder: written(H, folder / "one.json", io.write_hif, io.read_hif),
        "NetworkX": lambda H, _: io.from_networkx(io.to_networkx(H)),
        "XGI": lambda H, _: io.from_xgi(io.to_xgi(H)),
        "CSV": table(".csv", kind),
        "Parquet": table(".parquet", kind),
        "safetensors": lambda H, folder: written(H, folder / "one", kind.save, kind.load),
    }
    if kind is Hypergraph:
        found["HyperNetX"] = lambda H, _: io.from_hypernetx(io.to_hypernetx(H))
        found["PyG"] = lambda H, _: io.from_pyg(io.to_pyg(H))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("time", TIMES.values(), ids=TIMES)
@pytest.mark.parametrize("kind", [Hypergraph, DirectedHypergraph])
def test_times_survive_every_format(kind, time, tmp_path):
    H = timed(time, kind)
    for name, through in through_all(kind).items():
        again = through(H, tmp_path)
        assert again.time is not None, name
        np.testing.assert_array_equal(again.time, H.time, err_msg=name)
        assert again.time.dtype.kind == H.time.dtype.kind, name
        assert again.equals(H), name
    attributed = io.read_hif(tmp_path / "one.json", attributes=True)
    assert attributed.hyperedges == [{}, {}]
    assert attributed.hypergraph.equals(H)


def test_what_cannot_hold_times_refuses_them():
    H = Hypergraph.from_hyperedges([[0, 1]], n_vertices=2, time=[1])
    for convert in (io.to_scipy, io.to_dhg):
        with pytest.raises(ValueError, match=r"cannot hold the times of hyperedges. Give ignore=\('times',\)"):
            convert(H)
    assert io.to_scipy(H, ignore=("times",))[0].shape == (2, 1)


def test_attributes_called_time_are_read_only_if_all_are_times():
    H = Hypergraph.from_hyperedges([[0], [0, 1]], n_vertices=2)
    for rows in ([{"time": "soon"}, {"time": 2}], [{"time": 1}, {}], [{"time": True}, {"time": False}]):
        attributed = io.AttributedHypergraph(H, hyperedges=rows)
        again = io.from_networkx(io.to_networkx(attributed), attributes=True)
        assert again.equals(attributed)
        assert again.hypergraph.time is None
    with pytest.raises(ValueError, match=r"hyperedges\[0\] must not have the attribute 'time'"):
        io.AttributedHypergraph(H, hyperedges=[{"time": 1}, {"time": 2}])
    with pytest.raises(ValueError, match=r"hyperedges\[1\] must not have the attribute 'time'"):
        io.AttributedHypergraph(timed([1, 2]), hyperedges=[{}, {"time": "soon"}])


def test_a_column_of_times_is_asked_for_by_name(tmp_path):
    path = tmp_path / "incidences.csv"
    path.write_text("vertex,hyperedge,time\na,x,1\nb,x,2\n")
    with pytest.raises(ValueError, match="the table has a column 'time': give time='time' to read it"):
        io.read_incidence_table(path)
    assert io.read_incidence_table(path, ignore=("attrs",)).time is None
    with pytest.raises(ValueError, match="all rows of a hyperedge must have the same time"):
        io.read_incidence_table(path, time="time")
    path.write_text("vertex,hyperedge,time\na,x,soon\n")
    with pytest.raises(ValueError, match="column 'time' must hold numbers or dates"):
        io.read_incidence_table(path, time="time")


ORDERS = {"who": ["ann", "bob", "bob"], "order": ["a", "a", "b"], "day": ["2024-05-17", "2024-05-17", "2024-05-18"]}


def test_tables_give_hyperedges_their_times(tmp_path):
    H = construct.from_table(ORDERS, vertex="who", hyperedge="order", time="day")
    assert H.time.tolist() == [date(2024, 5, 17), date(2024, 5, 18)]
    assert H.window(date(2024, 5, 18)).hyperedge_names.tolist() == ["b"]
    numbers = {**ORDERS, "day": [7, 7, 9]}
    assert construct.from_table(numbers, vertex="who", hyperedge="order", time="day").time.tolist() == [7, 9]
    path = tmp_path / "orders.csv"
    path.write_text("who,order,day\nann,a,2024-05-17\nbob,a,2024-05-17\nbob,b,2024-05-18\n")
    read = construct.from_table(path, vertex="who", hyperedge="order", time="day")
    assert read.window(date(2024, 5, 18)).n_hyperedges == 1
    for columns in ({"order": "day"}, "day"):
        both = construct.from_table(ORDERS, vertex="who", hyperedge=["order"], time=columns)
        np.testing.assert_array_equal(both.time, H.time)
    features = {"who": ["bob", "ann"], "age": [3, 4]}
    found = construct.from_events(ORDERS, vertex="who", hyperedge="order", features=features, time="day")
    np.testing.assert_array_equal(found.hypergraph.time, H.time)
    roles = {**ORDERS, "part": ["tail", "head", "tail"]}
    pointed = construct.from_table(roles, vertex="who", hyperedge="order", role="part", time="day")
    np.testing.assert_array_equal(pointed.time, H.time)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"day": [1, 2, 3]}, {}, "column 'day' must hold one time per hyperedge; 'a' has"),
        ({"day": ["soon", "soon", "later"]}, {}, "column 'day' must hold numbers or dates, such as 2024-05-17"),
        ({"day": [1, 1, None]}, {}, "column 'day' must hold a time in each row; row 2 has none"),
        ({}, {"time": "when"}, "time must name a column of the table; got 'when'"),
        ({}, {"hyperedge": ["order", "who"], "time": {"order": "day"}}, "time must be given for all columns"),
        ({}, {"time": {"who": "day"}}, "time must be by columns of hyperedges"),
    ],
)
def test_bad_times_of_tables_are_one_clear_error(change, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        construct.from_table({**ORDERS, **change}, **{"vertex": "who", "hyperedge": "order", "time": "day", **options})


def test_structures_made_of_others_have_their_times():
    one, other = timed([1, 2]), timed([5, 6])
    assert construct.union(one, other, prefixes=["1", "2"]).time.tolist() == [1, 2, 5, 6]
    assert construct.drop_hyperedges(one.add([[0]], hyperedge_names=["z"], time=[3])).time.tolist() == [1, 2]
    whole = hg.batch([one, other])
    assert whole.time.tolist() == [1, 2, 5, 6]
    assert [member.equals(own) for member, own in zip(whole.split(), (one, other), strict=True)] == [True, True]
    plain = Hypergraph.from_hyperedges([[0]], n_vertices=3)
    dated = Hypergraph.from_hyperedges([[0]], n_vertices=3, time=[date(2024, 1, 1)])
    for combine in (lambda *of: construct.union(*of, prefixes=["1", "2"]), lambda *of: hg.batch(of)):
        with pytest.raises(ValueError, match="time must be given for all hyperedges, new and old"):
            combine(one, plain)
        with pytest.raises(ValueError, match="time must be numbers for all hyperedges or dates for all"):
            combine(one, dated)
    with pytest.raises(ValueError, match="time must be numbers for all hyperedges or dates for all"):
        one.add([[0]], hyperedge_names=["z"], time=[date(2024, 1, 1)])
