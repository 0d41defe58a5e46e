"""The fuzzer finds nothing in a short run, and finds what it must when there is something."""

import json
import os
import pickle
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from support.forks import programs

from fuzz import foreign, mutations, operators, valid
from fuzz.__main__ import main
from fuzz.findings import Finding
from fuzz.parsers import PARSERS
from fuzz.workers import case_of

ROOT = Path(__file__).parents[2]
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")

CASES = 60
"""Cases of each parser: half a minute in all. ``make fuzz`` runs many more."""

# A parser with every fault: which one depends on the first byte of the file.
BROKEN = """
import os, signal, sys, time
from fuzz.parsers import PARSERS, Parser

def load(folder):
    content = (folder / "file").read_bytes()
    first = content[0] if content else 0
    if content == b"valid":
        return lambda: None
    if first > 247:
        time.sleep(60)
    if first > 200:
        os.kill(os.getpid(), signal.SIGSEGV)
    if first > 150:
        raise KeyError(first)
    if first > 100 and first != ord("v"):
        return lambda: 1 / 0
    raise ValueError("refused")

PARSERS["broken"] = Parser(lambda: [{"file": b"valid"}], {"": lambda rng, data: rng.randbytes(4)}, load)
from fuzz.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def run(*arguments: object, code: str = "") -> subprocess.CompletedProcess[str]:
    """Run the fuzzer, or this code, in a fork: loading all parsers takes longer than most runs."""
    words = [str(argument) for argument in arguments]

    def program() -> int:
        os.chdir(ROOT)
        sys.argv[1:] = words
        return exec(code, {"__name__": "program"}) if code else main(words)

    return programs(program, timeout=600)


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize(
    "parsers",
    [
        ["models", "hif", "parquet"],
        ["planetoid", "linqs", "runs", "results"],
        ["structures", "csv"],
        ["estimators", "batches"],
        ["ensembles", "shards", "checkpoints", "features"],
    ],
)
def test_a_short_run_finds_nothing(tmp_path, parsers):
    done = run(
        *parsers, "--cases", CASES, "--seed", 0, "--workers", 1, "--findings", tmp_path / "f", "--json", tmp_path / "j"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "j").read_text())
    assert list(report["parsers"]) == parsers
    for counts in report["parsers"].values():
        assert counts["cases"] == counts["loaded"] + counts["refused"] == CASES
        assert min(counts["loaded"], counts["refused"]) > 5


@needs_fork
@pytest.mark.slow
def test_signals_hangs_and_exceptions_are_findings(tmp_path):
    options = ("--cases", 60, "--seed", 1, "--workers", 2, "--patience", 1, "--findings", tmp_path / "f")
    done = run("broken", *options, "--json", tmp_path / "j", code=BROKEN)
    assert done.returncode == 1, done.stderr
    report = json.loads((tmp_path / "j").read_text())
    assert {one["kind"] for one in report["findings"]} == {"SIGSEGV", "hang", "KeyError", "ZeroDivisionError"}
    counts = report["parsers"]["broken"]
    assert counts["cases"] == 60 == counts["loaded"] + counts["refused"] + counts["findings"]
    stored = next(path for path in (tmp_path / "f").iterdir() if "KeyError" in path.name)
    assert 150 < (stored / "case" / "file").read_bytes()[0] <= 200
    again = run("--replay", stored, code=BROKEN)
    assert again.returncode == 1
    assert "KeyError" in again.stderr


@pytest.mark.slow
def test_an_unknown_parser_is_refused_with_the_known_ones():
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src"), *sys.path])
    command, environment = [sys.executable, "-m", "fuzz", "xml"], os.environ | {"PYTHONPATH": paths}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 2
    assert done.stderr.startswith("parsers must be some of structures, models,")


@pytest.mark.slow
def test_cases_are_reproducible_and_differ():
    corpus = valid.hif()
    cases = [case_of(0, "hif", number, corpus) for number in range(60)]
    assert cases == [case_of(0, "hif", number, valid.hif()) for number in range(60)]
    assert cases[: len(corpus)] == corpus
    assert len({json.dumps(sorted((name, content.hex()) for name, content in case.items())) for case in cases}) > 30
    assert cases[20:] != [case_of(1, "hif", number, corpus) for number in range(20, 60)]


def test_the_checksum_of_changed_tensors_is_mostly_right():
    (name, content), *_ = valid.structures()[0].items()
    metadata, tensors = mutations._split(content)
    assert mutations._checksum(metadata["hypergnn"], tensors) == metadata["sha256"]
    right, changed = 0, set()
    for seed in range(60):
        data = mutations.mutate_safetensors(Random(seed), content)
        changed.add(data)
        try:
            metadata, tensors = mutations._split(data)
            right += mutations._checksum(metadata["hypergnn"], tensors) == metadata["sha256"]
        except (ValueError, KeyError, TypeError):
            continue
    assert name == "hypergraph.safetensors"
    assert len(changed) > 30
    assert right > 30


def test_a_reader_that_runs_a_pickle_is_found():
    ran = 0
    for seed in range(600):
        try:
            pickle.loads(foreign.mutate_pickle(Random(seed), b"\x80\x02N."))
        except operators.ExecutedError:
            ran += 1
        except Exception:
            continue
    assert ran > 0


def test_changed_parquet_files_are_mostly_tables():
    from pyarrow import BufferReader, parquet

    (content,) = valid.parquet()[1].values()
    kinds = set()
    for seed in range(40):
        with suppress(Exception):
            table = parquet.read_table(BufferReader(foreign.mutate_parquet(Random(seed), content)))
            kinds |= {str(kind) for kind in table.schema.types}
    assert len(kinds) > 8


def test_a_finding_is_stored_once_for_each_place(tmp_path):
    findings = []
    for where in ("here", "there"):
        for _ in range(2):
            findings.append(Finding("hif", "KeyError", f'Traceback\n  File "/x/hypergnn/{where}.py", line 3, in f\n'))
    homes = [finding.store(tmp_path, {"folder/a": b"1"}) for finding in findings]
    assert [home is None for home in homes] == [False, True, False, True]
    assert (homes[0] / "case" / "folder" / "a").read_bytes() == b"1"


@pytest.mark.slow
def test_every_parser_has_small_valid_cases():
    for name, parser in PARSERS.items():
        sizes = [sum(map(len, case.values())) for case in parser.valid()]
        assert sizes, name
        assert max(sizes) < 200_000, name
