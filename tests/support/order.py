"""The order of tests for several workers of xdist: long ones first, and those of a file by one worker.

With ``--dist worksteal``, worker ``k`` of ``n`` starts with the ``k``-th part of all tests, and who is done takes half
of what another has left, from the end. So each part begins with slow files, which then share their fixtures (Spark, a
cluster, the laboratory of mutants) in one worker, and ends with quick tests, which are easy to share out.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

SECONDS = {
    "tests/project/test_mutants.py": 130,
    "tests/spark/test_spark_hypergraph.py": 90,
    "tests/training/test_elsewhere.py": 80,
    "tests/functional/test_compile.py": 80,
    "tests/estimators/test_estimators.py": 80,
    "tests/kernels/test_kernels.py": 60,
    "tests/training/test_workers.py": 60,
    "tests/persistence/test_onnx.py": 60,
    "tests/project/test_fuzzer.py": 50,
    "tests/distributed/test_shards.py": 50,
    "tests/distributed/test_together.py": 40,
    "tests/distributed/test_batches_together.py": 30,
    "tests/project/test_documentation.py": 40,
}
"""About how long the slow tests of a file take. Only the order depends on it. Other files: half a second a test."""


def for_workers(tests: Sequence[T], n: int, file_of: Callable[[T], str], is_slow: Callable[[T], bool]) -> list[T]:
    """The tests in the order that suits ``n`` workers.

    Example:
        >>> tests = ["a/1", "a/2", "a/slow", "b/1", "b/slow", "c/1"]
        >>> for_workers(tests, 2, lambda test: test[0], lambda test: "slow" in test)
        ['a/slow', 'a/1', 'a/2', 'b/slow', 'b/1', 'c/1']
    """
    slow: dict[str, list[T]] = {}
    for test in filter(is_slow, tests):
        slow.setdefault(file_of(test), []).append(test)
    cost = {file: SECONDS.get(file, len(own) / 2) for file, own in slow.items()}
    parts: list[list[T]] = [[] for _ in range(n)]
    seconds = [0.0] * n
    for file in sorted(slow, key=lambda file: -cost[file]):
        part = seconds.index(min(seconds))
        parts[part] += slow[file]
        seconds[part] += cost[file]
    quick, ordered = [test for test in tests if not is_slow(test)], list[T]()
    for number, part in enumerate(parts):
        end = (number + 1) * len(tests) // n
        n_quick = max(0, end - len(ordered) - len(part))
        ordered += part + quick[:n_quick]
        quick = quick[n_quick:]
    return ordered + quick
