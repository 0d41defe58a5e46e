"""The page about reliability: its tables are those of the recorded counts, and the tests that it names exist."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import reliability
from benchmarks.load import _complaints
from fuzz.parsers import PARSERS

ROOT = Path(__file__).parents[2]


def names_of_tests():
    files = [*ROOT.glob("tests/*/test_*.py")]
    return {name for file in files for name in re.findall(r"(?m)^def (test_\w+)", file.read_text())}


def test_every_test_that_the_page_names_exists():
    named = set(re.findall(r"`(test_\w+)`", reliability.PAGE.read_text()))
    assert len(named) > 25
    assert named <= names_of_tests()


def test_every_promise_names_a_test():
    promises = reliability.PAGE.read_text().split("## Promises")[1].split("## Which")[0]
    paragraphs = [one for one in promises.split("\n\n") if one.startswith("**")]
    assert len(paragraphs) > 10
    for paragraph in paragraphs:
        assert re.search(r"Tests?:\s", paragraph), paragraph


def test_the_tables_are_those_of_the_recorded_counts():
    recorded = json.loads(reliability.RECORDED.read_text())
    page = reliability.PAGE.read_text()
    assert reliability.with_tables(page, recorded, json.loads(reliability.FUZZED.read_text())) == page


def test_nothing_was_lost_and_the_counts_are_those_of_tests_that_exist():
    recorded = json.loads(reliability.RECORDED.read_text())
    assert sum(one["attempts"] for one in recorded["counts"]) > 5000
    assert not any(one["lost"] for one in recorded["counts"])
    assert {one["test"].rpartition("::")[2] for one in recorded["counts"]} <= names_of_tests()


def test_the_fuzzer_ran_over_every_parser_and_found_nothing():
    recorded = json.loads(reliability.FUZZED.read_text())
    assert recorded["seconds"] >= 1800
    assert set(recorded["parsers"]) == set(PARSERS)
    assert not any(one["findings"] for one in recorded["parsers"].values())


def test_growth_is_a_complaint():
    flat = {"memory": 5e8, "threads": 14, "descriptors": 20}
    assert _complaints({"second": flat, "last": flat}, [], 0) == []
    assert _complaints({"second": flat, "last": {**flat, "memory": 6e8}}, [], 0) == ["memory grew from 5e+08 to 6e+08"]
    assert _complaints({"second": flat, "last": {**flat, "descriptors": 40}}, ["a.tmp"], 2) == [
        "descriptors grew from 20 to 40",
        "1 files were left, such as a.tmp",
        "2 processes were left",
    ]


@pytest.mark.load
def test_memory_threads_descriptors_and_files_stay_flat():
    seconds = os.environ.get("HYPERGNN_LOAD_SECONDS", "30")
    command = [sys.executable, "-m", "benchmarks.load", "--seconds", seconds]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
