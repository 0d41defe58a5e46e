"""Mutants of networks, and of the dropout that they draw."""

from support.mutation import Mutant
from support.places import argument, call, choice, condition, nth, result, statement

TESTS = "models/test_networks.py"
DROPOUT = f"{TESTS}::test_features_are_dropped_before_each_layer_in_training_only"
HOOKS = f"{TESTS}::test_hooks_see_what_a_layer_gets_and_returns"
PART = "training/test_plan.py::test_a_part_gives_the_losses_and_gradients_of_the_whole"

MUTANTS = [
    Mutant("hooks bypassed", "hypergnn.models.own_layers:has_hooks", result(), "False", HOOKS),
    Mutant(
        "no activation where hooks look",
        "hypergnn.models:Network._scores",
        call("elu"),
        "layer(x, *structures)",
        HOOKS,
    ),
    Mutant(
        "bias forgotten where the product is known",
        "hypergnn.models:Network._scores",
        argument("activate", 1, "linear"),
        "None",
        PART,
    ),
    Mutant(
        "skip connection forgotten where the product is known",
        "hypergnn.models:Network._scores",
        call("_aggregated"),
        "project(known, layer.projection)",
        PART,
    ),
    Mutant("hidden features not dropped", "hypergnn.models:Network._scores", choice("is_last"), "(0.0, None)", DROPOUT),
    Mutant("input not dropped", "hypergnn.models:Network._scores", argument("drop", 1), "0.0", DROPOUT),
    Mutant(
        "features dropped in evaluation",
        "hypergnn.models:Network._scores",
        nth(condition("training"), 0),
        "True",
        DROPOUT,
    ),
    Mutant(
        "seeded dropout forgotten after the activation",
        "hypergnn.kernels.dropout:activate",
        argument("activated", 2),
        "None",
        DROPOUT,
    ),
    Mutant(
        "dropout forgotten after the activation",
        "hypergnn.kernels.dropout:activate",
        argument("dropout", 1),
        "0.0",
        DROPOUT,
    ),
    Mutant(
        "places in the whole ignored by dropout",
        "hypergnn.kernels.dropout:draw",
        argument("Dropout", 2),
        "None",
        PART,
    ),
    Mutant(
        "seeds remembered beyond their block",
        "hypergnn.kernels.dropout:seeded",
        statement("reset"),
        "pass",
        "kernels/test_dropout.py::test_outside_the_block_dropout_is_that_of_torch",
    ),
    Mutant(
        "stored features not dropped",
        "hypergnn.functional:drop",
        result("keys"),
        "x",
        "training/test_plan.py::test_rows_of_rows_and_of_dropped_features",
    ),
]
