"""Tests in the order of workers: none is lost, slow ones come first, and those of a file together."""

from pathlib import Path

import pytest
from support import order

TESTS = [(file, number % 5 == 0, number) for file in "abcdefg" for number in range(11)]
ROOT = Path(__file__).parents[2]


def ordered(tests, n):
    return order.for_workers(tests, n, lambda test: test[0], lambda test: test[1])


@pytest.mark.parametrize("n", [1, 2, 3, 8, 100])
def test_every_test_is_there_once(n):
    assert sorted(ordered(TESTS, n)) == sorted(TESTS)
    assert ordered([], n) == []
    slow = [test for test in TESTS if test[1]]
    assert sorted(ordered(slow, n)) == sorted(slow)


@pytest.mark.parametrize("n", [2, 3])
def test_the_part_of_each_worker_begins_with_slow_files(n):
    found, rest = [], ordered(TESTS, n)
    for left in range(n, 0, -1):  # as xdist does
        part, rest = rest[: len(rest) // left], rest[len(rest) // left :]
        n_slow = sum(test[1] for test in part)
        assert n_slow >= 6
        assert all(test[1] for test in part[:n_slow])
        found.append({test[0] for test in part[:n_slow]})
    assert sum(map(len, found)) == len(set.union(*found)) == 7, "a slow file is in two parts"


def test_files_whose_time_is_known_exist():
    assert [file for file in order.SECONDS if not (ROOT / file).exists()] == []
