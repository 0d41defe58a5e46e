import re
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.generated import INTEGERS, MIXED, TEXT, by_name, hypergraphs

from hypergnn import Hypergraph, io

ENDINGS = pytest.mark.parametrize("ending", ["csv", "parquet"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("tables")


def looks_like_integers(names: object) -> bool:
    return names is not None and all(isinstance(n, str) and re.fullmatch("-?[1-9][0-9]*|0", n) for n in names)


@pytest.mark.slow
@ENDINGS
@settings(deadline=None, max_examples=100)
@given(H=st.one_of([hypergraphs(names=n, centroids=False, isolated=False, empty=False) for n in (TEXT, INTEGERS)]))
def test_a_table_preserves_names_and_weights(folder, ending, H):
    path = folder / f"table.{ending}"
    if ending == "csv" and (looks_like_integers(H.vertex_names) or looks_like_integers(H.hyperedge_names)):
        with pytest.raises(ValueError, match="would be read as integers"):
            io.write_incidence_table(H, path)
        return
    io.write_incidence_table(H, path)
    weighted = bool((H.weight != 1).any())
    back = io.read_incidence_table(path, weight="weight" if weighted else None)
    assert by_name(back) == by_name(H)


def test_a_csv_file_is_plain(folder):
    path = folder / "plain.csv"
    H = Hypergraph.from_incidence([1, 0], [1, 0], 2, 2, [1.0, 2.5], vertex_names=['say "a"', "b"])
    io.write_incidence_table(H, path)
    assert path.read_text() == '"vertex","hyperedge","weight"\n"say ""a""",0,1\n"b",1,2.5\n'


def test_names_with_line_ends_survive_in_a_file_of_many_blocks(folder):
    n = 100_000  # several megabytes; pyarrow reads one at a time
    names = [f"first line of {vertex}\nsecond line" for vertex in range(n)]
    H = Hypergraph.from_incidence(range(n), [0] * n, n, 1, vertex_names=names)
    io.write_incidence_table(H, folder / "lines.csv")
    assert io.read_incidence_table(folder / "lines.csv").equals(H)


def test_text_that_is_not_an_integer_stays_text(folder):
    path = folder / "text.csv"
    path.write_text("vertex,hyperedge\n007,1\n7,2\nNA,-0\ntrue,2\n")
    H = io.read_incidence_table(path)
    assert H.vertex_names.tolist() == ["007", "7", "NA", "true"]
    assert H.hyperedge_names.tolist() == ["1", "2", "-0"]


def test_numbers_from_zero_on_stay_numbers_in_whatever_order_they_come(folder):
    path = folder / "numbers.csv"
    path.write_text("vertex,hyperedge\n2,10\n0,10\n1,20\n")
    H = io.read_incidence_table(path)
    assert H.vertex_names is None
    assert (H.vertex.tolist(), H.hyperedge.tolist()) == ([0, 1, 2], [0, 1, 0])
    assert H.hyperedge_names.tolist() == [10, 20]


def test_columns_may_be_dictionaries_of_any_order_and_several_chunks(folder):
    path = folder / "chunks.parquet"
    chunks = [pyarrow.array(names).dictionary_encode() for names in (["b", "a"], ["a", "c"])]
    table = pyarrow.table({"who": pyarrow.chunked_array(chunks), "what": pyarrow.array([5, 5, 6, 6], pyarrow.uint8())})
    pyarrow.parquet.write_table(table, path)
    H = io.read_incidence_table(path, vertex="who", hyperedge="what")
    assert by_name(H) == (["b", "a", "c"], {5: (1.0, None, {"a", "b"}), 6: (1.0, None, {"a", "c"})})


def test_text_may_be_of_any_layout(folder):
    path = folder / "views.parquet"
    views = pyarrow.array(["b", "a"], pyarrow.string_view())
    pyarrow.parquet.write_table(pyarrow.table({"vertex": views, "hyperedge": views}), path)
    assert io.read_incidence_table(path).vertex_names.tolist() == ["b", "a"]


@ENDINGS
@pytest.mark.parametrize(
    ("H", "word"),
    [
        (Hypergraph.from_hyperedges([[0]], 1, centroid=[0]), "centroids"),
        (Hypergraph.from_hyperedges([[0]], 2), "isolated"),
        (Hypergraph.from_hyperedges([[0], []], 1), "empty"),
        (Hypergraph.from_incidence([0], [0], 1, 1, vertex_names=[0.5]), "names"),
        (Hypergraph.from_incidence([0], [0], 1, 1, hyperedge_names=[2**63]), "names"),
    ],
)
def test_what_a_table_cannot_hold_is_refused_unless_ignored(folder, ending, H, word):
    path = folder / f"lossy.{ending}"
    path.unlink(missing_ok=True)
    with pytest.raises(ValueError, match=re.escape(f"Give ignore=('{word}',)")):
        io.write_incidence_table(H, path)
    assert not path.exists()
    io.write_incidence_table(H, path, ignore=(word,))
    assert io.read_incidence_table(path).equals(Hypergraph.from_hyperedges([[0]], 1))


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(H=hypergraphs(names=MIXED, centroids=False, isolated=False, empty=False))
def test_a_column_of_text_and_integers_is_refused(folder, H):
    kinds = [{type(name) for name in names} for names in (H.vertex_names, H.hyperedge_names) if names is not None]
    if any(len(kind) > 1 for kind in kinds):
        with pytest.raises(ValueError, match="only all text or all 64-bit integers"):
            io.write_incidence_table(H, folder / "mixed.parquet")


BROKEN = {
    "the table must have one column 'vertex'; the columns are 'a', 'hyperedge'": "a,hyperedge\n1,2\n",
    "column 'hyperedge' must have a value in each row; 1 are missing": "vertex,hyperedge\n1,\n2,3\n",
    "a Hypergraph cannot hold the columns 'w', 'x'. Give ignore=('attrs',)": "vertex,hyperedge,w,x\n1,2,3,4\n",
    "the table has a column 'weight': give weight='weight'": "vertex,hyperedge,weight\n1,2,3\n",
    "incidences must be unique": "vertex,hyperedge\n1,2\n1,2\n",
    "CSV parse error": "vertex,hyperedge\n1,2,3\n",
    "the file must start with the names of its columns; it is empty": "",
}


@pytest.mark.parametrize("message", BROKEN)
def test_a_wrong_table_is_refused_with_its_name_and_the_reason(folder, message):
    path = folder / "broken.csv"
    path.write_text(BROKEN[message])
    expected = f"cannot read {path} as a table of incidences: {message}"
    with pytest.raises(ValueError, match=re.escape(expected)):
        io.read_incidence_table(path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,9,2\n2,9,3\n", "all rows of a hyperedge must have the same weight"),
        ("1,9,-2\n", "weight must be positive"),
        ("1,9,heavy\n", "weight must hold real numbers"),
        ("1,9,nan\n", "weight"),
    ],
)
def test_invalid_weights_are_refused(folder, rows, message):
    path = folder / "weights.csv"
    path.write_text("vertex,hyperedge,w\n" + rows)
    with pytest.raises(ValueError, match=f"weights.csv.*{message}"):
        io.read_incidence_table(path, weight="w")


def test_other_columns_may_be_ignored(folder):
    path = folder / "more.csv"
    path.write_text("vertex,hyperedge,x\n1,2,3\n")
    assert io.read_incidence_table(path, ignore=("attrs",)).n_incidences == 1


def test_a_table_without_rows_has_no_vertices(folder):
    path = folder / "empty.csv"
    path.write_text("vertex,hyperedge\n")
    assert io.read_incidence_table(path).equals(Hypergraph.from_hyperedges([], 0))


def test_files_of_another_kind_are_refused(folder):
    path = folder / "wrong.parquet"
    path.write_bytes(b"PAR1 but no table PAR1")
    with pytest.raises(ValueError, match=r"cannot read .*wrong\.parquet"):
        io.read_incidence_table(path)
    pyarrow.parquet.write_table(pyarrow.table({"vertex": [0.5], "hyperedge": [1]}), path)
    with pytest.raises(ValueError, match=r"'vertex' must hold text or integers; got double"):
        io.read_incidence_table(path)
    with pytest.raises(ValueError, match=r"must be one of '\.csv', '\.parquet'; got '\.xlsx'"):
        io.read_incidence_table(folder / "table.xlsx")
    with pytest.raises(FileNotFoundError):
        io.read_incidence_table(folder / "nothing.csv")
