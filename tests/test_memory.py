"""Memory that the kernels lend."""

import gc
import multiprocessing

import pytest
import torch

from hypergnn.kernels import memory

MANY = memory.LARGE // 4  # single-precision numbers that are large together

pytestmark = pytest.mark.skipif(not memory._LENDS, reason="the system does not lend memory")


@pytest.fixture(autouse=True)
def nothing_idle(monkeypatch):
    monkeypatch.setattr(memory, "_idle", [])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32])
@pytest.mark.parametrize("shape", [(3, 0), (5, 7), (2, 3, MANY // 5)])
def test_tensors_of_any_size_begin_where_memory_is_fetched(shape, dtype):
    tensor = memory.empty(shape, dtype)
    assert tensor.shape == shape
    assert tensor.dtype == dtype
    assert tensor.data_ptr() % 64 == 0
    assert tensor.fill_(3).eq(3).all()


def test_memory_is_lent_again_when_nobody_looks_at_it():
    first = memory.empty((2 * MANY,), torch.float32)
    place, view = first.data_ptr(), first.view(2, -1)[1]
    view.fill_(7)
    del first
    gc.collect()
    second = memory.empty((2 * MANY,), torch.float32)
    assert second.data_ptr() != place
    assert view.eq(7).all()
    del view
    gc.collect()
    assert memory.empty((2 * MANY - 100,), torch.float32).data_ptr() == place


def test_what_is_idle_makes_room_for_what_is_new():
    blocks = [memory.empty((MANY,), torch.float32) for _ in range(4)]
    del blocks
    gc.collect()
    assert len(memory._idle) == 4
    larger = memory.empty((3 * MANY,), torch.float32)
    assert larger.shape == (3 * MANY,)
    assert len(memory._idle) == 1


def test_a_fork_takes_nothing_idle_with_it():
    block = memory.empty((MANY,), torch.float32)
    del block
    gc.collect()
    assert len(memory._idle) == 1
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(_how_many_are_idle) == 0
    assert len(memory._idle) == 1


def _how_many_are_idle():
    return len(memory._idle)
