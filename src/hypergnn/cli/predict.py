"""``hypergnn predict``: the class of each vertex, as CSV or Parquet."""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypergnn.cli.arguments import (
    EXAMPLE,
    TABLES,
    add_data,
    check_device,
    load_data,
    say_what_was_read,
    with_needed_graph,
)
from hypergnn.cli.csv_output import write_csv
from hypergnn.cli.imports import add_imports

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from hypergnn.cli.arguments import Commands
    from hypergnn.construct import TableEncoder
    from hypergnn.datasets import Dataset
    from hypergnn.persistence.models import SavedModel

_REBUILD = "Run the `hypergnn train` command of this run again: it trains the best trial again and saves its model."

Columns = dict[str, "npt.NDArray[Any]"]


def register(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "predict",
        help="Predict the class of each vertex.",
        description="Predict class and probability of each vertex with the best trial of a run.",
        usage="hypergnn predict RUN [DATASET | --incidences FILE ...] [options]",
        epilog=EXAMPLE.format("predict runs/orders", " --out found.csv"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="RUN", help="run folder of `hypergnn train`, or a model file")
    add_data(parser, labels=False)
    parser.add_argument("--out", metavar="FILE", help=".csv or .parquet file (default: print CSV)")
    parser.add_argument("--all-classes", action="store_true", help="add the probability of each class")
    parser.add_argument("--safe", action="store_true", help="in CSV, no cell that a spreadsheet would run as a formula")
    parser.add_argument("--device", default="cpu", metavar="NAME", help="cpu, cuda, … (default: %(default)s)")
    parser.add_argument("--quiet", action="store_true", help="no notes and no progress bar")
    add_imports(parser)
    parser.set_defaults(run=_predict)


def _predict(arguments: argparse.Namespace) -> int:
    if arguments.out is not None:
        _check_out(Path(arguments.out))
        if arguments.safe and Path(arguments.out).suffix != ".csv":
            raise ValueError(f"--safe must be combined with CSV; {arguments.out} is Parquet, which has no formulas.")
    from hypergnn.training import predict

    model = loaded(Path(arguments.model))
    data = data_of(arguments, model)
    probability = predict(model, data, device=check_device(arguments.device))
    columns = _columns(data, model.class_names, probability, arguments.all_classes)
    say_what_was_read(data, quiet=arguments.quiet)
    if arguments.out is None:
        write_csv(columns, sys.stdout, safe=arguments.safe or sys.stdout.isatty())
    else:
        _write(columns, Path(arguments.out), safe=arguments.safe)
        if not arguments.quiet:
            print(f"wrote {arguments.out}: {len(probability)} rows, columns {', '.join(columns)}", file=sys.stderr)
    return 0


def _check_out(path: Path) -> None:
    from hypergnn._utils.checks import check_choice

    check_choice("the ending of --out", path.suffix, (".csv", ".parquet"))
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise ValueError(f"--out must be a file in an existing folder; got {path}.")


def loaded(path: Path) -> SavedModel:
    """The model of RUN; raise with the way to make it again if a run folder has none, or a damaged one."""
    from hypergnn.models import UnregisteredError
    from hypergnn.persistence import tensor_files
    from hypergnn.persistence.models import load

    file = model_file(path)
    if tensor_files.kind_of(file) == "Estimator":
        raise ValueError(
            f"{file} holds an estimator. Load it in Python, with hypergnn.load, and call its predict; the command line "
            "takes networks that `hypergnn train` has saved."
        )
    try:
        return load(file)
    except UnregisteredError:
        raise
    except ValueError as error:
        raise ValueError(f"{error} {_REBUILD}" if file != path else str(error)) from error


def model_file(path: Path) -> Path:
    """The model file of RUN, a run folder or the file itself; raise if there is none."""
    from hypergnn.training.best_model import MODEL_FILE

    if not path.is_dir():
        if not path.exists():
            raise ValueError(f"RUN must be a run folder or a model file; {path} does not exist.")
        return path
    if not (path / MODEL_FILE).exists():
        raise ValueError(
            f"RUN must hold {MODEL_FILE}, which a run has after its first trial; {path} has none. {_REBUILD}"
        )
    return path / MODEL_FILE


def data_of(arguments: argparse.Namespace, model: SavedModel) -> Dataset:
    """The selected data, or else the dataset that the model was trained on; with a graph if the model needs one."""
    from hypergnn.datasets import available

    if arguments.dataset is None and not any(getattr(arguments, name, None) for name in TABLES):
        name = model.about.get("data")
        if name not in available() or model.about.get("feature_names") is not None:
            raise ValueError("DATASET or --incidences must be given: the model was trained on your own tables.")
        arguments.dataset = name
    data = load_data(arguments, encode_features=encoder_of(arguments, model) or False)
    return with_needed_graph(data, model.network.config.model, quiet=arguments.quiet)


def encoder_of(arguments: argparse.Namespace, model: SavedModel) -> TableEncoder | None:
    """What encoded the features that the model was trained on, if anything did; select the columns that it knows."""
    encoding = model.about.get("encoding")
    if encoding is None:
        arguments.known_features = model.about.get("feature_names")
        return None
    from hypergnn.construct import TableEncoder

    encoder = TableEncoder.from_settings(encoding)
    arguments.known_features = [column["name"] for column in encoding["columns"]]
    return encoder


def _columns(
    data: Dataset, class_names: tuple[str, ...], probability: npt.NDArray[np.float32], all_classes: bool
) -> Columns:
    import numpy as np

    names = data.hypergraph.vertex_names
    columns: Columns = {
        "vertex": np.arange(len(probability)) if names is None else names,
        "class": np.array(class_names, dtype=object)[probability.argmax(axis=1)],
        "probability": probability.max(axis=1),
    }
    if all_classes:
        columns |= {f"probability of {name}": probability[:, place] for place, name in enumerate(class_names)}
    return columns


def _write(columns: Columns, path: Path, *, safe: bool) -> None:
    """Write a file completely or not at all."""
    from hypergnn._utils.extras import import_extra
    from hypergnn.persistence.files import replacing

    with replacing(path) as file:
        if path.suffix == ".csv":
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            write_csv(columns, text, safe=safe)
            text.detach()
        else:
            table = import_extra("pyarrow", "tables", "writing Parquet").table(columns)
            import_extra("pyarrow.parquet", "tables").write_table(table, file)
