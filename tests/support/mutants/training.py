"""Mutants of training."""

from support.mutation import Mutant
from support.places import argument

MUTANTS = [
    Mutant(
        "labels left behind in another order",
        "hypergnn.training:near_together",
        argument("replace", "y"),
        "data.y",
        "training/test_training.py::test_in_another_order_the_same_is_learned",
    ),
]
