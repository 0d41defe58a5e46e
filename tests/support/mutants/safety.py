"""Mutants of what guards the kernels: checks of pairs and arguments, of changes in place, and of cached kernels."""

from support.mutation import Mutant
from support.places import call, condition, result, value

SOUND = "structures/test_soundness.py"
UNSOUND = f"{SOUND}::test_pairs_that_are_not_sound_are_refused_by_every_step"
HOSTILE = "persistence/test_hostile_estimators.py"
SMALL = "functional/test_small_degrees.py"

MUTANTS = [
    Mutant(
        "ids out of range admitted", "hypergnn._utils.pairs:check_range", condition("low", "high"), "False", UNSOUND
    ),
    Mutant("repeated ids admitted", "hypergnn._utils.pairs:check_order", condition("ascends"), "False", UNSOUND),
    Mutant("orders not compared", "hypergnn._utils.pairs:check_both_orders", condition("is_in_row"), "False", UNSOUND),
    Mutant(
        "ids changed in place unnoticed",
        "hypergnn.kernels:_known",
        condition("changes", "back_position"),
        "True",
        f"{SOUND}::test_ids_that_were_changed_in_place_are_noticed",
    ),
    Mutant(
        "tensors changed in place unnoticed",
        "hypergnn.structures:Structure.__post_init__",
        value("tensors"),
        "()",
        f"{SOUND}::test_tensors_that_were_changed_in_place_are_noticed",
    ),
    Mutant(
        "shares without weights",
        "hypergnn.functional:shares_over_vertices",
        call("log", "weight"),
        "H.weight * 0",
        f"{SMALL}::test_the_layer_in_double_precision_is_the_equation",
    ),
    Mutant(
        "attention not divided by the largest of its row",
        "hypergnn.functional:_reciprocal",
        result(),
        "torch.ones_like(largest)",
        f"{SMALL}::test_a_factor_of_the_incidence_changes_nothing",
    ),
    Mutant(
        "features of trees beyond the rows",
        "hypergnn.persistence.compiled_state:_check_features",
        condition("n_features"),
        "False",
        f"{HOSTILE}::test_what_compiled_code_would_read_is_checked",
    ),
    Mutant(
        "a replaced file taken for the pickled one",
        "hypergnn.persistence.files:check_identity",
        condition("known"),
        "False",
        "loader/test_neighbors.py::test_a_file_that_was_replaced_is_not_taken_for_the_one_that_was_pickled",
    ),
    Mutant(
        "checksum of a kernel not compared",
        "hypergnn.kernels.cpu.cache:KernelFiles.load",
        condition("checksum"),
        "form != _FORM",
        "kernels/test_kernel_cache.py::test_a_file_of_another_kernel_is_not_taken_for_it",
    ),
]
