from datetime import UTC, date, datetime
from decimal import Decimal
from enum import IntEnum
from uuid import UUID

import numpy as np
import pytest
import torch

from hypergnn.persistence import name_tensors


class Colour(IntEnum):
    RED = 1


NAMES = {
    "text": ["Ann", "", "Zoë", '"\\\n', "\ud800", "\0"],
    "all kinds": [b"\x00\xff", None, True, 1.5, -(10**30), date(2020, 2, 29), Decimal("0.10"), UUID(int=7)],
    "times": [datetime(2020, 2, 29, 1, 2, 3, 4), datetime(2020, 2, 29, tzinfo=UTC)],
    "tuples": [(), (1, "a"), (("b", date(2020, 2, 29)), None)],
    "nothing": [],
}
ARRAYS = [
    np.array([7, -3, 5]),
    np.array([7, 2**63], dtype=np.uint64),
    np.array([7, 3], dtype=np.int16),
    np.array([False, True]),
    np.array([1.5, -0.0, np.inf], dtype=np.float32),
    np.array(["2020-02-29", "NaT"], dtype="M8[D]"),
    np.array([1, 2], dtype="m8[ns]"),
]


@pytest.mark.parametrize("kind", NAMES)
def test_objects_come_back_with_their_types(kind):
    names = np.fromiter(NAMES[kind], dtype=object, count=len(NAMES[kind]))
    again = name_tensors.from_tensor(*name_tensors.to_tensor(names))
    assert again.dtype == object
    assert again.tolist() == NAMES[kind]
    assert [type(name) for name in again] == [type(name) for name in NAMES[kind]]


@pytest.mark.parametrize("names", ARRAYS, ids=lambda names: names.dtype.str)
def test_numbers_and_dates_come_back_with_their_dtype_and_are_not_copied(names):
    tensor, how = name_tensors.to_tensor(names)
    again = name_tensors.from_tensor(tensor, how)
    assert again.dtype == names.dtype
    assert again.tobytes() == names.tobytes()
    assert np.shares_memory(again, tensor.numpy())


def test_byte_order_and_strides_do_not_matter_and_numbers_of_numpy_become_plain():
    swapped = np.array([7, 0, 3, 0], dtype=">i4")[::2]
    assert name_tensors.from_tensor(*name_tensors.to_tensor(swapped)).tolist() == [7, 3]
    mixed = np.array([np.int64(7), np.float32(0.5), np.str_("a")], dtype=object)
    assert [type(name) for name in name_tensors.from_tensor(*name_tensors.to_tensor(mixed))] == [int, float, str]


@pytest.mark.parametrize(
    ("names", "match"),
    [
        (np.array([frozenset([1])], dtype=object), r"got frozenset such as frozenset\(\{1\}\)\. Convert them to text"),
        (np.array([Colour.RED], dtype=object), r"names must be text, bytes, numbers, dates or tuples.*got Colour"),
        (np.array([1j]), r"got complex128"),
    ],
)
def test_names_that_would_come_back_as_something_else_are_refused(names, match):
    with pytest.raises(TypeError, match=match):
        name_tensors.to_tensor(names)


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("[1", "json"),
        ("7", "json"),
        ('[{"set": [1]}]', "json"),
        ('[{"date": 7}]', "json"),
        ('[{"Decimal": "x"}]', "json"),
        ('[{"UUID": 7}]', "json"),
        ("[{}]", "json"),
        ("abcd", "<i4"),
        ("abcd", "|O"),
        ("abcd", "what"),
    ],
)
def test_damaged_names_are_one_clear_error(text, how):
    with pytest.raises(ValueError, match=r"names cannot be read"):
        name_tensors.from_tensor(torch.tensor(list(text.encode()), dtype=torch.uint8), how)
