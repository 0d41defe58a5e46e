"""The valid cases that changes start from: small files, written by the library itself wherever it writes the format."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import hypergnn as hg
from fuzz.mutations import Case
from hypergnn.experiments.paper import TABLES
from hypergnn.experiments.results import Origin, Results
from hypergnn.models import KINDS, Config
from hypergnn.training.environment import environment
from hypergnn.training.ledger import Ledger
from hypergnn.training.records import TrialRecord


def in_folder(write: Callable[[Path], Any]) -> Case:
    """The files that a function writes into a folder."""
    with TemporaryDirectory() as folder:
        write(Path(folder))
        paths = sorted(path for path in Path(folder).rglob("*") if path.is_file() and path.suffix != ".lock")
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def hypergraphs() -> list[hg.Hypergraph]:
    """Small hypergraphs: weighted, centred, named, with isolated vertices and empty hyperedges."""
    rng = Random(0)
    pair = np.fromiter([(1, "x"), 7], dtype=object, count=2)
    members = [sorted(rng.sample(range(40), rng.randint(2, 9))) for _ in range(25)]
    return [
        hg.Hypergraph.from_hyperedges([[0, 1, 2], [1, 2, 3]], n_vertices=5),
        hg.Hypergraph.from_hyperedges([[0, 1], [], [2, 3]], n_vertices=6, weight=[1.0, 3.0, 0.5], centroid=[0, -1, 3]),
        hg.Hypergraph.from_incidence(
            [0, 1, 1, 2], [0, 0, 1, 1], 3, 2, vertex_names=["a", "b", "é"], hyperedge_names=pair
        ),
        hg.Hypergraph.from_hyperedges(members, n_vertices=41, vertex_names=np.arange(41) * 10),
        hg.Hypergraph.from_hyperedges([], n_vertices=0),
    ]


def structures() -> list[Case]:
    """Saved hypergraphs and graphs."""
    graphs = [hg.Graph.from_links([0, 1, 2], [1, 2, 3], 5), hg.Graph.from_links([], [], 1)]
    return [
        *(_saved(H, "hypergraph.safetensors") for H in hypergraphs()),
        *(_saved(G, "graph.safetensors") for G in graphs),
    ]


def _saved(structure: hg.Hypergraph | hg.Graph, name: str) -> Case:
    return in_folder(lambda folder: structure.save(folder / name))


def models() -> list[Case]:
    """Saved networks of every kind."""
    torch.manual_seed(0)
    return [_model(kind, number) for number, kind in enumerate(KINDS)]


def _model(kind: str, number: int) -> Case:
    network = hg.Network(Config(model=kind, hidden=4, heads=1 if number % 2 else 2), 5, 3)
    names: dict[str, Any] = (
        {"class_names": ["a", "b", "c"], "vertex_names": np.array(["x", 7, "y"], dtype=object)} if number % 2 else {}
    )
    about = {"data": "small", "seed": number, "feature_names": list("abcde")}
    return in_folder(lambda folder: hg.save(network, folder / "model.safetensors", about=about, **names))


def hif() -> list[Case]:
    """HIF documents: written by the library, and by hand with everything that the format has."""
    rich = {
        "network-type": "undirected",
        "metadata": {"name": "small", "nested": {"list": [1, None, "x"]}},
        "nodes": [{"node": "a", "weight": 2, "attrs": {"colour": "red"}}, {"node": 7}, {"node": "a"}],
        "edges": [{"edge": "e", "weight": 0.5, "attrs": {"centroid": "a"}}, {"edge": 1}],
        "incidences": [
            {"edge": "e", "node": "a", "weight": 3, "attrs": {"role": "host"}},
            {"edge": "e", "node": 7},
            {"edge": 1, "node": 7},
            {"edge": 1, "node": 7},
        ],
    }
    asc = {"network-type": "asc", "incidences": [{"edge": 0, "node": node} for node in range(4)]}
    directed = {
        "incidences": [{"edge": "e", "node": 1, "direction": "head"}, {"edge": "e", "node": 2, "direction": "tail"}]
    }
    own = [_written(H) for H in hypergraphs()]
    return own + [{"small.json": json.dumps(document).encode()} for document in (rich, asc, directed)]


def _written(H: hg.Hypergraph) -> Case:
    return in_folder(lambda folder: hg.io.write_hif(H, folder / "small.json", ignore=("names",)))


INCIDENCES = b"vertex,hyperedge,weight\na,x,1.5\nb,x,1.5\nb,y,2\nc,y,2\nd,x,1.5\ne,y,2\nf,x,1.5\ng,y,2\nh,x,1.5\n"
FEATURES = b"vertex,size,height\n" + b"".join(b"%c,%d,%.1f\n" % (97 + row, row, row / 3) for row in range(9))
LABELS = b"vertex,label,split\n" + b"".join(
    b"%c,%s,%s\n" % (97 + row, b"yes" if row % 2 else b"no", (b"train", b"val", b"test")[row // 2 % 3])
    for row in range(8)
)
LINKS = b"source,target\na,b\nb,c\nh,i\n"


def csv() -> list[Case]:
    """Tables as text: incidences alone, and with features, labels and links."""
    whole = {"incidences.csv": INCIDENCES, "features.csv": FEATURES, "labels.csv": LABELS, "links.csv": LINKS}
    numbered = b"vertex,hyperedge\n0,0\n1,0\n1,1\n2,1\n"
    drawn = LABELS.replace(b",split", b"").replace(b",train", b"").replace(b",val", b"").replace(b",test", b"")
    return [whole, {"incidences.csv": INCIDENCES}, {"incidences.csv": numbered}, {**whole, "labels.csv": drawn}]


def parquet() -> list[Case]:
    """The same tables as Parquet files, and one with every type of column that may be an id."""
    import pyarrow
    from pyarrow import csv as reader
    from pyarrow import parquet as writer

    def encoded(table: Any) -> bytes:
        sink = pyarrow.BufferOutputStream()
        writer.write_table(table, sink)
        content: bytes = sink.getvalue().to_pybytes()
        return content

    cases = []
    for case in csv():
        tables = {name: reader.read_csv(pyarrow.BufferReader(content)) for name, content in case.items()}
        cases.append({name.replace("csv", "parquet"): encoded(table) for name, table in tables.items()})
    kinds = {
        "text": pyarrow.array(["a", "b", "b"]),
        "large": pyarrow.array(["a", "b", "b"], pyarrow.large_string()),
        "dictionary": pyarrow.array(["a", "b", "b"]).dictionary_encode(),
        "int8": pyarrow.array([0, 1, 1], pyarrow.int8()),
        "uint64": pyarrow.array([0, 2**64 - 1, 5], pyarrow.uint64()),
        "float": pyarrow.array([0.0, 1.0, float("nan")]),
        "missing": pyarrow.array(["a", None, "b"]),
        "null": pyarrow.nulls(3),
        "bytes": pyarrow.array([b"a", b"\xff", b""]),
        "list": pyarrow.array([["a"], [], None]),
        "date": pyarrow.array([0, 1, 2], pyarrow.date32()),
        "bool": pyarrow.array([True, False, None]),
    }
    for column in kinds.values():
        for other in (kinds["text"], column):
            cases.append({"incidences.parquet": encoded(pyarrow.table({"vertex": column, "hyperedge": other}))})
    return cases


def runs() -> list[Case]:
    """Run folders, with and without curves."""
    return [in_folder(_write_run), in_folder(lambda folder: _write_run(folder, {"val_loss": [1.5, None, 1.25]}))]


def _write_run(folder: Path, curves: dict[str, list[float | None]] | None = None) -> None:
    with Ledger.open(folder, {"model": {"hidden": 8, "model": "gcn"}, "data": "cora"}) as ledger:
        for seed in range(3):
            ledger.append(record(seed), curves=curves)


def results() -> list[Case]:
    """Results in the compact form, and the folder of a reproduction."""
    trained = [cell for cell in TABLES["baselines"].cells if cell.config is not None]
    names = sorted({cell.run for cell in trained})[:4]
    found = {name: [record(seed) for seed in range(3)] for name in names}
    here = environment()
    origin = Origin([here], 2.5, {"data": "cora"})
    compact = Results(found, {"timing:cora/ratio": 9.0}, {name: origin for name in [*names, "measures"]})
    run = runs()[0]
    folder = {f"{names[0]}/{name}": content for name, content in run.items()}
    measures = {"environments": [here], "measures": {"timing:cora/ratio": 9.0}}
    clock = {f"{names[0]}/clock.json": b'{"seconds": 2.5}'}
    return [in_folder(compact.write), {**folder, **clock, "measures.json": json.dumps(measures).encode()}]


def record(seed: int) -> TrialRecord:
    """A finished trial."""
    return TrialRecord(
        seed=seed, epochs=300, best_epoch=199, seconds=2.5, val_accuracy=79.0, test_accuracy=81.5 + seed, val_loss=1.25
    )


def linqs() -> list[Case]:
    """The articles of Cora with three words each."""
    ids = files("hypergnn.datasets").joinpath("cora_articles.txt").read_bytes().split()
    classes = (b"Theory", b"Neural_Networks", b"Case_Based")
    lines = [b"%s\t%d\t0\t1\t%s" % (one, number % 2, classes[number % 3]) for number, one in enumerate(ids)]
    cites = [b"%s\t%s" % pair for pair in pairwise(ids)]
    return [{"cora.content": b"\n".join(lines) + b"\n", "cora.cites": b"\n".join(cites[:200]) + b"\n"}]


PLANETOID = ("y", "tx", "ty", "allx", "ally", "graph", "test.index")
"""The files of a citation network."""


def planetoid() -> list[Case]:
    """A citation network of 530 articles with four words and six classes, as Python 2 would have pickled it."""
    known, test = 520, 10
    y = np.eye(6, dtype="<i4")[np.arange(known + test) % 6]
    graph = {number: [(number + 1) % (known + test)] for number in range(0, known + test, 5)}
    parts = {
        "y": _pickled_array(y[:12]),
        "tx": _pickled_matrix(test),
        "ty": _pickled_array(y[known:]),
        "allx": _pickled_matrix(known),
        "ally": _pickled_array(y[:known]),
        "graph": _pickled_graph(graph),
    }
    case = {f"ind.citeseer.{part}": b"\x80\x02" + content + b"." for part, content in parts.items()}
    index = "\n".join(map(str, range(known, known + test))).encode() + b"\n"
    return [{**case, "ind.citeseer.test.index": index}]


def _pickled_array(array: npt.NDArray[Any]) -> bytes:
    """The opcodes of an array: ``numpy.core.multiarray._reconstruct``, then its state."""
    kind = b"U\x02" + array.dtype.str[1:].encode()
    dtype = b"cnumpy\ndtype\n(" + kind + b"K\x00K\x01tR(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    made = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tU\x01btR"
    content: bytes = array.tobytes()
    return (
        made
        + b"(K\x01"
        + _pickled_tuple(array.shape)
        + dtype
        + b"I00\nT"
        + struct.pack("<i", len(content))
        + content
        + b"tb"
    )


def _pickled_tuple(numbers: Iterable[int]) -> bytes:
    return b"(" + b"".join(b"J" + struct.pack("<i", number) for number in numbers) + b"t"


def _pickled_matrix(n_rows: int) -> bytes:
    parts = {
        b"data": _pickled_array(np.ones(n_rows, dtype="<f4")),
        b"indices": _pickled_array(np.arange(n_rows, dtype="<i4") % 4),
        b"indptr": _pickled_array(np.arange(n_rows + 1, dtype="<i4")),
        b"_shape": _pickled_tuple((n_rows, 4)),
    }
    state = b"".join(b"U" + bytes([len(name)]) + name + content + b"s" for name, content in parts.items())
    return b"cscipy.sparse.csr\ncsr_matrix\n)\x81}" + state + b"b"


def _pickled_graph(graph: dict[int, list[int]]) -> bytes:
    entries = b"".join(
        b"J" + struct.pack("<i", one) + b"](" + b"".join(b"J" + struct.pack("<i", other) for other in linked) + b"es"
        for one, linked in graph.items()
    )
    return b"ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R" + entries
