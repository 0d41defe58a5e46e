"""Tables from memory, from files and from queries that have not run yet; numbers that stay exact."""

import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import torch

from hypergnn._utils import matrices, table_files
from hypergnn._utils.checks import as_array, as_ids, as_weight
from hypergnn._utils.table_sources import Source
from hypergnn._utils.tables import as_numbers, as_text, encode, read_table


def written(folder: Path, ending: str, **columns: list) -> Path:
    """A file of the kind; its folder is made if necessary."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"part-{len(list(folder.iterdir()))}.{ending}"
    frame = pd.DataFrame(columns)
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_folder_and_a_list_of_files_are_one_table(tmp_path, ending):
    first = written(tmp_path / "orders", ending, who=["a", "b"], what=[1, 2])
    second = written(tmp_path / "orders", ending, who=["c"], what=[3])
    written(tmp_path / "orders" / "_temporary", ending, who=["lost"], what=[4])  # files in progress are left out
    for source in (tmp_path / "orders", str(tmp_path / "orders"), [first, str(second)]):
        table = read_table(source)
        assert table.columns["who"].to_pylist() == ["a", "b", "c"]
        assert as_numbers(table.columns["what"]).tolist() == [1, 2, 3]
    assert read_table([second, first]).columns["who"].to_pylist() == ["c", "a", "b"]


def test_folders_of_partitions_are_columns(tmp_path):
    written(tmp_path / "orders" / "year=2023", "parquet", who=["a"])
    written(tmp_path / "orders" / "year=2024", "parquet", who=["b"])
    table = read_table(tmp_path / "orders")
    assert table.columns["year"].to_pylist() == [2023, 2024]
    assert list(read_table(tmp_path / "orders", [("vertex", "who")]).columns) == ["who"]


def test_only_the_needed_columns_are_read(tmp_path, monkeypatch):
    path = written(tmp_path, "parquet", who=["a"], what=[1], notes=["long"])
    seen = []
    read = table_files.read_file
    monkeypatch.setattr(
        table_files, "read_file", lambda *args, **options: seen.append(read(*args, **options)) or seen[0]
    )
    assert list(read_table(path, [("vertex", "what")]).columns) == ["what"]
    assert seen[0].column_names == ["what"]
    lazy = pl.LazyFrame({"who": ["a"]}).with_columns(bad=pl.col("who").cast(pl.Int64))  # fails if it is computed
    assert read_table(lazy, [("vertex", "who")]).columns["who"].to_list() == ["a"]
    with pytest.raises(ValueError, match=r"weight must name a column of the table; got 'worth'. The columns are 'who'"):
        read_table(path, [("weight", "worth")])


def test_text_columns_of_csv_files_keep_their_zeros(tmp_path):
    path = tmp_path / "ids.csv"
    path.write_text("who,what\n007,1\n7,2\n")
    assert read_table(path, text=["who"]).columns["who"].to_pylist() == ["007", "7"]


@pytest.mark.skipif(os.name == "nt" or sys.platform == "darwin", reason="file names are text here")
def test_the_name_of_a_csv_file_need_not_be_text(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9.csv")
    path.write_text("who,what\na,1\n")
    assert read_table(path, text=["who"]).columns["who"].to_pylist() == ["a"]


def test_relations_of_a_database_are_tables():
    class Relation:
        """What a relation of duckdb offers."""

        def __init__(self, table: pa.Table) -> None:
            self._table, self.columns = table, table.column_names

        def project(self, names: str) -> "Relation":
            assert names == '"a ""b"""'
            return Relation(self._table.select(['a "b"']))

        def __arrow_c_stream__(self, schema: object = None) -> object:
            return self._table.__arrow_c_stream__(schema)

    relation = Relation(pa.table({'a "b"': [1], "c": [2]}))
    assert read_table(relation, [("vertex", 'a "b"')]).columns['a "b"'].to_pylist() == [1]


def test_structured_arrays_are_tables():
    array = np.array([("tea", 2.0), ("milk", 1.0)], dtype=[("item", "U9"), ("price", "f8")])
    assert read_table(array).columns["item"].tolist() == ["tea", "milk"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: folder, "must hold .csv or .parquet files; got none"),
        (lambda folder: [written(folder, "csv", a=[1]), written(folder, "parquet", a=[1])], "all .csv or all .parquet"),
        (lambda folder: [folder / "a.txt"], "the ending of path must be one of '.csv', '.parquet'; got '.txt'"),
    ],
)
def test_files_that_are_no_table_are_refused(tmp_path, make, message):
    with pytest.raises(ValueError, match=message):
        read_table(make(tmp_path))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_pipe_is_refused_at_once(tmp_path, ending):
    pipe = tmp_path / f"pipe.{ending}"
    os.mkfifo(pipe)
    with pytest.raises(ValueError, match=f"pipe.{ending} must be a file, not a pipe or a device. Write it to a file"):
        read_table(pipe)


@pytest.mark.parametrize("name", ["gone.csv", "gone.parquet"])
def test_a_missing_file_is_named(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=name):
        read_table(tmp_path / name)


def test_a_damaged_parquet_file_is_refused(tmp_path):
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(ValueError, match=r"bad\.parquet"):
        read_table(tmp_path / "bad.parquet")


def test_a_parquet_file_of_types_that_pyarrow_does_not_know_is_refused(tmp_path, monkeypatch):
    def read_schema(_):
        raise pa.ArrowNotImplementedError("Integers with more than 64 bits not implemented")

    path = written(tmp_path, "parquet", who=["a"])
    monkeypatch.setattr(pyarrow.parquet, "read_schema", read_schema)
    with pytest.raises(ValueError, match="must be a Parquet file: Integers with more than 64 bits"):
        read_table(path)


def test_a_header_that_names_a_column_twice_is_refused(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("who,what,who\n1,2,3\n")
    with pytest.raises(ValueError, match=r"unique column names; 'who' occurs twice\. Rename"):
        read_table(path)
    table = pa.Table.from_arrays([pa.array([1])] * 3, names=["a", "a", "a"])
    with pytest.raises(ValueError, match="'a' occurs 3 times"):
        read_table(table)
    pyarrow.parquet.write_table(table, tmp_path / "twice.parquet")
    with pytest.raises(ValueError, match="'a' occurs 3 times"):
        read_table(tmp_path / "twice.parquet")


def test_a_header_beyond_the_limit_of_csv_is_refused(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("a" * 200_000 + "\n")
    with pytest.raises(ValueError, match=r"wide\.csv must start with the names of its columns: field larger"):
        read_table(path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pd.DataFrame, dict, pa.table])
def test_many_columns_take_linear_time(kind):
    table = kind({f"c{number}": [1.0, 2.0] for number in range(20_000)})
    start = time.perf_counter()
    assert len(read_table(table).columns) == 20_000
    assert time.perf_counter() - start < 4  # 20,000² comparisons take longer


@pytest.mark.slow
def test_many_columns_of_a_file_take_linear_time(tmp_path):
    path = tmp_path / "wide.csv"
    names = [f"c{number}" for number in range(20_000)]
    path.write_text("\n".join([",".join(names), ",".join(["1"] * 20_000)]) + "\n")
    start = time.process_time()
    assert len(read_table(path).columns) == 20_000
    assert time.process_time() - start < 3  # 20,000² / 2 comparisons take longer


BIG = 2**53 + 1
BIG_COLUMNS = {
    "numpy": np.array([BIG, 1]),
    "pandas": pd.Series([BIG, 1]),
    "nullable": pd.Series([BIG, None], dtype="Int64"),
    "polars": pl.Series([BIG, None]),
    "arrow": pa.chunked_array([[BIG, None]]),
    "objects": np.array([BIG, None], dtype=object),
    "unsigned": np.array([2**64 - 1], dtype=np.uint64),
}


@pytest.mark.parametrize("column", BIG_COLUMNS.values(), ids=BIG_COLUMNS)
def test_whole_numbers_without_a_float_are_exact_as_ids_and_refused_as_measurements(column):
    with pytest.raises(ValueError, match=r"column 'balance' holds the whole number \d+, which has no floating-point"):
        as_numbers(column, "balance")
    assert encode(column).values.tolist()[0] in (BIG, 2**64 - 1)


def test_rounded_ids_are_refused():
    rounded = pd.Series([BIG, None])  # pandas makes floats of whole numbers with gaps
    with pytest.raises(ValueError, match=r"column 'customer' must hold ids as whole.*9007199254740992 is a floating"):
        as_text(encode(rounded).values, "customer")
    assert as_text(np.array([7.0]), "customer") == ["7"]


@pytest.mark.parametrize(("kind", "message"), [("meta", "on the device meta"), ("nested", "a nested one. Pad it")])
def test_tensors_without_an_array_are_refused(kind, message):
    ragged = [torch.ones(2), torch.ones(3)]
    meta = torch.empty(3, 2, device="meta")
    tensor = meta if kind == "meta" else torch.nested.nested_tensor(ragged, layout=torch.jagged)
    for read in (
        lambda: matrices.as_matrix(tensor),
        lambda: as_array(tensor),
        lambda: as_ids("vertex", tensor, 3, "n_vertices"),
        lambda: as_weight(tensor, 3),
    ):
        with pytest.raises(TypeError, match=message):
            read()


def test_what_is_no_table_is_refused():
    for nothing in (None, 7, [], [[1, 2]], np.ones((2, 2))):
        with pytest.raises(TypeError, match="table must be a pandas, polars or pyarrow table"):
            Source(nothing)


@pytest.mark.parametrize(("separator", "number"), [(";", "3,5"), ("\t", "3.5"), (",", "3.5"), (";", "3.5")])
def test_a_csv_file_may_separate_columns_as_excel_does(tmp_path, separator, number):
    path = tmp_path / "kunden.csv"
    lines = [["Kunde", "Größe", "Ort"], ["Ann", number, "Köln"], ["Bob", "", ""]]
    path.write_text("\r\n".join(separator.join(line) for line in lines), encoding="utf-8-sig", newline="")
    found = {"Kunde": ["Ann", "Bob"], "Größe": [3.5, None], "Ort": ["Köln", None]}
    assert table_files.read_file(path).to_pydict() == found
    assert table_files.header(path) == list(found)


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ('"a;b"\n1\n', ["a;b"]),
        ("notes; remarks\nlate\n", ["notes; remarks"]),
        ('notes\n"late; damaged"\n', ["notes"]),
        ('"notes"\nlate; damaged\nlost; found\n', ["notes"]),
        ('Kunde;"Preis, EUR"\r\nAnn;3,5\r\n', ["Kunde", "Preis, EUR"]),
        ("Kunde;Ort;Preis, EUR\nAnn;Ulm;3,5\n", ["Kunde", "Ort", "Preis, EUR"]),
        ('customer,"a;b;c"\nAnn,"1;2;3"\n', ["customer", "a;b;c"]),
        ('customer,note\nAnn,"late;\ndamaged"\n', ["customer", "note"]),
        ('customer\tsize\nAnn\t5"\nBob\t6"\n', ["customer", "size"]),
        ("\ufeffKunde;Ort", ["Kunde", "Ort"]),
        ("a;b,c;d\n1;2,3;4\n", ["a", "b,c", "d"]),
        ("a;b,c\n1;2,3\n", ["a;b", "c"]),
    ],
)
def test_the_separator_gives_header_and_first_row_equally_many_cells(tmp_path, content, names):
    path = tmp_path / "kunden.csv"
    path.write_text(content, encoding="utf-8", newline="")
    assert table_files.header(path) == names


def test_a_long_row_does_not_hide_the_separator(tmp_path, monkeypatch):
    path = tmp_path / "kunden.csv"
    path.write_text("Kunde;Ort\nAnn;Ulm\n")
    for size in (8, 12, 16):  # in the header, in the first row, and at its end
        monkeypatch.setattr(table_files, "_START", size)
        assert table_files.separator(path) == ";"


def test_only_numbers_with_a_comma_are_decimals(tmp_path):
    path = tmp_path / "kunden.csv"
    path.write_text("Telefon;Preis;Datum\n+49170,1234567;1,234;1,5\n+49170,1234568;-,5;3.4.\n+49170;7;\n")
    assert table_files.read_file(path).to_pydict() == {
        "Telefon": ["+49170,1234567", "+49170,1234568", "+49170"],
        "Preis": [1.234, -0.5, 7.0],
        "Datum": ["1,5", "3.4.", None],
    }
    texts = pa.table({"Telefon": ["+491701234567", None], "Nummer": ["0049170", "0049171"], "leer": ["", ""]})
    assert table_files._with_decimal_commas(pa, texts, ()).equals(texts)


def test_pyarrow_reads_memory_that_python_does_not_own(tmp_path, monkeypatch):
    """Its threads may release the memory while the interpreter exits; to release bytes, they need the interpreter."""
    path = tmp_path / "clubs.csv"
    path.write_text("id,club\n" + "p1,rowing\n" * 1000)
    read, owned, before = pyarrow.csv.read_csv, [], pa.total_allocated_bytes()

    def noting(source, **options):
        owned.append(pa.total_allocated_bytes() - before)
        return read(source, **options)

    monkeypatch.setattr(pyarrow.csv, "read_csv", noting)
    table_files.read_file(path)
    assert owned[0] >= path.stat().st_size
