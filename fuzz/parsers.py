"""The parsers: their valid cases, how these are changed, how a case is read and what is done with the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from random import Random
from typing import Any, NamedTuple

import numpy as np

import hypergnn as hg
from fuzz import foreign, mutations, operators, valid
from fuzz.mutations import Case, Mutation
from hypergnn._utils.table_files import column_names
from hypergnn.datasets import linqs, planetoid, published
from hypergnn.distributed.checkpoints import FolderCheckpoints
from hypergnn.distributed.files import read_names
from hypergnn.distributed.heads import read_head
from hypergnn.experiments.markdown import results_page
from hypergnn.experiments.results import Results
from hypergnn.loader.features import rows_of
from hypergnn.structures import stored
from hypergnn.training import Result, engine, ledger, sampled
from hypergnn.training.checkpoints import Checkpoints
from hypergnn.training.plan import Task

Use = Callable[[], None]
"""What is done with what was loaded; no exception is expected here."""


class Parser(NamedTuple):
    """A parser, seen from outside."""

    valid: Callable[[], list[Case]]
    changes: Mapping[str, Mutation]
    """How the files of a case are changed, by their ending; others by their bytes."""
    load: Callable[[Path], Use]
    """Read a case from a folder; raises one of ``refusals`` if the case is invalid."""
    refusals: tuple[type[Exception], ...] = (ValueError, OSError)
    """The exceptions that the documentation names for invalid files."""


def generate(parser: Parser, cases: list[Case], rng: Random) -> Case:
    """A new case: a valid one, changed at random."""
    case = dict(rng.choice(cases))
    for _ in range(rng.choice((0, 1, 1, 1, 1, 1, 1, 2))):
        name = rng.choice(sorted(case))
        change = parser.changes.get(PurePosixPath(name).suffix, mutations.mutate_bytes)
        try:
            case[name] = change(rng, case[name])
        except Exception:  # a second change may not understand what the first one has left
            case[name] = mutations.mutate_bytes(rng, case[name])
        if rng.random() < 0.02:
            case[name] = rng.choice([other.get(name, b"") for other in cases])
        if rng.random() < 0.01 and len(case) > 1:
            del case[name]
    return case


_KINDS: dict[str, tuple[Any, Callable[..., None]]] = {
    "hypergraph": (hg.Hypergraph, operators.use_hypergraph),
    "directed": (hg.DirectedHypergraph, operators.use_directed),
    "graph": (hg.Graph, operators.use_graph),
}


def _read_at_first_use(kind: Any, path: Path) -> None:
    """Load the file as if it were large, so that nothing is read before it is used, once for each first use."""
    before, stored.AT_ONCE = stored.AT_ONCE, 0
    try:
        for use in operators.FIRST_USES[kind]:
            with suppress(ValueError):
                use(kind.load(path))
    finally:
        stored.AT_ONCE = before


def _structures(folder: Path) -> Use:
    file = next((name for name in _KINDS if (folder / f"{name}.safetensors").exists()), "graph")
    kind, use = _KINDS[file]
    path, refused = folder / f"{file}.safetensors", False
    _read_at_first_use(kind, path)
    try:
        verified = kind.load(path, verify=True)
    except ValueError:
        refused = True
    mapped = kind.load(path)

    def run() -> None:
        use(mapped, is_valid=not refused)
        if not refused:
            use(verified)

    return run


def _models(folder: Path) -> Use:
    model = hg.load(folder / "model.safetensors")
    return lambda: operators.use_model(model)


def _estimators(folder: Path) -> Use:
    path = next(iter(sorted(folder.iterdir())))
    model = hg.load(path)
    if isinstance(model, hg.SavedModel):
        return lambda: operators.use_model(model)
    return lambda: operators.use_estimator(model, valid.rows_for(path.stem))


def _batches(folder: Path) -> Use:
    path = folder / "batch.safetensors"
    _read_at_first_use(hg.HypergraphBatch, path)
    batch = hg.HypergraphBatch.load(path, verify=True)
    return lambda: operators.use_batch(batch)


def _shards(folder: Path) -> Use:
    home = folder / "s"
    head = read_head(home)
    number = 0 if (home / "shard-0.safetensors").exists() else 1
    if head.data is None:
        shard, data = hg.distributed.load_shard(home, number=number), None
    else:
        data = hg.distributed.load_data(home, number=number)
        shard = data.shard
    names = read_names(home)

    def run() -> None:
        repr(shard), repr(names), shard.vertex_degree().sum(), shard.hyperedge_degree().sum()
        operators.use_shard(shard)
        if data is not None:
            operators.use_rows(data)

    return run


def _checkpoints(folder: Path) -> Use:
    task = Task.of(valid.dataset(np.eye(6, 5, dtype=np.float32)), valid.CONFIG)
    if (folder / "checkpoint.safetensors").exists():
        state = engine._start(engine._empty(task, valid.CONFIG), valid.CONFIG, [0, 1], task.y.device, None)
        found = FolderCheckpoints(folder, 1)
        with hg.distributed.start():
            seeds, first = found.seeds(), found.load(state)
        if seeds == []:
            raise ValueError("damaged")
        return lambda: operators.use_state(state, first)
    if Checkpoints(folder, 1).read(0) is None:
        raise ValueError("damaged")

    def run() -> None:
        try:
            trial = sampled.train_sampled(task, valid.CONFIG, 0, checkpoints=Checkpoints(folder, 1000))
        except ValueError as error:
            if "training has diverged" in str(error):  # from huge parameters
                return
            raise
        operators.use_trial(trial, valid.CONFIG.max_epochs)

    return run


def _features(folder: Path) -> Use:
    path = next(iter(sorted(folder.iterdir())))
    rows = rows_of(path)
    return lambda: operators.use_features(rows)


def _hif(folder: Path) -> Use:
    path, other = folder / "small.json", folder / "again.json"
    attributed = hg.io.read_hif(path, attributes=True)

    def run() -> None:
        hg.io.write_hif(attributed, other)
        again = hg.io.read_hif(other, attributes=True)
        if not again.equals(attributed):
            raise operators.WrongResultError("read, written and read again, it is another hypergraph")
        everything = ("asc", "vertex_weights", "incidence_weights", "attrs", "metadata")
        operators.use_any(hg.io.read_hif(path, ignore=everything))
        operators.use_any(hg.io.read_hif(path, ignore=(*everything, "direction")))
        if attributed.is_complex and attributed.hypergraph.n_vertices < 12:
            for simplices in ("all", "maximal"):
                operators.use_any(hg.io.read_hif(other, simplices=simplices, ignore=everything))

    return run


def _tables(folder: Path) -> Use:
    given = {path.stem: path for path in sorted(folder.iterdir())}
    if "incidences" not in given:
        raise FileNotFoundError("incidences")
    if set(given) != {"incidences"}:
        data = hg.datasets.from_tables(
            incidences=given["incidences"],
            features=given.get("features"),
            labels=given.get("labels"),
            links=given.get("links"),
            role="role" if "role" in column_names(given["incidences"]) else None,
        )
        return lambda: operators.use_dataset(data)
    columns = column_names(given["incidences"])
    role, time = ("role" if "role" in columns else None), ("time" if "time" in columns else None)
    H = hg.io.read_incidence_table(given["incidences"], role=role, time=time, ignore=("attrs",))

    def run() -> None:
        operators.use_any(H)
        for ending in (".csv", ".parquet"):
            path = folder / f"again{ending}"
            hg.io.write_incidence_table(H, path, ignore=("names", "centroids", "isolated", "empty"))
            hg.io.read_incidence_table(path, role=role, time=time)

    return run


def _planetoid(folder: Path) -> Use:
    content = {path.name: path.read_bytes() for path in folder.iterdir()}
    missing = [part for part in valid.PLANETOID if f"ind.citeseer.{part}" not in content]
    if missing:
        raise FileNotFoundError(missing[0])
    articles = planetoid.parse("citeseer", content)
    return lambda: operators.use_dataset(published._citations("citeseer", articles, "a file"))


def _linqs(folder: Path) -> Use:
    articles = linqs.parse({name: (folder / name).read_bytes() for name in ("cora.content", "cora.cites")})

    def use() -> None:
        operators.use_dataset(published._citations("cora", articles, "a file"))
        operators.use_any(published._directed_citations("cora-directed", articles, "a file").hypergraph)

    return use


def _runs(folder: Path) -> Use:
    run = ledger.read(folder)
    curves = ledger.read_curves(folder, run.seeds)

    def use() -> None:
        result = Result(list(run.records), interrupted=False)
        repr(result), result._repr_html_()
        [run.curves(seed) for seed in run.seeds], sorted(curves)
        with ledger.Ledger.open(folder, run.configuration) as again:
            again.append(valid.record(max([*run.seeds, 0]) + 1), curves={"val_loss": [1.0]})
        if ledger.read(folder).seeds != again.seeds:
            raise operators.WrongResultError("a trial was lost")

    return use


def _results(folder: Path) -> Use:
    results = Results.read(folder)

    def use() -> None:
        results.first(2), results.environments
        results_page(results)
        results.write(folder / "again")
        if Results.read(folder / "again").runs.keys() != results.runs.keys():
            raise operators.WrongResultError("a run was lost")

    return use


_LINES = {".jsonl": mutations.mutate_lines, ".json": mutations.mutate_json}
_PICKLES = {f".{part}": foreign.mutate_pickle for part in valid.PLANETOID} | {".index": mutations.mutate_text}
PARSERS: dict[str, Parser] = {
    "structures": Parser(valid.structures, {".safetensors": mutations.mutate_safetensors}, _structures),
    "models": Parser(valid.models, {".safetensors": mutations.mutate_safetensors}, _models),
    "ensembles": Parser(valid.ensembles, {".safetensors": mutations.mutate_safetensors}, _models),
    "estimators": Parser(valid.estimators, {".safetensors": mutations.mutate_objects}, _estimators),
    "batches": Parser(valid.batches, {".safetensors": mutations.mutate_safetensors}, _batches),
    "shards": Parser(valid.shards, {".safetensors": mutations.mutate_safetensors, **_LINES}, _shards),
    "checkpoints": Parser(valid.checkpoints, {".safetensors": mutations.mutate_safetensors}, _checkpoints),
    "features": Parser(
        valid.features,
        {".safetensors": mutations.mutate_safetensors, ".parquet": foreign.mutate_parquet},
        _features,
        (ValueError, OSError, TypeError),
    ),
    "hif": Parser(valid.hif, {".json": mutations.mutate_json}, _hif),
    "csv": Parser(valid.csv, {".csv": mutations.mutate_csv}, _tables, (ValueError, OSError, TypeError)),
    "parquet": Parser(valid.parquet, {".parquet": foreign.mutate_parquet}, _tables, (ValueError, OSError, TypeError)),
    "planetoid": Parser(valid.planetoid, _PICKLES, _planetoid),
    "linqs": Parser(valid.linqs, {".content": mutations.mutate_text, ".cites": mutations.mutate_text}, _linqs),
    "runs": Parser(valid.runs, _LINES, _runs),
    "results": Parser(valid.results, _LINES, _results),
}
"""All parsers by name."""
