"""Every call that writes a run folder fails once, or is the last of its process or machine.

Afterwards the folder opens, holds every trial that was acknowledged, and continues to the same bytes as undisturbed.
"""

import errno
import shutil
import sys
from dataclasses import replace

import pytest
from support.faults import DeathError, Faulty, injected, points
from support.points import grouped_points

from hypergnn.models import Config
from hypergnn.training import fit
from hypergnn.training import ledger as ledgers
from hypergnn.training.checking import Checked, check_run
from hypergnn.training.engine import train
from hypergnn.training.ledger import Ledger, read
from hypergnn.training.order import near_together
from hypergnn.training.plan import Plan, Task
from hypergnn.training.session import Session, as_record

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the injector needs /proc"),
    pytest.mark.slow,
]

SMALL = Config(hidden=2, heads=1, patience=2, max_epochs=3)
CONFIGURATION = {"dataset": "small", "model": "hyper-conv"}
MOST = 40
KINDS = {"error": "failing calls", "kill": "kills", "power": "power cuts"}


@pytest.fixture(scope="module")
def data():
    return grouped_points()


@pytest.fixture(scope="module")
def trials(data):
    """Three finished trials, each better than the one before, so that each saves its model."""
    plan = Plan.of(Task.of(near_together(data), SMALL), SMALL)
    found = sorted(train(plan, SMALL, range(3)), key=lambda trial: trial.seed)
    return [replace(trial, loss={**trial.loss, "val": 1.0 - trial.seed / 10}) for trial in found]


@pytest.fixture(autouse=True)
def _two_environments(monkeypatch):
    """The run continues in another environment than it was started in, so that run.json is written again."""
    monkeypatch.setattr(ledgers, "environment", lambda: {"cpu": "another"})


class Writer:
    """Writes the trials to a run folder as ``fit`` does, and remembers which were acknowledged."""

    def __init__(self, folder, data, trials):
        self.folder, self.data, self.trials = folder, data, trials
        self.acknowledged = []
        self.ledger = None

    def __call__(self, *, tries=1):
        """Open the folder and finish what is missing; repeat what fails, as a user does."""
        for rest in reversed(range(tries)):
            try:
                self._write()
                return
            except OSError:
                if not rest:
                    raise
            finally:
                self.close()

    def _write(self):
        self.ledger = Ledger.open(self.folder, CONFIGURATION)
        session = Session(self.data, SMALL, self.ledger, len(self.trials), True, [])
        for seed in session.to_train():
            session.finish(self.trials[seed])
            self.acknowledged.append(seed)

    def close(self):
        """What the end of the process does in any case: it releases the lock."""
        if self.ledger is not None:
            self.ledger._held.close()
            self.ledger = None


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "run.lock"}


@pytest.fixture
def start(tmp_path, data, trials, monkeypatch):
    """A function that makes a run folder with one trial, recorded in the first environment."""
    template = tmp_path / "template"
    with monkeypatch.context() as patched:
        patched.setattr(ledgers, "environment", lambda: {"cpu": "first"})
        Writer(template / "run", data, trials[:1])()

    def make(name):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        shutil.copytree(template, tmp_path / name)
        return tmp_path / name

    return make


@pytest.mark.parametrize("fault", list(KINDS))
def test_a_run_survives_a_fault_at_every_call(start, data, trials, tally, fault):
    undisturbed = start("undisturbed") / "run"
    Writer(undisturbed, data, trials)()
    expected = content(undisturbed)
    assert sorted(expected) == ["curves.jsonl", "model.safetensors", "run.json", "trials.jsonl"]
    places = points(lambda: Writer(start("counted") / "run", data, trials)(), most=MOST)
    for at, part in places:
        root = start("faulty")
        writer, faulty = Writer(root / "run", data, trials), Faulty(fault, at, part)
        faulty.disk.start_with(root)
        with injected(faulty):
            if fault == "error":
                writer(tries=2)
            else:
                with pytest.raises(DeathError):
                    writer()
            if fault == "power":
                faulty.disk.restore(root, root.with_name("after"))
                root = root.with_name("after")
        folder = root / "run"
        found = read(folder)  # the folder can be read,
        assert found.seeds >= {0, *writer.acknowledged}, "nothing that was acknowledged is lost"
        assert found.records == tuple(as_record(trials[seed]) for seed in sorted(found.seeds)), "nor changed"
        writer = Writer(folder, data, trials)
        with injected(Faulty()):
            writer()  # and continued
        assert not {0} & set(writer.acknowledged), "what is recorded is not repeated"
        after = content(folder)
        for name in ("trials.jsonl", "model.safetensors", "run.json"):
            assert after[name] == expected[name], (at, part, name)
        assert after.keys() == expected.keys()
        assert read(folder).curves(2) == read(undisturbed).curves(2)
        tally(f"{KINDS[fault]}: run folder")


def test_a_new_run_survives_death_at_every_call(tmp_path, data, trials, tally):
    (tmp_path / "counted").mkdir()
    places = points(lambda: Writer(tmp_path / "counted" / "new" / "run", data, trials[:1])(), most=MOST)
    expected = content(tmp_path / "counted" / "new" / "run")
    for fault in ("kill", "power"):
        for at, part in places:
            root = tmp_path / "faulty"
            shutil.rmtree(root, ignore_errors=True)
            root.mkdir()
            writer, faulty = Writer(root / "new" / "run", data, trials[:1]), Faulty(fault, at, part)
            faulty.disk.start_with(root)
            with injected(faulty), pytest.raises(DeathError):
                writer()
            writer.close()
            if fault == "power":
                faulty.disk.restore(root, root.with_name("after"))
                root = root.with_name("after")
            with injected(Faulty()):
                Writer(root / "new" / "run", data, trials[:1])()
            assert content(root / "new" / "run") == expected
            tally(f"{KINDS[fault]}: run folder")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS])
def test_a_full_disk_names_the_file_and_leaves_the_run_as_it_was(start, data, trials, tally, number):
    calls = {at for at, _ in points(lambda: Writer(start("counted") / "run", data, trials)())}
    for at in sorted(calls):
        root = start("faulty")
        writer = Writer(root / "run", data, trials)
        try:
            with injected(Faulty("error", at, 3, number=number)):
                writer()
            message = str(root)
        except OSError as error:
            message = str(error)
        assert str(root) in message
        assert read(root / "run").seeds >= {0, *writer.acknowledged}
        tally("full disks: run folder")


def test_after_every_fault_a_run_can_be_checked(start, data, trials):
    for at, part in points(lambda: Writer(start("counted") / "run", data, trials)(), most=MOST):
        root = start("faulty")
        writer = Writer(root / "run", data, trials)
        with injected(Faulty("kill", at, part)), pytest.raises(DeathError):
            writer()
        writer.close()
        checked = Checked()
        check_run(root / "run", checked)
        allowed = ("the next run removes it", "a writer that was killed")
        assert all(any(one in finding.what for one in allowed) for finding in checked.findings), checked.findings


def test_a_fit_on_a_disk_that_is_full_ends_with_the_path(data, tmp_path):
    """The error of ``fit``, and a resumed run that equals an undisturbed one."""
    with injected(Faulty()) as watched:
        whole = fit(data, SMALL, trials=3, out=tmp_path / "whole", jobs=1)
    last = max(at for at, name in enumerate(watched.calls) if name == "write")
    full = Faulty("error", last, number=errno.ENOSPC)
    with injected(full), pytest.raises(OSError, match=r"No space left.*run/trials.jsonl'") as caught:
        fit(data, SMALL, trials=3, out=tmp_path / "run", jobs=1)
    assert caught.value.errno == errno.ENOSPC
    resumed = fit(data, SMALL, trials=3, out=tmp_path / "run", jobs=1)
    assert [replace(one, seconds=0) for one in resumed.records] == [replace(one, seconds=0) for one in whole.records]
