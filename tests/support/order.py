"""The order of tests for several workers of xdist: long ones first, and those of a file by one worker.

With ``--dist worksteal``, worker ``k`` of ``n`` starts with the ``k``-th part of all tests, and who is done takes half
of what another has left, from the end. So each part begins with slow files, which then share their fixtures (Spark, a
cluster, the laboratory of mutants) in one worker, and ends with quick tests, which are easy to share out.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

SECONDS = {
    "tests/project/test_mutants.py": 120,
    "tests/spark": 120,
    "tests/functional/test_compile.py": 50,
    "tests/persistence/test_onnx.py": 50,
    "tests/project/test_documentation.py": 45,
    "tests/estimators/test_estimators.py": 40,
    "tests/training/test_elsewhere.py": 40,
    "tests/construct/test_construct_points.py": 35,
    "tests/project/test_fuzzer.py": 35,
    "tests/distributed/test_together.py": 35,
    "tests/kernels/test_kernels.py": 30,
    "tests/report/test_report.py": 25,
    "tests/report/test_explorer.py": 25,
    "tests/training/test_workers.py": 20,
    "tests/distributed/test_shards.py": 20,
    "tests/project/test_package.py": 20,
    "tests/kernels/test_unsafe_calls.py": 15,
    "tests/datasets/test_own_csv.py": 15,
    "tests/experiments/test_systems_protocol.py": 10,
}
"""About how long the slow tests of a file take. Only the order depends on it. Other files: half a second a test."""
TOGETHER = ("tests/spark",)
"""Folders whose files one worker runs, because they share something that takes seconds to start."""


def file_of(test: str) -> str:
    """What one worker runs: the file of a test, or the folder if its files are run together.

    Example:
        >>> file_of("tests/layers/test_layers.py::test_repr"), file_of("tests/spark/test_spark_shards.py::test_n[2]")
        ('tests/layers/test_layers.py', 'tests/spark')
    """
    file = test.partition("::")[0]
    return next((folder for folder in TOGETHER if file.startswith(f"{folder}/")), file)


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
