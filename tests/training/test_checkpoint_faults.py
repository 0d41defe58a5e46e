"""Checkpoints of sampled training under faults and damage: the old one, the new one, or a trial from its beginning."""

import json
import math
import shutil
import sys
from contextlib import suppress

import pytest
import torch
from support.faults import DeathError, Faulty, injected, points

import hypergnn as hg
from hypergnn.persistence import tensor_files
from hypergnn.training import fit
from hypergnn.training.checkpoints import Checkpoints, Moment

CONFIG = hg.Config(hidden=4, heads=2, max_epochs=2, dropout=0.3, batch_size=100, fanout=((3, 4), (3, 4)))


@pytest.fixture(scope="module")
def data():
    return hg.datasets.load("digits")


class StoppedError(Exception):
    """The process is gone."""


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """The record of an undisturbed run, and what its checkpoint holds after the third batch."""
    out, write, moments = tmp_path_factory.mktemp("runs"), Checkpoints.write, []

    def stop(self, seed, moment):
        write(self, seed, moment)
        moments.append(moment)
        if len(moments) == 3:
            raise StoppedError

    with pytest.MonkeyPatch.context() as patch, suppress(StoppedError):
        patch.setattr(Checkpoints, "write", stop)
        fit(data, CONFIG, out=out / "part", checkpoint_every=1)
    content = tensor_files.read(out / "part" / "checkpoint-0.safetensors", "Checkpoint", 1)
    return fit(data, CONFIG, out=out / "whole").records[0], content, out / "part"


HOSTILE_CHECKPOINTS = {
    "no numbers": lambda numbers, _: numbers.clear(),
    "no epoch": lambda numbers, _: numbers.pop("epoch"),
    "no best loss": lambda numbers, _: numbers.pop("best_loss"),
    "no losses": lambda numbers, _: numbers.update(curves={"train_loss": [], "val_loss": []}),
    "no losses of validation": lambda numbers, _: numbers["curves"].update(val_loss=[]),
    "an epoch of text": lambda numbers, _: numbers.update(epoch="1"),
    "a huge epoch": lambda numbers, _: numbers.update(epoch=10**30),
    "a batch before the first": lambda numbers, _: numbers.update(number=-1),
    "a loss that is no number": lambda numbers, _: numbers.update(total=math.nan),
    "losses of other epochs": lambda numbers, _: numbers.update(curves={"train_loss": [1.0] * 99, "val_loss": []}),
    "losses of text": lambda numbers, _: numbers.update(curves={"train_loss": "x", "val_loss": []}),
    "steps as a list": lambda numbers, _: numbers.update(steps=[]),
    "no parameters": lambda _, tensors: tensors.clear(),
    "a parameter that would be repeated": lambda _, tensors: tensors.update(
        {name: one.flatten()[:1].clone() for name, one in tensors.items()}
    ),
    "parameters of another type": lambda _, tensors: tensors.update(
        {name: one.double() for name, one in tensors.items()}
    ),
    "parameters that are no numbers": lambda _, tensors: next(iter(tensors.values())).fill_(math.nan),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*HOSTILE_CHECKPOINTS, None])
def test_a_checkpoint_that_does_not_fit_starts_the_trial_again(name, data, whole, tmp_path, caplog, tally):
    expected, content, part = whole
    out = shutil.copytree(part, tmp_path / "run")
    numbers = json.loads(json.dumps(content.header["numbers"]))
    tensors = {key: one.clone() for key, one in content.tensors.items()}
    if name is not None:
        HOSTILE_CHECKPOINTS[name](numbers, tensors)
    tensor_files.write(out / "checkpoint-0.safetensors", "Checkpoint", 1, {"numbers": numbers}, tensors)
    again = fit(data, CONFIG, out=out, checkpoint_every=1000).records[0]
    assert ("from its beginning" in caplog.text) == (name is not None)
    assert (again.test_accuracy, again.val_loss) == (expected.test_accuracy, expected.val_loss)
    tally("hostile files: checkpoint")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the injector needs /proc")
@pytest.mark.parametrize("fault", ["error", "kill", "power"])
def test_a_checkpoint_is_the_old_or_the_new_one(fault, tmp_path, tally):
    root, after = tmp_path / "root", tmp_path / "after"
    root.mkdir()
    own = Checkpoints(root, every=1)
    old, new = (Moment({"epoch": epoch}, {"weight": torch.full((3,), float(epoch))}) for epoch in (1, 2))
    for at, part in points(lambda: own.write(0, new), most=80):
        own.write(0, old)
        faulty = Faulty(fault, at, part)
        faulty.disk.start_with(root)
        with injected(faulty), suppress(OSError, DeathError):
            own.write(0, new)
        if fault == "power":
            faulty.disk.restore(root, after)
        found = Checkpoints(after if fault == "power" else root, every=1).read(0)
        assert found is not None
        assert found.tensors["weight"].tolist() == [float(found.numbers["epoch"])] * 3
        tally({"error": "failing calls", "kill": "kills", "power": "power cuts"}[fault] + ": checkpoint")


def test_every_damaged_byte_of_a_checkpoint_is_refused_or_harmless(tmp_path, tally):
    own = Checkpoints(tmp_path, every=1)
    own.write(0, Moment({"epoch": 1}, {"weight": torch.ones(3)}))
    content = own.path(0).read_bytes()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        own.path(0).unlink()
        own.path(0).write_bytes(damaged)
        found = own.read(0)
        assert found is None or (found.numbers == {"epoch": 1} and found.tensors["weight"].tolist() == [1.0] * 3)
        tally("corrupt bytes: checkpoint")
