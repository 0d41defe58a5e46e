"""What rooms that train may say about the memory of the kernels: that buffers are needed again soon, and by how much."""

from hypergnn.kernels.cpu.buffers import ROOM, reused_buffers, trust_c_library

__all__ = ["ROOM", "reused_buffers", "trust_c_library"]
