"""Random changes of files that other libraries define: Parquet and pickles."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzz.mutations import INTEGERS, mutate_bytes

# What an unpickler may be asked for; `ran` tells if one of them is called.
_NAMES = (
    b"cfuzz.operators\nran\n",
    b"cposix\nsystem\n",
    b"c__builtin__\neval\n",
    b"cbuiltins\nexec\n",
    b"cnumpy\nndarray\n",
    b"cnumpy\ndtype\n",
    b"cnumpy.core.multiarray\n_reconstruct\n",
    b"cscipy.sparse.csr\ncsr_matrix\n",
    b"ccollections\ndefaultdict\n",
    b"c__builtin__\nlist\n",
)
_CODES = (
    b"(",
    b")",
    b"t",
    b"R",
    b"b",
    b"}",
    b"]",
    b"s",
    b"u",
    b"a",
    b"e",
    b"0",
    b"2",
    b"N",
    b"\x81",
    b"\x85",
    b"Q",
    b".",
)


def mutate_pickle(rng: Random, data: bytes) -> bytes:
    """Insert names, calls, numbers and other opcodes, or change bytes."""
    kind, place = rng.random(), rng.randrange(2, max(len(data), 3))
    if kind < 0.35:
        return mutate_bytes(rng, data)
    if kind < 0.5:  # a call at the start, whose result is dropped
        return data[:2] + rng.choice(_NAMES) + rng.choice((b")R0", b"(tR0", b"(NtR0", b")\x810", b")R}b0")) + data[2:]
    if kind < 0.65:
        names = [name for name in _NAMES if name in data]
        return data.replace(rng.choice(names), rng.choice(_NAMES), 1) if names else data
    if kind < 0.8:
        new = b"J" + (rng.choice(INTEGERS) % 2**32).to_bytes(4, "little")
        places = [at for at in range(len(data)) if data[at] == ord("J")]
        at = rng.choice(places) if places else place
        return data[:at] + new + data[at + 5 :]
    return data[:place] + b"".join(rng.choice((*_CODES, *_NAMES)) for _ in range(rng.choice((1, 2, 3)))) + data[place:]


def mutate_parquet(rng: Random, data: bytes) -> bytes:
    """Change the columns of a table, or bytes of its file."""
    import pyarrow
    from pyarrow import parquet

    if rng.random() < 0.3:
        return mutate_bytes(rng, data)
    try:
        table = parquet.read_table(pyarrow.BufferReader(data))
    except Exception:  # damaged before
        return mutate_bytes(rng, data)
    for _ in range(rng.choice((1, 1, 2))):
        table = _change_table(rng, table)
    sink = pyarrow.BufferOutputStream()
    try:
        parquet.write_table(table, sink)
    except Exception:  # a type that Parquet does not hold
        return mutate_bytes(rng, data)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _change_table(rng: Random, table: Any) -> Any:
    import pyarrow

    if not table.num_columns:
        return table
    kind, place, rows = rng.random(), rng.randrange(table.num_columns), table.num_rows
    name = table.column_names[place]
    if kind < 0.5:
        return table.set_column(place, name, _column(rng, rows))
    if kind < 0.6:
        return table.append_column(rng.choice((name, "", "weight", "x\x00", "é")), _column(rng, rows))
    if kind < 0.7:
        return table.remove_column(place)
    if kind < 0.8:
        return table.slice(rng.randrange(rows + 1), rng.randrange(rows + 1))
    if kind < 0.9:
        return pyarrow.concat_tables([table, table])
    order = rng.sample(range(table.num_columns), table.num_columns)
    return table.select(order).rename_columns(table.column_names)


def _column(rng: Random, rows: int) -> Any:
    """A column of a random type: numbers, text, dates, lists, structures, missing values."""
    import pyarrow

    small = [rng.randrange(4) for _ in range(rows)]
    words = [rng.choice(("a", "b", "", "é", "1", "\x00", "train", "x" * 300)) for _ in range(rows)]
    makers = (
        lambda: pyarrow.array(small, rng.choice((pyarrow.int8(), pyarrow.uint16(), pyarrow.int64(), pyarrow.uint64()))),
        lambda: pyarrow.array([rng.choice(INTEGERS[:34]) for _ in range(rows)], pyarrow.int64()),
        lambda: pyarrow.array([2**64 - 1 - one for one in small], pyarrow.uint64()),
        lambda: pyarrow.array(words, rng.choice((pyarrow.string(), pyarrow.large_string()))),
        lambda: pyarrow.array(words).dictionary_encode(),
        lambda: pyarrow.array([None if one else "a" for one in small]),
        lambda: pyarrow.array([float("nan") if one else 1e308 for one in small]),
        lambda: pyarrow.array(small, pyarrow.float64()).cast(pyarrow.float32()),
        lambda: pyarrow.array([bool(one) for one in small]),
        lambda: pyarrow.array(small, pyarrow.int64()).cast(pyarrow.timestamp("ns")),
        lambda: pyarrow.array([[one] for one in small]),
        lambda: pyarrow.array([{"a": one} for one in small]),
        lambda: pyarrow.array([word.encode() + b"\xff" for word in words]),
        lambda: pyarrow.array(small, pyarrow.decimal128(20, 2)),
        lambda: pyarrow.nulls(rows),
    )
    return rng.choice(makers)()
