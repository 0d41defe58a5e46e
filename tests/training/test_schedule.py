"""A schedule trains every seed once, whatever workers do, and gives up only on seeds that lose them again and again."""

import random

import pytest

from hypergnn.training.schedule import MOST_LOSSES, Failure, Loss, Schedule

KILLED = Loss("was killed", -9)


def simulate(batches, deadly, jobs=2, chance=None):
    """Train with workers that die of some seeds, or by chance: the finished seeds, the failures and the losses."""
    schedule, busy, finished, failures, losses = Schedule(batches), [], [], [], 0
    while True:
        while len(busy) < jobs and (batch := schedule.next_batch(alone=not busy)):
            busy.append(batch)
        if not busy:
            return finished, failures, losses
        batch = busy.pop(0)
        fatal = [place for place, seed in enumerate(batch) if seed in deadly]
        if chance is not None and chance.random() < 0.3:
            fatal.append(chance.randrange(len(batch)))
        if fatal:
            for seed in batch[: min(fatal)]:
                finished.append(seed)
                schedule.gain()
            failures += schedule.lose(batch[min(fatal) :], KILLED)
            losses += 1
        else:
            for seed in batch:
                finished.append(seed)
                schedule.gain()


@pytest.mark.parametrize("jobs", [1, 2, 5])
@pytest.mark.parametrize("deadly", [set(), {0}, {7}, {3, 19}, {0, 1, 2, 3}])
def test_only_deadly_seeds_fail_and_all_others_finish_once(deadly, jobs):
    batches = [list(range(start, start + 8)) for start in (0, 8, 16)]
    finished, failures, losses = simulate(batches, deadly, jobs)
    assert sorted(finished) == [seed for seed in range(24) if seed not in deadly]
    assert sorted(failure.seed for failure in failures) == sorted(deadly)
    assert all(failure == Failure(failure.seed, "was killed", -9) for failure in failures)
    assert losses <= 5 * len(deadly), "a deadly seed in a batch of eight costs three halvings and two chances alone"


@pytest.mark.parametrize("seed", range(20))
def test_workers_that_die_by_chance_repeat_nothing(seed):
    finished, failures, _ = simulate([[0, 1, 2, 3], [4, 5], [6, 7, 8]], set(), chance=random.Random(seed))
    assert sorted([*finished, *(one.seed for one in failures)]) == list(range(9))


def test_a_second_chance_comes_last_and_alone():
    schedule = Schedule([[0], [1], [2]])
    assert schedule.next_batch(alone=True) == [0]
    assert schedule.lose([0], KILLED) == []
    assert schedule.next_batch(alone=True) == [1]
    assert schedule.next_batch(alone=False) == [2]
    assert schedule.next_batch(alone=False) == []
    assert schedule.next_batch(alone=True) == [0]
    assert schedule.lose([0], KILLED) == [Failure(0, "was killed", -9)]
    assert schedule.next_batch(alone=True) == []


def test_a_run_in_which_every_worker_dies_ends():
    finished, failures, losses = simulate([list(range(start, start + 32)) for start in (0, 32)], set(range(64)))
    assert not finished
    assert sorted(failure.seed for failure in failures) == list(range(64))
    assert losses <= MOST_LOSSES + 2


def test_a_batch_that_nobody_took_comes_back_first():
    schedule = Schedule([[0, 1], [2]])
    schedule.put_back(schedule.next_batch(alone=True))
    assert schedule.next_batch(alone=True) == [0, 1]


def test_losses_between_which_trials_finish_are_not_in_a_row():
    schedule = Schedule([[seed, seed + 1] for seed in range(0, 100, 2)])
    for _ in range(2 * MOST_LOSSES):
        _, second = schedule.next_batch(alone=True)
        schedule.gain()
        assert schedule.lose([second], KILLED) == []
    assert schedule.next_batch(alone=True) == [96, 97]
