"""CSV files with string ids, missing values, unknown ids and unlabelled rows: each works or gives one clear error."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.forks import programs

import hypergnn as hg

PAGE = Path(__file__).parents[2] / "docs" / "table.md"


@pytest.fixture
def people(tmp_path):
    """Forty people in two towns, who differ in age, colour and club; five of each have a label."""
    rng = np.random.default_rng(0)
    lines = ["id,age,height,colour,town"]
    for place in range(40):
        town = ("Oslo", "Rome")[place % 2]
        age = 30 + 30 * (town == "Rome") + rng.integers(-8, 9)
        colour = "" if place == 7 else ("red", "blue")[(place % 2) ^ (rng.random() < 0.1)]
        lines.append(f"p{place:02d},{age},{1.6 + rng.random() / 5:.2f},{colour},{town if place < 10 else ''}")
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def clubs(tmp_path):
    path = tmp_path / "clubs.csv"
    rows = [f"p{place:02d},{('rowing', 'chess')[place % 2]}" for place in range(40)]
    path.write_text("id,club\n" + "\n".join(rows) + "\n")
    return path


def truth(n=40):
    return np.array(["Oslo", "Rome"] * (n // 2))


@pytest.mark.slow
@pytest.mark.parametrize(
    "read", [lambda path: pd.read_csv(path, index_col="id"), lambda path: pl.read_csv(path).drop("id")]
)
def test_words_missing_values_and_unlabelled_rows_work(people, read):
    table = read(people)
    columns = ["age", "colour"]
    model = hg.HypergraphClassifier(construct="attributes", random_state=0).fit(table[columns], table["town"])
    assert model.classes_.tolist() == ["Oslo", "Rome"]
    assert (model.transduction_ == truth()).mean() > 0.85
    assert model.feature_names_in_.tolist() == columns
    new = pd.DataFrame({"age": [25.0, np.nan, 70.0], "colour": ["red", "blue", "green"]})  # green is new
    assert model.predict(new).tolist() == ["Oslo", "Rome", "Rome"]


@pytest.mark.slow
def test_string_ids_join_two_files(people, clubs):
    table, membership = pd.read_csv(people, index_col="id"), pd.read_csv(clubs).sample(frac=1, random_state=0)
    H = hg.construct.from_table(membership, vertex="id", hyperedge="club", vertices=table.index)
    model = hg.HypergraphClassifier(random_state=0).fit(table[["height"]], table["town"], hypergraph=H)
    assert (model.transduction_ == truth()).all()
    assert model.hypergraph_.vertex_names[3] == "p03"


@pytest.mark.slow
def test_rows_in_another_order_than_vertices_are_refused(people, clubs):
    table = pd.read_csv(people, index_col="id")
    H = hg.construct.from_table(pd.read_csv(clubs), vertex="id", hyperedge="club", vertices=table.index)
    turned = table.iloc[::-1]
    message = r"vertex 0 is 'p00', row 0 is 'p39'\. .*X\.loc\[hypergraph\.vertex_names\]"
    for model in (hg.HypergraphClassifier(), hg.HypergraphEmbedding()):
        with pytest.raises(ValueError, match=message):
            model.fit(turned[["height"]], turned["town"], hypergraph=H)
    sorted_rows = turned.loc[H.vertex_names]
    hg.HypergraphClassifier(max_epochs=2).fit(sorted_rows[["height"]], sorted_rows["town"], hypergraph=H)


def test_labels_in_another_order_than_rows_are_refused(people):
    table = pd.read_csv(people, index_col="id")
    with pytest.raises(ValueError, match="y must have its labels in the order of the rows of X; label 0 is 'p39'"):
        hg.HypergraphClassifier().fit(table[["age"]], table["town"][::-1])


@pytest.mark.parametrize("missing", ["-1", "", "NA", "null"])
def test_a_marker_of_missing_labels_is_not_a_class(clubs, tmp_path, missing):
    labels = tmp_path / "labels.csv"
    rows = [f"p{place:02d},{missing if place > 9 else place % 2}" for place in range(40)]
    labels.write_text("id,label\n" + "\n".join(rows) + "\n")
    if missing.isalpha():
        with pytest.raises(ValueError, match=f"column 'label' holds '{missing}', which looks like a missing label"):
            hg.datasets.from_tables(incidences=clubs, labels=labels)
    else:
        data = hg.datasets.from_tables(incidences=clubs, labels=labels)
        assert data.class_names == ("0", "1")
        assert (data.y >= 0).sum() == 10


def test_two_classes_may_be_called_minus_one_and_one(clubs):
    labels = {"id": ["p00", "p01", "p02", "p03", "p04", "p05"], "label": [-1, 1, -1, 1, -1, 1]}
    assert hg.datasets.from_tables(incidences=clubs, labels=labels).class_names == ("-1", "1")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"id,club\n", "incidences: the table must have at least one row"),
        (b"", "the table must have a column for the vertex; got no column: the file is empty"),
        (b"id;club\np01\n", "column for the hyperedge; got only 'id;club'. Separate columns by commas"),
        ("id,clüb\np01,chess\n".encode("latin-1"), "clubs.csv must be text in UTF-8"),
    ],
    ids=["header only", "empty", "semicolons", "Latin-1"],
)
def test_files_that_are_not_tables_are_refused(tmp_path, content, message):
    path, features = tmp_path / "clubs.csv", {"id": ["p01"], "age": [30]}
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        hg.datasets.from_tables(incidences=path, features=features)


def test_unknown_ids_are_named(people, clubs):
    clubs.write_text(clubs.read_text() + "p99,chess\n")
    table = pd.read_csv(people, index_col="id")
    with pytest.raises(ValueError, match="p99"):
        hg.construct.from_table(pd.read_csv(clubs), vertex="id", hyperedge="club", vertices=table.index)
    numbers = people.with_name("numbers.csv")
    table[["age", "height"]].to_csv(numbers)
    with pytest.raises(ValueError, match=r"incidences must name only vertices that have features; .*'p99'"):
        hg.datasets.from_tables(incidences=clubs, features=numbers)


@pytest.mark.slow
def test_missing_numbers_and_words_are_encoded(people):
    people.write_text(re.sub(r"p05,\d+,", "p05,,", people.read_text()))
    table = pd.read_csv(people, index_col="id")
    model = hg.HypergraphClassifier(random_state=0).fit(table[["age", "colour"]], table["town"])
    assert (model.transduction_ == truth()).mean() > 0.85


def test_a_file_without_any_label_is_one_clear_error(people):
    table = pd.read_csv(people, index_col="id").iloc[10:]
    with pytest.raises(ValueError, match="y must label at least one row"):
        hg.HypergraphClassifier().fit(table[["age", "height"]], table["town"])


@pytest.mark.slow
def test_the_ten_lines_that_compare_with_label_spreading_print_what_the_page_says():
    block = next(one for one in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S) if "LabelSpreading" in one)
    assert len([line for line in block.splitlines() if line and not line.startswith("#")]) <= 11
    done = programs(lambda: exec(block, {"__name__": "__main__"}))
    assert done.returncode == 0, done.stderr
    ours, theirs = map(float, re.findall(r"([\d.]+)%", done.stdout))
    assert ours > theirs > 80
    said = map(float, re.findall(r"(?m)^# \w+ ([\d.]+)%$", block))
    assert [ours, theirs] == pytest.approx(list(said), abs=0.5)
