"""Safe parser for the Planetoid files of a citation network, which are pickles written by Python 2.

A pickle can call any function. The unpickler here accepts six names only, and replaces the classes of NumPy and SciPy
by inert records, which are validated before they become arrays.
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

from hypergnn.datasets.catalogue import DataError

N_VALIDATION = 500
"""Size of the public validation set: the articles that follow the training articles."""

Ids = npt.NDArray[np.int64]


class Articles(NamedTuple):
    """A parsed citation network."""

    x: sparse.csr_array  # (N, F) float32
    y: Ids  # (N,) -1 where the files have no label
    citing: Ids  # one end of each link, with the repetitions and self-links of the files
    cited: Ids  # the other end
    train: Ids
    val: Ids
    test: Ids


def parse(name: str, content: Mapping[str, bytes]) -> Articles:
    """Read the files ``ind.{name}.*``.

    Articles that occur only in links (15 in Citeseer) get zero features and label -1.

    Args:
        name: The dataset's name in the file names.
        content: Content of each file, by file name.

    Raises:
        DataError: If a file is truncated or corrupt, or does not match the others.
    """
    files = {part: f"ind.{name}.{part}" for part in ("y", "tx", "ty", "allx", "ally", "graph", "test.index")}
    train_y = read_labels(files["y"], content[files["y"]])
    n_train = train_y.size
    known_x, known_y = _read_articles(files["allx"], files["ally"], content)
    test_x, test_y = _read_articles(files["tx"], files["ty"], content)
    test = read_index(files["test.index"], content[files["test.index"]])
    if known_x.shape[1] != test_x.shape[1]:
        raise DataError(f"{files['tx']} must have {known_x.shape[1]} features, as allx has; got {test_x.shape[1]}.")
    if test.size != test_y.size or test.min() < known_y.size:
        raise DataError(
            f"{files['test.index']} must number {test_y.size} articles that follow the {known_y.size} in allx."
        )
    if n_train + N_VALIDATION > known_y.size or not np.array_equal(train_y, known_y[:n_train]):
        raise DataError(
            f"{files['y']} must equal the first labels in ally, which must have at least {N_VALIDATION} more."
        )
    n_articles = int(test.max()) + 1
    limit = 2 * (known_y.size + test_y.size)  # Citeseer lacks 15 of 3327
    if n_articles > limit:  # it would fill the memory
        raise DataError(f"{files['test.index']} must number articles below {limit}; got {test.max()}.")
    row = np.full(n_articles, known_y.size + test_y.size)  # the empty last row, for articles without features
    row[: known_y.size] = np.arange(known_y.size)
    row[test] = known_y.size + np.arange(test.size)
    empty = sparse.csr_array((1, known_x.shape[1]), dtype=np.float32)
    x = sparse.vstack([known_x, test_x, empty], format="csr")[row]
    y = np.concatenate([known_y, test_y, [-1]])[row]
    citing, cited = read_links(files["graph"], content[files["graph"]], n_articles)
    val = np.arange(n_train, n_train + N_VALIDATION)
    return Articles(x, y, citing, cited, np.arange(n_train), val, np.sort(test))


def read_index(file: str, content: bytes) -> Ids:
    """Read a text file with one unique number per line."""
    try:
        numbers = np.array(content.split(), dtype=np.int64)
    except (ValueError, OverflowError) as error:
        raise DataError(f"{file} must hold one whole number per line.") from error
    if numbers.size == 0 or numbers.min() < 0 or np.unique(numbers).size < numbers.size:
        raise DataError(
            f"{file} must hold unique article numbers; got {numbers.size}, with a negative or repeated one, or none."
        )
    return numbers


def read_labels(file: str, content: bytes) -> Ids:
    """Read the class of each article from a pickled one-hot array."""
    rows = _as_array(file, unpickle(file, content))
    if rows.ndim != 2 or rows.size == 0 or not np.isin(rows, (0, 1)).all() or not (rows.sum(axis=1) == 1).all():
        raise DataError(f"{file} must hold one row per article with a single 1, at its class.")
    labels: Ids = rows.argmax(axis=1).astype(np.int64)
    return labels


def read_features(file: str, content: bytes) -> sparse.csr_array:
    """Read the features of each article from a pickled sparse matrix."""
    record = unpickle(file, content)
    parts = record.state if isinstance(record, _Csr) else None
    if not isinstance(parts, dict) or not {"_shape", "data", "indices", "indptr"} <= parts.keys():
        raise DataError(f"{file} must hold a sparse matrix; got something else.")
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
    """Read both ends of each link from a pickled dictionary of neighbours."""
    record = unpickle(file, content)
    if not isinstance(record, dict) or not all(isinstance(linked, list) for linked in record.values()):
        raise DataError(f"{file} must hold a list of linked articles for each article; got something else.")
    try:
        articles = np.fromiter(record.keys(), dtype=np.int64, count=len(record))
        linked = np.fromiter(chain.from_iterable(record.values()), dtype=np.int64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{file} must hold article numbers, which are integers.") from error
    for ends in (articles, linked):
        if ends.size and (ends.min() < 0 or ends.max() >= n_articles):
            raise DataError(f"{file} must link articles 0 to {n_articles - 1}; got {ends.min()} to {ends.max()}.")
    return np.repeat(articles, [len(neighbours) for neighbours in record.values()]), linked


def unpickle(file: str, content: bytes) -> Any:
    """Load a pickle, with arrays and matrices as inert records.

    Raises:
        DataError: If the pickle asks for any other name, or is incomplete.
    """
    try:
        return _Unpickler(io.BytesIO(content), encoding="bytes").load()
    except DataError as error:
        raise DataError(f"{file} is refused: {error}") from error
    except Exception as error:  # damaged files make pickle raise almost anything
        raise DataError(f"{file} is truncated or corrupt: it is not a complete pickle ({error}).") from error


def _read_articles(x_file: str, y_file: str, content: Mapping[str, bytes]) -> tuple[sparse.csr_array, Ids]:
    x, y = read_features(x_file, content[x_file]), read_labels(y_file, content[y_file])
    if x.shape[0] != y.size:
        raise DataError(
            f"{x_file} and {y_file} must have the same number of rows, one per article; got {x.shape[0]} and {y.size}."
        )
    return x, y


class _Dtype:
    """Record of a pickled dtype."""

    def __init__(self, kind: object, *_: object) -> None:
        self.kind, self.order = kind, b"<"

    def __setstate__(self, state: Any) -> None:
        self.order = state[1]


class _Array:
    """Record of a pickled array."""

    shape: Any = None
    dtype: Any = None
    buffer: Any = None

    def __setstate__(self, state: Any) -> None:
        _, self.shape, self.dtype, is_fortran, self.buffer = state
        if is_fortran:
            raise DataError("it has an array in column-major order, which these files never use.")


class _Csr:
    """Record of a pickled sparse matrix."""

    state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = {key.decode(): value for key, value in state.items()}


def _as_array(file: str, record: object) -> npt.NDArray[Any]:
    kinds = {b"f4": "f4", b"f8": "f8", b"i4": "i4", b"i8": "i8"}
    kind = record.dtype.kind if isinstance(record, _Array) and isinstance(record.dtype, _Dtype) else None
    if not isinstance(record, _Array) or not isinstance(kind, bytes) or kind not in kinds:
        raise DataError(f"{file} must hold an array of numbers; got something else.")
    if record.dtype.order != b"<" or not isinstance(record.buffer, bytes):
        raise DataError(f"{file} must hold little-endian numbers.")
    try:
        return np.frombuffer(record.buffer, dtype="<" + kinds[kind]).reshape(record.shape)
    except (TypeError, ValueError) as error:
        raise DataError(f"{file} is corrupt: an array does not have its declared size ({error}).") from error


class _Unpickler(pickle.Unpickler):
    """Builds numbers, lists, dictionaries and the records above; refuses all other names."""

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
