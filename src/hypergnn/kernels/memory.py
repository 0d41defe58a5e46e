"""The memory of the kernels, for rooms that train: how much they hold at most, and that it is needed again soon."""

from hypergnn.kernels.cpu.buffers import ROOM, reused_buffers, trust_c_library

__all__ = ["ROOM", "reused_buffers", "trust_c_library"]
