"""The processes: how they start, agree and end together."""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup
    from torch.distributed.distributed_c10d import Store

T = TypeVar("T")
_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
PATIENCE = 1800.0
"""Seconds that a process waits for the others before it gives up."""
_POLL = 0.02


class OtherProcessError(RuntimeError):
    """Another process of this run has failed or is gone; it has said why."""


@contextmanager
def talking() -> Iterator[None]:
    """Turn errors that torch raises in an exchange into one that says that a connection was lost."""
    try:
        yield
    except RuntimeError as error:
        first = (str(error).splitlines() or [""])[0]
        raise OtherProcessError(f"the connection to another process was lost: {first:.200}") from error


def agreed(function: Callable[[], T], *, group: ProcessGroup | None = None) -> T:
    """What a function returns here, unless it fails in some process: then all raise.

    The first process that failed raises its own error, the others an :class:`OtherProcessError`. The function must not
    talk to other processes.
    """
    rank, size = rank_and_size(group)
    failure: Exception | None = None
    made: list[T] = []
    try:
        made.append(function())
    except Exception as error:
        failure = error
    messages: list[str | None] = [None] * size
    with talking():
        dist.all_gather_object(messages, None if failure is None else str(failure), group=group)
    failed = [number for number, one in enumerate(messages) if one is not None]
    if not failed:
        return made[0]
    if failure is not None and rank == failed[0]:
        raise failure
    raise OtherProcessError(f"process {failed[0]} has failed: {messages[failed[0]]}")


def on_first(function: Callable[[], T], *, group: ProcessGroup | None = None) -> T:
    """Call a function in process 0 only; all get what it returns, or raise if it fails there."""
    rank, _ = rank_and_size(group)
    made = agreed(lambda: function() if rank == 0 else None, group=group)
    with talking():
        box = [made]
        dist.broadcast_object_list(box, group_src=0, group=group)
    return box[0]  # type: ignore[return-value]


def is_started_by_torchrun() -> bool:
    """Whether this process is one of those that ``torchrun`` has started.

    Example:
        >>> is_started_by_torchrun()
        False
    """
    return all(name in os.environ for name in _VARIABLES)


@contextmanager
def start(device: str | torch.device = "cpu", *, patience: float = PATIENCE) -> Iterator[torch.device]:
    """Connect this process with the others that ``torchrun`` has started, and disconnect at the end.

    A process that was not started by ``torchrun`` is alone, and all of this room works with it. A process group that
    exists already is used and stays.

    Args:
        device: Where to compute: ``"cpu"`` uses gloo; ``"cuda"`` uses NCCL, and each process of a machine its own GPU.
        patience: Seconds to wait for the others, in each exchange, before giving up.

    Yields:
        The device of this process.

    Example:
        >>> with start() as device:
        ...     rank_and_size()
        (0, 1)
    """
    chosen = torch.device(device)
    if chosen.type == "cuda" and chosen.index is None:
        chosen = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    if dist.is_initialized():
        yield chosen
        return
    backend = "nccl" if chosen.type == "cuda" else "gloo"
    waits = timedelta(seconds=patience)
    if is_started_by_torchrun():
        _connect(backend, waits)
    else:
        alone = torch._C._distributed_c10d.HashStore()
        dist.init_process_group(backend, store=alone, rank=0, world_size=1, timeout=waits)
    try:
        yield chosen
    finally:
        dist.destroy_process_group()


def _connect(backend: str, waits: timedelta) -> None:
    try:
        store, rank, size = next(rendezvous("env://", timeout=waits))
        fresh = PrefixStore(meet(store, rank, size, waits), store)
        dist.init_process_group(backend, store=fresh, rank=rank, world_size=size, timeout=waits)
    except RuntimeError as error:
        where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        first = (str(error).splitlines() or [""])[0]
        raise ConnectionError(
            f"the processes must be able to meet at {where}; they cannot: {first:.200}. Choose another port with "
            "torchrun --master-port, or let it choose one with --standalone."
        ) from error


def meet(store: Store, rank: int, size: int, waits: timedelta) -> str:
    """A name that only the processes of this attempt know, for what they write to the store.

    ``torchrun`` uses one store for all attempts. Without a name of its own, a process that was started again may find
    the addresses of those that are gone, and wait for them. Process 0 chooses the name; it answers each of the others,
    so that none of them takes the name of an earlier attempt.

    Example:
        >>> len(meet(torch._C._distributed_c10d.HashStore(), 0, 1, timedelta(seconds=1)))
        32
    """
    own = uuid.uuid4().hex
    if rank == 0:
        store.set("hypergnn/name", own)
        for other in range(1, size):
            asking = store.get(f"{own}/{other}").decode()  # waits for it
            store.set(f"{own}/{other}/{asking}", "welcome")
        return own
    deadline = time.monotonic() + waits.total_seconds()
    while time.monotonic() < deadline:
        name: str = store.get("hypergnn/name").decode()
        store.set(f"{name}/{rank}", own)
        if store.check([f"{name}/{rank}/{own}"]):
            return name
        time.sleep(_POLL)
    raise dist.DistStoreError(f"process 0 has not answered process {rank}")


def rank_and_size(group: ProcessGroup | None = None) -> tuple[int, int]:
    """The number of this process and the number of processes.

    Raises:
        RuntimeError: If no process group has been started.
    """
    if not dist.is_available() or not dist.is_initialized():
        raise RuntimeError(
            "the processes must be connected first: start them with torchrun and use `with "
            "hypergnn.distributed.start():`, or call torch.distributed.init_process_group."
        )
    return dist.get_rank(group), dist.get_world_size(group)


def sum_gradients(parameters: nn.Module | Iterable[Tensor], *, group: ProcessGroup | None = None) -> None:
    """Add up the gradients of all processes, so that each has the gradient of the sum of their losses.

    Call it between ``backward`` and the step of the optimiser. Do not wrap the network in
    ``DistributedDataParallel`` as well, which takes means.

    Args:
        parameters: A network, or its parameters; the same on all processes.
        group: The process group; all processes if omitted.

    Example:
        >>> layer = nn.Linear(2, 1)
        >>> layer(torch.ones(1, 2)).sum().backward()
        >>> with start():
        ...     sum_gradients(layer)
    """
    tensors = list(parameters.parameters()) if isinstance(parameters, nn.Module) else list(parameters)
    learned = [one for one in tensors if one.requires_grad]
    if not learned:
        return
    for one in learned:
        if one.grad is None:
            one.grad = torch.zeros_like(one)
    flat = torch.cat([one.grad.reshape(-1) for one in learned if one.grad is not None])
    with talking():
        dist.all_reduce(flat, group=group)
    begin = 0
    for one in learned:
        if one.grad is not None:
            one.grad.copy_(flat[begin : begin + one.numel()].view_as(one))
        begin += one.numel()


def sum_of_all(value: Tensor, *, group: ProcessGroup | None = None) -> Tensor:
    """The sum over all processes, entry by entry, without a gradient: for losses and counts to report.

    Example:
        >>> with start():
        ...     sum_of_all(torch.tensor([2.0, 3.0]))
        tensor([2., 3.])
    """
    total = value.detach().clone()
    with talking():
        dist.all_reduce(total, group=group)
    return total


def check_same(what: str, content: str, group: ProcessGroup | None = None) -> None:
    """Raise in all processes unless all have the same content.

    Raises:
        ValueError: If one differs.
    """
    rank, size = rank_and_size(group)
    own = torch.frombuffer(bytearray(hashlib.sha256(content.encode()).digest()), dtype=torch.uint8)
    if dist.get_backend(group) == "nccl":
        own = own.cuda()
    found = [torch.empty_like(own) for _ in range(size)]
    with talking():
        dist.all_gather(found, own, group=group)
    others = [number for number, one in enumerate(found) if not torch.equal(one, found[0])]
    if others:
        listed = ", ".join(map(str, others))
        raise ValueError(
            f"{what} must be the same in all {size} processes; that of process {listed} differs from that of process "
            f"0 (this is process {rank}). Give all processes the same files and arguments."
        )
