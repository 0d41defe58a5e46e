"""Results are the old ones or the new ones, wherever writing them stops."""

import json
import sys

import pytest
from support.faults import DeathError, Faulty, injected, points
from support.tables import compact, trial

from hypergnn.cli import main
from hypergnn.experiments.checking import check
from hypergnn.experiments.results import Results, measures_of, note
from hypergnn.experiments.run_notes import note_seconds, seconds_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the injector needs /proc")

OLD = Results({"cora/gcn-00000000": [trial(0, 80.0)]}, {})
NEW = Results({"cora/gcn-00000000": [trial(0, 80.0), trial(1, 81.0)]}, {"timing:cora/ratio": 9.0})


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["kill", "power"])
def test_compact_results_survive_death_at_every_call(tmp_path, tally, fault):
    live, after = tmp_path / "live", tmp_path / "after"
    OLD.write(live)
    for at, part in points(lambda: NEW.write(live), most=50):
        OLD.write(live)
        faulty = Faulty(fault, at, part)
        faulty.disk.start_with(live)
        with injected(faulty), pytest.raises(DeathError):
            NEW.write(live)
        if fault == "power":
            faulty.disk.restore(live, after)
        found = Results.read(live if fault == "kill" else after)
        assert compact(found.runs) in (compact(OLD.runs), compact(NEW.runs))
        tally(f"{'power cuts' if fault == 'power' else 'kills'}: results")


@pytest.mark.slow
def test_measures_and_times_survive_death_at_every_call(tmp_path, tally):
    note_seconds(tmp_path, 1.5)
    results = note(tmp_path, Results({}, {}), {"a": 1.0}, {"cpu": "a cpu"})

    def work():
        note(tmp_path, results, {"b": 2.0}, {"cpu": "a cpu"})
        note_seconds(tmp_path, 2.5)

    places = points(work, most=50)
    for at, part in places:
        note_seconds(tmp_path, 1.5)
        note(tmp_path, Results({}, {}), {"a": 1.0}, {"cpu": "a cpu"})
        with injected(Faulty("kill", at, part)), pytest.raises(DeathError):
            work()
        assert seconds_of(tmp_path) in (1.5, 2.5)
        assert measures_of(tmp_path)["measures"] in ({"a": 1.0}, {"a": 1.0, "b": 2.0})
        tally("kills: results")


def test_every_damaged_byte_of_compact_results_is_found(tmp_path, tally, capsys):
    NEW.write(tmp_path)
    path = tmp_path / "results.jsonl"
    content = path.read_bytes()
    assert main(["check", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "1 run, 2 records, 0 sets of curves, 0 models checked: no findings\n"
    first = content.index(b"\n")
    for place in range(first, len(content) - 1):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        assert check(tmp_path).findings, bytes(damaged)
    tally("corrupt bytes: results", attempts=len(content) - 1 - first, survived=len(content) - 1 - first)


def test_results_without_checksums_are_whole(tmp_path):
    NEW.write(tmp_path)
    path = tmp_path / "results.jsonl"
    rows = [json.loads(row) for row in path.read_bytes().splitlines()]
    path.write_text("".join(json.dumps({k: v for k, v in row.items() if k != "check"}) + "\n" for row in rows))
    assert compact(Results.read(tmp_path).runs) == compact(NEW.runs)
    assert not check(tmp_path).findings


def test_a_reproduction_is_checked_with_all_its_files(tmp_path, capsys):
    (tmp_path / "measures.json").write_text("{")
    (tmp_path / "cora" / "gcn").mkdir(parents=True)
    (tmp_path / "cora" / "gcn" / "run.json").write_text("{")
    (tmp_path / "cora" / "gcn" / "clock.json").write_text("[]")
    assert main(["check", str(tmp_path)]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert ["run.json" in printed[0], "clock.json" in printed[1], "measures.json" in printed[2]] == [True] * 3
    assert printed[3] == "1 run, 0 records, 0 sets of curves, 0 models checked: 3 findings"
