"""Which task computes which block: labels that Spark's own hash partitioning sends where they belong."""

from __future__ import annotations

_MASK = 0xFFFFFFFF
_SEED = 42
LEAST = 2
"""Number of blocks at least: Spark would not keep a single one, but shuffle it into 200 partitions."""


def labels(n_blocks: int) -> list[int]:
    """A label for each block, so that ``repartition(n_blocks, label)`` puts each block into a partition of its own.

    Consecutive numbers would not do: their hashes collide, and one task would get two blocks while another gets none.

    Example:
        >>> [spark_hash(label) % 4 for label in labels(4)]
        [0, 1, 2, 3]
    """
    found: dict[int, int] = {}
    label = 0
    while len(found) < n_blocks:
        found.setdefault(spark_hash(label) % n_blocks, label)
        label += 1
    return [found[block] for block in range(n_blocks)]


def spark_hash(value: int) -> int:
    """Spark's ``hash`` of an ``int`` that is not negative: Murmur3 with the seed 42, as a signed number.

    Example:
        >>> spark_hash(0)
        933211791
    """
    mixed = _rotated(value * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    state = (_rotated(_SEED ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    state ^= 4  # the number of bytes
    state = (state ^ state >> 16) * 0x85EBCA6B & _MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & _MASK
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> (32 - by)) & _MASK


def n_blocks_for(n_incidences: int, parallelism: int) -> int:
    """How many blocks: one per task that runs at the same time, but none too small or too large.

    Fewer blocks let fewer sums cross; more blocks need less memory each.

    Example:
        >>> n_blocks_for(1000, 8), n_blocks_for(10_000_000, 2), n_blocks_for(10**9, 2)
        (2, 2, 120)
    """
    least_size, largest_size = 1 << 16, 1 << 23
    wanted = min(parallelism, -(-n_incidences // least_size))
    return max(LEAST, wanted, -(-n_incidences // largest_size))
