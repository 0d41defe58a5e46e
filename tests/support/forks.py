"""Functions run in a forked process, for which nobody waits for ever.

Not ``multiprocessing.Pool``: its threads and locks can deadlock when it ends. Not an unbounded ``recv``: it waits for
ever for a child that died while another process holds a copy of its end of the pipe.
"""

import multiprocessing
from collections.abc import Callable
from typing import Any

LIMIT = 60
"""Seconds that a child may take."""


def in_a_fork(function: Callable[[], Any]) -> Any:
    """What a function returns in a forked child; an error if it takes more than a minute or dies."""
    near, far = multiprocessing.Pipe(duplex=False)

    def send() -> None:
        far.send(function())

    child = multiprocessing.get_context("fork").Process(target=send, daemon=True)
    child.start()
    far.close()
    try:
        assert near.poll(LIMIT), "the child neither answers nor ends"
        return near.recv()
    finally:
        near.close()
        child.join(LIMIT)
        child.kill()
        child.join()
