"""How processes find each other, also where an earlier attempt has left its addresses."""

import threading
from datetime import timedelta

import pytest
from torch import distributed as dist
from torch.distributed import HashStore

from hypergnn.distributed import groups


def met(store, ranks):
    """The names that processes of these numbers agree on, started in this order."""
    found = {}

    def join(rank):
        found[rank] = groups.meet(store, rank, len(ranks), timedelta(seconds=20))

    threads = [threading.Thread(target=join, args=(rank,)) for rank in ranks]
    for thread in threads:
        thread.start()
        thread.join(0.1)  # the next one comes later
    for thread in threads:
        thread.join(30)
    return found


@pytest.mark.parametrize("ranks", [(0, 1, 2), (2, 1, 0)])
def test_all_processes_agree_on_a_name(ranks):
    found = met(HashStore(), ranks)
    assert sorted(found) == [0, 1, 2]
    assert len(set(found.values())) == 1


def test_processes_that_are_started_again_do_not_use_the_name_of_those_that_are_gone():
    store, names = HashStore(), set()
    for _ in range(3):
        found = met(store, (1, 0))  # process 1 finds the name of the last attempt first
        assert found[0] == found[1]
        names.add(found[0])
    assert len(names) == 3


def test_a_process_whose_process_0_is_gone_gives_up():
    store = HashStore()
    met(store, (0, 1))
    with pytest.raises(dist.DistStoreError, match="process 0 has not answered process 1"):
        groups.meet(store, 1, 2, timedelta(seconds=0.2))
