"""The Planetoid files of a citation network: pickles written by Python 2, read without trusting them.

A pickle can name any function to be called. The unpickler here knows six names, and those of NumPy and SciPy are not
the real thing: arrays and matrices become inert records of what the file says, checked before they become arrays.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from itertools import chain
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hypergnn.datasets.errors import DataError

N_VALIDATION = 500
"""The public split validates on the articles that follow the training articles."""

Ids = npt.NDArray[np.int64]


class Articles(NamedTuple):
    """A citation network as its files describe it, before it becomes a dataset."""

    x: sparse.csr_array  # (N, F) float32
    y: Ids  # (N,) -1 where the files have no label
    citing: Ids  # one end of each link, repetitions and self-links as they stand in the files
    cited: Ids  # the other end
    train: Ids
    val: Ids
    test: Ids


def parse(name: str, content: Mapping[str, bytes]) -> Articles:
    """Read the files ``ind.{name}.*``.

    Articles that are only known from links (15 of Citeseer's) get no features and label -1.

    Args:
        name: The name in the files' names.
        content: Content of each file, by its name.

    Raises:
        DataError: If a file is truncated, corrupt, or does not fit the others.
    """
    files = {part: f"ind.{name}.{part}" for part in ("y", "tx", "ty", "allx", "ally", "graph", "test.index")}
    train_y = read_labels(files["y"], content[files["y"]])
    n_train = train_y.size
    known_x, known_y = _read_articles(files["allx"], files["ally"], content)
    test_x, test_y = _read_articles(files["tx"], files["ty"], content)
    test = read_index(files["test.index"], content[files["test.index"]])
    if known_x.shape[1] != test_x.shape[1]:
        raise DataError(f"{files['tx']} must have {known_x.shape[1]} features like allx; it has {test_x.shape[1]}.")
    if test.size != test_y.size or test.min() < known_y.size:
        raise DataError(
            f"{files['test.index']} must name {test_y.size} articles that follow the {known_y.size} of allx."
        )
    if n_train + N_VALIDATION > known_y.size or not np.array_equal(train_y, known_y[:n_train]):
        raise DataError(f"{files['y']} must repeat the first labels of ally, with {N_VALIDATION} or more after them.")
    n_articles = int(test.max()) + 1
    row = np.full(n_articles, known_y.size + test_y.size)  # the empty last row, unless the files have the article
    row[: known_y.size] = np.arange(known_y.size)
    row[test] = known_y.size + np.arange(test.size)
    empty = sparse.csr_array((1, known_x.shape[1]), dtype=np.float32)
    x = sparse.vstack([known_x, test_x, empty], format="csr")[row]
    y = np.concatenate([known_y, test_y, [-1]])[row]
    citing, cited = read_links(files["graph"], content[files["graph"]], n_articles)
    val = np.arange(n_train, n_train + N_VALIDATION)
    return Articles(x, y, citing, cited, np.arange(n_train), val, np.sort(test))


def read_index(file: str, content: bytes) -> Ids:
    """The numbers in a text file, one per line, no two alike."""
    try:
        numbers = np.array(content.split(), dtype=np.int64)
    except (ValueError, OverflowError) as error:
        raise DataError(f"{file} must hold one whole number per line.") from error
    if numbers.size == 0 or numbers.min() < 0 or np.unique(numbers).size < numbers.size:
        raise DataError(f"{file} must hold article numbers, no two alike; it has {numbers.size} numbers.")
    return numbers


def read_labels(file: str, content: bytes) -> Ids:
    """The class of each article, from a pickled array with a single one in each row."""
    rows = _as_array(file, unpickle(file, content))
    if rows.ndim != 2 or rows.size == 0 or not np.isin(rows, (0, 1)).all() or not (rows.sum(axis=1) == 1).all():
        raise DataError(f"{file} must hold one row per article with a single one, at its class.")
    labels: Ids = rows.argmax(axis=1).astype(np.int64)
    return labels


def read_features(file: str, content: bytes) -> sparse.csr_array:
    """The features of each article, from a pickled sparse matrix."""
    record = unpickle(file, content)
    parts = record.state if isinstance(record, _Csr) else None
    if not isinstance(parts, dict) or not {"_shape", "data", "indices", "indptr"} <= parts.keys():
        raise DataError(f"{file} must hold a sparse matrix; it holds something else.")
    data, indices, indptr = (_as_array(file, parts[part]) for part in ("data", "indices", "indptr"))
    shape = parts["_shape"]
    if not (isinstance(shape, tuple) and len(shape) == 2 and all(isinstance(size, int) and size > 0 for size in shape)):
        raise DataError(f"{file} must hold a matrix with rows and columns; its shape is {shape!r}.")
    fits = (
        (data.ndim, indices.ndim, indptr.ndim) == (1, 1, 1)
        and indptr.size == shape[0] + 1
        and indptr[0] == 0
        and bool((np.diff(indptr) >= 0).all())
        and indptr[-1] == indices.size == data.size
        and (indices.size == 0 or (indices.min() >= 0 and indices.max() < shape[1]))
        and bool(np.isfinite(data).all())
    )
    if not fits:
        raise DataError(f"{file} is corrupt: the parts of its sparse matrix do not fit together.")
    matrix = sparse.csr_array((data.astype(np.float32), indices.astype(np.int32), indptr.astype(np.int32)), shape=shape)
    matrix.sum_duplicates()
    return matrix


def read_links(file: str, content: bytes, n_articles: int) -> tuple[Ids, Ids]:
    """Both ends of each link, from a pickled dictionary of each article's neighbours."""
    record = unpickle(file, content)
    if not isinstance(record, dict) or not all(isinstance(linked, list) for linked in record.values()):
        raise DataError(f"{file} must hold the list of linked articles of each article; it holds something else.")
    try:
        articles = np.fromiter(record.keys(), dtype=np.int64, count=len(record))
        linked = np.fromiter(chain.from_iterable(record.values()), dtype=np.int64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{file} must hold whole numbers of articles.") from error
    for ends in (articles, linked):
        if ends.size and (ends.min() < 0 or ends.max() >= n_articles):
            raise DataError(f"{file} must link articles 0 to {n_articles - 1}; it names {ends.min()} to {ends.max()}.")
    return np.repeat(articles, [len(neighbours) for neighbours in record.values()]), linked


def unpickle(file: str, content: bytes) -> Any:
    """What a pickle holds, with arrays and matrices as inert records.

    Raises:
        DataError: If the pickle names anything else, or is no complete pickle.
    """
    try:
        return _Unpickler(io.BytesIO(content), encoding="bytes").load()
    except DataError as error:
        raise DataError(f"{file} is refused: {error}") from error
    except Exception as error:  # broken bytes make pickle raise almost anything
        raise DataError(f"{file} is truncated or corrupt: it is not a complete pickle ({error}).") from error


def _read_articles(x_file: str, y_file: str, content: Mapping[str, bytes]) -> tuple[sparse.csr_array, Ids]:
    x, y = read_features(x_file, content[x_file]), read_labels(y_file, content[y_file])
    if x.shape[0] != y.size:
        raise DataError(f"{x_file} and {y_file} must have one row per article each; they have {x.shape[0]}, {y.size}.")
    return x, y


class _Dtype:
    """What the file says of an array's numbers."""

    def __init__(self, kind: object, *_: object) -> None:
        self.kind, self.order = kind, b"<"

    def __setstate__(self, state: Any) -> None:
        self.order = state[1]


class _Array:
    """What the file says of an array."""

    shape: Any = None
    dtype: Any = None
    buffer: Any = None

    def __setstate__(self, state: Any) -> None:
        _, self.shape, self.dtype, is_fortran, self.buffer = state
        if is_fortran:
            raise DataError("it has an array in column order, which none of these files has.")


class _Csr:
    """What the file says of a sparse matrix."""

    state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = {key.decode(): value for key, value in state.items()}


def _as_array(file: str, record: object) -> npt.NDArray[Any]:
    kinds = {b"f4": "f4", b"f8": "f8", b"i4": "i4", b"i8": "i8"}
    kind = record.dtype.kind if isinstance(record, _Array) and isinstance(record.dtype, _Dtype) else None
    if not isinstance(record, _Array) or not isinstance(kind, bytes) or kind not in kinds:
        raise DataError(f"{file} must hold an array of numbers; it holds something else.")
    if record.dtype.order != b"<" or not isinstance(record.buffer, bytes):
        raise DataError(f"{file} must hold little-endian numbers.")
    try:
        return np.frombuffer(record.buffer, dtype="<" + kinds[kind]).reshape(record.shape)
    except (TypeError, ValueError) as error:
        raise DataError(f"{file} is corrupt: the size of an array is not what it says ({error}).") from error


class _Unpickler(pickle.Unpickler):
    """Builds numbers, lists, dictionaries and the records above; refuses everything else."""

    _known: ClassVar[dict[tuple[str, str], Any]] = {
        ("__builtin__", "list"): list,
        ("collections", "defaultdict"): lambda _: {},
        ("numpy", "ndarray"): _Array,
        ("numpy", "dtype"): _Dtype,
        ("numpy.core.multiarray", "_reconstruct"): lambda *_: _Array(),
        ("scipy.sparse.csr", "csr_matrix"): _Csr,
    }

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self._known[module, name]
        except KeyError:
            raise DataError(f"it asks for {module}.{name}, which no data file needs.") from None
