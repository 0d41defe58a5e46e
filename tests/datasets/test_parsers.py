import builtins
import io
import os
import pickle
import subprocess

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat
from support import real_data

from hypergnn.datasets import DataError, download, linqs, newsgroups, planetoid, sources

PARTS = ("y", "tx", "ty", "allx", "ally", "graph", "test.index")


@pytest.fixture(scope="module")
def citeseer():
    return real_data.files("citeseer")


class Attack:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("function", [os.system, builtins.eval, subprocess.getoutput, np.save, getattr])
def test_malicious_pickle_is_refused(tmp_path, function, protocol):
    trace = tmp_path / "trace"
    arguments = {
        os.system: [f"touch {trace}"],
        builtins.eval: [f"open({str(trace)!r}, 'w')"],
        subprocess.getoutput: [f"touch {trace}"],
        np.save: [str(trace), [1]],
        getattr: [[], "append"],
    }[function]
    content = pickle.dumps({0: [Attack(function, *arguments)]}, protocol)
    with pytest.raises(DataError, match=r"ind\.toy\.graph is refused: it asks for .*, which no data file needs"):
        planetoid.read_links("ind.toy.graph", content, 1)
    assert not list(tmp_path.iterdir())


def test_attack_works_on_plain_pickle(tmp_path):
    pickle.loads(pickle.dumps(Attack(os.system, f"touch {tmp_path / 'trace'}")))
    assert (tmp_path / "trace").exists()


@pytest.mark.parametrize("part", PARTS)
def test_truncated_file_is_named(citeseer, part):
    name = f"ind.citeseer.{part}"
    content = citeseer[name]
    for short in (b"", content[:1], content[: len(content) // 2]):
        with pytest.raises(DataError, match=name.replace(".", r"\.")):
            planetoid.parse("citeseer", {**citeseer, name: short})


@pytest.mark.parametrize(
    ("part", "other"), [(p, o) for p in PARTS for o in ("graph", "allx", "ty", "test.index") if p != o]
)
def test_wrong_file_is_named(citeseer, part, other):
    name = f"ind.citeseer.{part}"
    with pytest.raises(DataError, match=f"ind.citeseer.({part}|{part.replace('y', 'x')})"):
        planetoid.parse("citeseer", {**citeseer, name: citeseer[f"ind.citeseer.{other}"]})


def test_a_huge_article_number_is_refused_before_memory_is_allocated(citeseer):
    name = "ind.citeseer.test.index"
    content = citeseer[name].replace(citeseer[name].split()[0], b"4294967295", 1)
    with pytest.raises(DataError, match=r"test\.index must number articles below 6624.*got 4294967295"):
        planetoid.parse("citeseer", {**citeseer, name: content})


@pytest.mark.parametrize(("array", "value"), [("indices", 3703), ("indices", -1), ("indptr", 10**6), ("data", np.nan)])
def test_corrupt_matrix_is_refused(citeseer, array, value):
    name = "ind.citeseer.tx"
    values = getattr(planetoid.read_features(name, citeseer[name]), array)
    damaged = values.copy()
    damaged[5] = value
    content = citeseer[name].replace(values.tobytes(), damaged.tobytes())
    assert content != citeseer[name]
    with pytest.raises(DataError, match=r"ind\.citeseer\.tx is corrupt"):
        planetoid.parse("citeseer", {**citeseer, name: content})


@pytest.mark.parametrize("kind", [[b"i4"], {}, None, "i4"])
def test_dtype_must_be_bytes(kind):
    record = planetoid._Array()
    record.__setstate__((1, (0,), planetoid._Dtype(kind), False, b""))
    with pytest.raises(DataError, match="toy must hold an array of numbers"):
        planetoid._as_array("toy", record)


@pytest.mark.parametrize("shape", [(0, 0), (0, 6)])
def test_labels_must_not_be_empty(monkeypatch, shape):
    record = planetoid._Array()
    record.__setstate__((1, shape, planetoid._Dtype(b"i4"), False, b""))
    monkeypatch.setattr(planetoid, "unpickle", lambda *_: record)
    with pytest.raises(DataError, match="toy must hold one row per article"):
        planetoid.read_labels("toy", b"")


def test_labels_must_be_one_hot(citeseer):
    name = "ind.citeseer.ty"
    row = np.eye(6, dtype="<i4")[planetoid.read_labels(name, citeseer[name])].tobytes()
    content = citeseer[name].replace(row, b"\x01\0\0\0" * (len(row) // 4))
    with pytest.raises(DataError, match=r"ind\.citeseer\.ty must hold one row per article with a single 1"):
        planetoid.parse("citeseer", {**citeseer, name: content})


@pytest.mark.parametrize(
    "graph", [{0: [5]}, {-1: [0]}, {0: ["a"]}, {"a": [0]}, {0: 1}, [1], {0: [2**70]}, {0: [None]}, {(0, 1): [1]}]
)
def test_links_must_be_between_articles(graph):
    with pytest.raises(DataError, match="toy"):
        planetoid.read_links("toy", pickle.dumps(graph, 2), 5)


@pytest.mark.parametrize("content", [b"1\n1\n", b"1\nx\n", b"", b"-1\n", b"99999999999999999999\n"])
def test_index_must_hold_different_numbers(content):
    with pytest.raises(DataError, match=r"toy\.index must hold"):
        planetoid.read_index("toy.index", content)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("cora.content", b"", "truncated or corrupt"),
        ("cora.content", b"31336\t0\t1\tTheory\n", "2708 articles of Cora"),
        ("cora.content", b"31336\t0\t2\tTheory\n", "zeros and ones"),
        ("cora.content", b"31336\t0\t1\tAlchemy\n", "truncated or corrupt"),
        ("cora.content", b"31336\t0\t1\tTheory\n1\t0\tTheory\n", "corrupt"),
        ("cora.content", b"31336", "truncated or corrupt"),
        ("cora.content", b"\x80\x02}q\x01.", "truncated or corrupt"),
    ],
)
def test_broken_linqs_content_is_named(file, content, message):
    with pytest.raises(DataError, match=f"{file}.*{message}"):
        linqs.parse({"cora.content": b"", "cora.cites": b"", file: content})


@pytest.mark.parametrize("content", [b"31336", b"31336 x", b"31336 7"])
def test_broken_linqs_links_are_named(content):
    with pytest.raises(DataError, match=r"cora\.cites"):
        linqs._read_cites(content, np.array([31336, 35]))


def matlab(**changes):
    parts = {
        "documents": sparse.csc_matrix(np.eye(3)),
        "newsgroups": np.array([[1, 2, 1]]),
        "wordlist": np.array([["aids", "baseball", "bible"]], dtype=object),
        "groupnames": np.array([["comp.*", "rec.*"]], dtype=object),
    }
    file = io.BytesIO()
    savemat(file, parts | changes)
    return file.getvalue()


def test_matlab_file_whose_matrix_points_outside_is_named():
    assert newsgroups.parse("toy.mat", matlab()).x.toarray().tolist() == np.eye(3).tolist()
    good, bad = (np.array(pointers, dtype="<i4").tobytes() for pointers in ([0, 1, 2, 3], [0, 10**9, 5, 3]))
    assert matlab().count(good) == 1
    with pytest.raises(DataError, match=r"toy\.mat must hold documents"):
        newsgroups.parse("toy.mat", matlab().replace(good, bad))
    with pytest.raises(DataError, match=r"toy\.mat must hold documents"):
        newsgroups.parse("toy.mat", matlab(documents=np.eye(3)))


@pytest.mark.slow
def test_newsgroups_in_other_bytes_are_the_same_data(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "from_url", real_data.no_url)
    monkeypatch.setenv("HYPERGNN_CACHE", str(tmp_path / "cache"))
    x, y, words, groups = newsgroups.parse("toy.mat", real_data.files("20news")["20news_w100.mat"])
    names = {"wordlist": np.array([words], dtype=object), "groupnames": np.array([groups], dtype=object)}
    for labels, is_same in [(y + 1, True), (np.roll(y, 1) + 1, False)]:
        file = matlab(documents=sparse.csc_matrix(x.T.astype(np.float64)), newsgroups=labels[None], **names)
        (tmp_path / "20news_w100.mat").write_bytes(file)
        assert (sources.find_local("20news", data_dir=tmp_path) == "data_dir") == is_same


@pytest.mark.slow
def test_file_that_crashes_its_reader_is_refused(monkeypatch):
    assert newsgroups.digest_apart(matlab()) == newsgroups.digest(newsgroups.parse("toy.mat", matlab()))
    assert newsgroups.digest_apart(matlab()[:-20]) is None
    assert newsgroups.digest_apart(b"<html>not found</html>" * 99) is None
    monkeypatch.setattr(newsgroups, "_READER", "import os; os.abort()")
    assert newsgroups.digest_apart(matlab()) is None
    monkeypatch.setattr(newsgroups, "_READER", "import time; time.sleep(60)")
    monkeypatch.setattr(newsgroups, "_PATIENCE", 0.1)
    assert newsgroups.digest_apart(matlab()) is None


def test_broken_matlab_file_is_named():
    content = real_data.files("20news")["20news_w100.mat"]
    for broken in (b"", content[:200], content[: len(content) // 2], b"<html>not found</html>" * 99):
        with pytest.raises(DataError, match=r"toy\.mat is truncated or corrupt"):
            newsgroups.parse("toy.mat", broken)
