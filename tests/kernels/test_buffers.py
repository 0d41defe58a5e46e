"""Pooled memory of the kernels."""

import gc
import io
import mmap

import pytest
import torch
from support.forks import in_a_fork

from hypergnn import Hypergraph, functional
from hypergnn.kernels.cpu import buffers

MANY = buffers.KEPT_LARGE // 4  # single-precision numbers that are large together

lends = pytest.mark.skipif(not buffers._POOLS, reason="the system does not lend memory")


@pytest.fixture(autouse=True)
def nothing_idle():
    gc.collect()
    buffers.release()


@pytest.fixture
def asked(monkeypatch):
    """The sizes of the blocks requested from the system; none may be offered back, since all are reused at once."""
    sizes = []

    class Counted(mmap.mmap):
        def __new__(cls, number, size, **options):
            sizes.append(size)
            return super().__new__(cls, number, size, **options)

        def madvise(self, advice):
            assert advice != mmap.MADV_FREE, "offering memory that is reused at once costs more than using it"

    monkeypatch.setattr(mmap, "mmap", Counted)
    return sizes


def how_many_are_idle():
    gc.collect()
    buffers._collect()
    return len(buffers._idle)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32])
@pytest.mark.parametrize("shape", [(3, 0), (5, 7), (2, 3, MANY // 5)])
@pytest.mark.parametrize("lends", [True, False])
def test_tensors_of_any_size_begin_where_memory_is_fetched(monkeypatch, lends, shape, dtype):
    monkeypatch.setattr(buffers, "_POOLS", buffers._POOLS and lends)
    with torch.device("meta"):  # the default device must not matter
        tensor = buffers.empty(shape, dtype)
    assert tensor.shape == shape
    assert tensor.dtype == dtype
    assert tensor.data_ptr() % 64 == 0
    assert tensor.fill_(3).eq(3).all()


@pytest.mark.slow
@lends
@pytest.mark.parametrize("look", [lambda x: x.view(2, -1)[1], lambda x: x.numpy()[7:], lambda x: x.detach()])
def test_memory_is_reused_when_nobody_looks_at_it(look):
    first = buffers.empty((2 * MANY,), torch.float32)
    place, view = first.data_ptr(), look(first.fill_(7))
    del first
    gc.collect()
    second = buffers.empty((2 * MANY,), torch.float32)
    assert second.data_ptr() != place
    second.fill_(0)
    assert (view == 7).all()
    del view
    gc.collect()
    again, other = (buffers.empty((2 * MANY - 100,), torch.float32) for _ in range(2))
    assert again.data_ptr() == place
    assert other.data_ptr() != place


@lends
def test_what_is_idle_makes_room_for_what_is_new():
    blocks = [buffers.empty((MANY,), torch.float32) for _ in range(4)]
    del blocks
    assert how_many_are_idle() == 4
    larger = buffers.empty((4 * MANY,), torch.float32)  # with the idle block, twice as much as was ever in use
    assert larger.shape == (4 * MANY,)
    assert how_many_are_idle() == 2
    with buffers.reused_buffers():
        pass
    assert how_many_are_idle() == 0


@lends
def test_a_repeated_training_step_requests_no_new_memory(asked):
    def step():
        for wide, narrow in ((5, 3), (2, 4)):
            x = [buffers.empty((size * MANY,), torch.float32) for size in (wide, narrow, wide)]
            x[1] = buffers.empty((wide * MANY,), torch.float32)
            del x

    with buffers.reused_buffers():
        step()
        n_asked = len(asked)
        for _ in range(3):
            step()
    assert 0 < len(asked) == n_asked
    assert how_many_are_idle() == 0


@lends
def test_idle_memory_is_offered_to_the_system_afterwards(monkeypatch):
    offered = []
    monkeypatch.setattr(buffers, "_advise", lambda _, name: offered.append(name))
    monkeypatch.setattr(buffers, "SPARE", 4 * MANY)

    def fail():
        with buffers.reused_buffers(), buffers.reused_buffers():
            buffers.empty((MANY,), torch.float32)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    gc.collect()
    buffers.empty((MANY,), torch.float32)
    assert how_many_are_idle() == 1
    assert offered.count("MADV_FREE") == 0
    buffers.empty((2 * MANY,), torch.float32)  # more than may stay idle without an offer
    assert how_many_are_idle() == 2
    assert offered.count("MADV_FREE") == 1


@lends
def test_the_next_forward_pass_reuses_the_memory(asked):
    H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 2999]], n_vertices=3000)
    x = torch.rand(3000, 64)
    for _ in range(10):
        functional.hypergraph_conv(x, H)
    assert set(asked) == {x.nbytes}
    assert len(asked) <= 2


@lends
def test_idle_memory_is_freed_before_an_allocation_fails(monkeypatch):
    block = buffers.empty((MANY,), torch.float32)
    del block
    assert how_many_are_idle() == 1

    class Short(mmap.mmap):
        def __new__(cls, number, size, **options):
            if buffers._idle:
                raise OSError(12, "Cannot allocate memory")
            return super().__new__(cls, number, size, **options)

    monkeypatch.setattr(mmap, "mmap", Short)
    assert buffers.empty((3 * MANY,), torch.float32).shape == (3 * MANY,)


@lends
def test_a_tensor_does_not_show_earlier_content():
    before = buffers.empty((5 * MANY,), torch.float32).fill_(42)
    del before
    tensor = buffers.empty((4 * MANY,), torch.float32).zero_()
    assert tensor.untyped_storage().nbytes() == tensor.nbytes
    file = io.BytesIO()
    torch.save(tensor, file)
    assert torch.tensor(42.0).numpy().tobytes() * 100 not in file.getvalue()


def test_large_results_may_be_changed_in_place():
    H = Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=20_000)
    x = torch.rand(20_000, 64, requires_grad=True)
    torch.relu_(functional.hypergraph_conv(x, H)).sum().backward()
    assert x.grad is not None
    assert x.grad[:3].ne(0).all()


@lends
def test_advice_may_fail_but_allocation_may_not(monkeypatch):
    class Deaf(mmap.mmap):
        def madvise(self, *_):
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr(mmap, "mmap", Deaf)
    place = buffers.empty((MANY,), torch.float32).data_ptr()
    gc.collect()
    assert buffers.empty((MANY,), torch.float32).data_ptr() == place
    with pytest.raises(MemoryError, match="The system has no"):
        buffers.empty((1 << 50,), torch.float32)


@lends
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_inherits_no_idle_memory():
    block = buffers.empty((MANY,), torch.float32)
    del block
    assert how_many_are_idle() == 1
    assert in_a_fork(how_many_are_idle) == 0
    assert how_many_are_idle() == 1
