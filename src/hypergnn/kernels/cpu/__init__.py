"""The compiled backend: each step beside the loops that numba compiles for it."""
