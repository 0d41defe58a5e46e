"""The valid cases that changes start from: small files, written by the library itself wherever it writes the format."""

from __future__ import annotations

import json
import struct
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import save_file
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.svm import SVC

import hypergnn as hg
from fuzz.mutations import Case
from hypergnn.distributed.checkpoints import FolderCheckpoints
from hypergnn.experiments.paper import TABLES
from hypergnn.experiments.results import Origin, Results
from hypergnn.models import KINDS, Config
from hypergnn.training import engine, sampled
from hypergnn.training.checkpoints import Checkpoints
from hypergnn.training.environment import environment
from hypergnn.training.ledger import Ledger
from hypergnn.training.plan import Task
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


def directed() -> list[hg.DirectedHypergraph]:
    """Small directed hypergraphs: weighted, centred, named, with empty tails and heads, and with equal ones."""
    rng = Random(1)
    parts = [[sorted(rng.sample(range(30), rng.randint(0, 5))) for _ in range(2)] for _ in range(20)]
    return [
        hg.DirectedHypergraph.from_hyperedges([([0, 1], [2]), ([2], [3])], n_vertices=5),
        hg.DirectedHypergraph.from_hyperedges(
            [([0, 1], [1]), ([], [2]), ([3], [])], 5, [1.0, 3.0, 0.5], [0, -1, 3], list("abcdé"), ["x", "y", 7]
        ),
        hg.DirectedHypergraph.from_hyperedges([(tail, head) for tail, head in parts], n_vertices=31),
        hg.DirectedHypergraph.from_hyperedges([([0, 1], [0, 1]), ([2], [2])], n_vertices=3),
        hg.DirectedHypergraph.from_hyperedges([], n_vertices=0),
    ]


def structures() -> list[Case]:
    """Saved hypergraphs, directed ones and graphs."""
    graphs = [hg.Graph.from_links([0, 1, 2], [1, 2, 3], 5), hg.Graph.from_links([], [], 1)]
    return [
        *(_saved(H, "hypergraph.safetensors") for H in hypergraphs()),
        *(_saved(H, "directed.safetensors") for H in directed()),
        *(_saved(G, "graph.safetensors") for G in graphs),
    ]


def _saved(structure: hg.Hypergraph | hg.DirectedHypergraph | hg.Graph, name: str) -> Case:
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


def ensembles() -> list[Case]:
    """Saved ensembles of networks."""
    torch.manual_seed(1)
    cases = []
    for kind in ("hyper-conv", "hyper-attention"):
        members = [hg.Network(Config(model=kind, hidden=4, heads=2), 5, 3) for _ in range(2)]
        ensemble = hg.models.Ensemble.of(members)
        cases.append(in_folder(partial(_save_model, ensemble)))
    return cases


def _save_model(network: hg.Network, folder: Path) -> None:
    hg.save(network, folder / "model.safetensors")


def batches() -> list[Case]:
    """Saved batches of hypergraphs."""
    plain, weighted, named, large, empty = hypergraphs()
    several = ([plain], [plain, weighted, empty], [named, large])
    return [_saved(hg.batch(own), "batch.safetensors") for own in several]


_TEXTS = ["ripe apple pie", "apple and plum", "plum pie", "steel hammer", "hammer and nail", "steel nail"]


def rows_for(name: str) -> Any:
    """Rows to predict with the estimator of a file."""
    return ["a plum", "one nail"] if name == "text" else np.random.default_rng(1).random((7, 3))


def estimators() -> list[Case]:
    """Saved estimators: networks, texts, and those of scikit-learn whose arrays compiled code reads."""
    rows, labels = np.random.default_rng(0).random((24, 3)), np.arange(24) % 3
    quick: dict[str, Any] = {"max_epochs": 2, "random_state": 0}
    corrected = [
        RandomForestClassifier(2, random_state=0),
        HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2),
        KNeighborsClassifier(3),
        make_pipeline(KBinsDiscretizer(2), LogisticRegression()),
    ]
    models = {
        "network": hg.HypergraphClassifier("hyper-conv", max_epochs=2, random_state=np.random.RandomState(0)),
        "clusters": hg.HypergraphClassifier("mlp", construct="clusters", **quick),
        "numbers": hg.HypergraphRegressor("hyper-conv", **quick),
        "embedding": hg.HypergraphEmbedding(random_state=0),
    }
    models |= {str(number): hg.CorrectAndSmooth(one, random_state=0) for number, one in enumerate(corrected)}
    texts = hg.HypergraphClassifier(
        "hyper-conv", construct="text", construct_options={"min_df": 1, "max_df": 1.0}, **quick
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = {name: model.fit(rows, labels) for name, model in models.items()}
        fitted["text"] = texts.fit(_TEXTS, ["fruit", None, None, "tool", None, None])
        vectors = SVC(probability=True, random_state=0)
        fitted["vectors"] = hg.CorrectAndSmooth(vectors, random_state=0).fit(rows, labels)
    return [in_folder(partial(_save_estimator, model, name)) for name, model in fitted.items()]


def _save_estimator(model: Any, name: str, folder: Path) -> None:
    hg.save(model, folder / f"{name}.safetensors")


def _save_shards(data: hg.Hypergraph | hg.Dataset, folder: Path) -> None:
    hg.distributed.save_shards(data, folder / "s", 2)


def dataset(x: Any) -> hg.Dataset:
    """Six vertices with five features and three classes."""
    parts = np.array([0, 1])
    H = hg.Hypergraph.from_hyperedges(
        [[0, 1, 2], [2, 3], [3, 4, 5]], n_vertices=6, vertex_names=list("abcdef"), centroid=[0, -1, 3]
    )
    return hg.Dataset(
        name="small",
        x=x,
        y=np.arange(6) % 3,
        class_names=("a", "b", "c"),
        graph=None,
        hypergraph=H,
        train=parts,
        val=parts + 2,
        test=parts + 4,
        source="memory",
    )


def shards() -> list[Case]:
    """Folders of shards: a hypergraph, and datasets with dense and sparse features."""
    x = np.eye(6, 5, dtype=np.float32)
    given: list[hg.Hypergraph | hg.Dataset] = [
        dataset(x),
        dataset(sparse.csr_array(x)),
        hypergraphs()[1],
        hypergraphs()[3],
    ]
    return [in_folder(partial(_save_shards, one)) for one in given]


CONFIG = Config(hidden=2, heads=1, max_epochs=3, batch_size=1, fanout=((2, 2), (2, 2)))
"""Settings of the trials that checkpoints belong to."""


def checkpoints() -> list[Case]:
    """Checkpoints of a trial on batches, and of trials on all vertices."""
    task = Task.of(dataset(np.eye(6, 5, dtype=np.float32)), CONFIG)

    def on_batches(folder: Path) -> None:
        run = sampled._Run(task, CONFIG, 0, None, None)
        run.step(next(iter(run.loader.batches(0))))
        Checkpoints(folder, 1).write(0, run.moment())

    def on_all(folder: Path) -> None:
        state = engine._start(engine._empty(task, CONFIG), CONFIG, [0, 1], task.y.device, None)
        with hg.distributed.start():
            FolderCheckpoints(folder, 1).save(state, 0)

    return [in_folder(on_batches), in_folder(on_all)]


def features() -> list[Case]:
    """Matrices of features as files of each kind."""
    cases = []
    for dtype in (np.float32, np.float64, np.int8, np.float16):
        x = np.arange(18, dtype=dtype).reshape(6, 3)
        cases.append(in_folder(partial(_save_features, x)))
    return [{name: content} for case in cases for name, content in case.items()]


def _save_features(x: npt.NDArray[Any], folder: Path) -> None:
    import pyarrow
    from pyarrow import parquet as writer

    np.save(folder / "x.npy", x)
    save_file({"x": torch.from_numpy(x)}, folder / "x.safetensors")
    writer.write_table(pyarrow.table({name: x[:, column] for column, name in enumerate("abc")}), folder / "x.parquet")


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
    pointing = {
        "incidences": [{"edge": "e", "node": 1, "direction": "head"}, {"edge": "e", "node": 2, "direction": "tail"}]
    }
    own = [_written(H) for H in hypergraphs()] + [_written(H) for H in directed()]
    return own + [{"small.json": json.dumps(document).encode()} for document in (rich, asc, pointing)]


def _written(H: hg.Hypergraph | hg.DirectedHypergraph) -> Case:
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
    pointing = b"vertex,hyperedge,role\na,x,tail\nb,x,head\nb,y,tail\nb,y,head\nc,y,head\n"
    timed = b"vertex,hyperedge,time\na,x,2024-01-05\nb,x,2024-01-05\nb,y,2024-02-01\nc,y,2024-02-01\n"
    moments = b"vertex,hyperedge,role,time\na,x,tail,1.5\nb,x,head,1.5\nb,y,tail,-3\nc,y,head,-3\n"
    alone = [{"incidences.csv": content} for content in (INCIDENCES, numbered, pointing, timed, moments)]
    roles = b"vertex,hyperedge,role\n" + b"".join(
        b"%c,%c,%s\n" % (97 + row, 120 + row % 3, (b"tail", b"head")[row % 2]) for row in range(8)
    )
    directed = {"incidences.csv": roles, "labels.csv": LABELS}
    return [whole, *alone, {**whole, "labels.csv": drawn}, directed, {**directed, "features.csv": FEATURES}]


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
    costs = {name: [replace(one, cpu_seconds=1.5, peak_megabytes=80.0) for one in found[name]] for name in names[:2]}
    reason = replace(origin, inapplicable="it has no links")
    systems = Results(costs | {names[2]: []}, {}, {names[0]: origin, names[1]: origin, names[2]: reason})
    alone = {**folder, f"{names[0]}/inapplicable.json": b'{"why": "it has no links"}'}
    return [
        in_folder(compact.write),
        in_folder(systems.write),
        {**folder, **clock, "measures.json": json.dumps(measures).encode()},
        alone,
    ]


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
