"""Mutants of operators of one's own, of hyperedges that follow the features, and of features of hyperedges."""

from support.mutation import Mutant
from support.places import argument, call, condition, value

OWN = "layers/test_own_operators.py"
DYNAMIC = "layers/test_dynamic.py"

MUTANTS = [
    Mutant(
        "information that is negative stays",
        "hypergnn.functional.mutual_information:_positive_information",
        argument("clip", "min"),
        "-9.0",
        "functional/test_co_occurrence.py::test_inner_products_are_the_leading_part_of_the_mutual_information",
    ),
    Mutant(
        "trials that leave take the hyperedges of others along",
        "hypergnn.layers.dynamic:Followed.of_trials",
        value("each"),
        "self.each[: len(numbers)]",
        "training/test_open_points.py::test_trials_that_leave_take_their_hyperedges_along",
    ),
    Mutant(
        "messages not divided by the size of the hyperedge",
        "hypergnn.functional.steps:to_hyperedges",
        condition("mean"),
        "True",
        f"{OWN}::test_steps_reduce",
    ),
    Mutant(
        "messages of a shard from the members of one process",
        "hypergnn.functional.steps:to_hyperedges",
        value("gathered"),
        "own",
        f"{OWN}::test_steps_add_up_the_sums_of_all_processes",
    ),
    Mutant(
        "a shard propagated without the other processes",
        "hypergnn.functional.steps:propagate",
        argument("transition", "parts"),
        "None",
        f"{OWN}::test_steps_add_up_the_sums_of_all_processes",
    ),
    Mutant(
        "attention of receivers over the pairs of senders",
        "hypergnn.functional.steps:softmax_over_hyperedges",
        argument("attend", 2),
        "H.senders",
        f"{OWN}::test_attention_of_both_kinds",
    ),
    Mutant(
        "products of receivers over the pairs of senders",
        "hypergnn.functional.steps:pair_product",
        value("pairs"),
        "H.senders",
        f"{OWN}::test_products_of_both_ends_of_an_incidence",
    ),
    Mutant(
        "a row is not nearest to itself",
        "hypergnn.functional.near_rows:nearest_rows",
        value("chosen"),
        "min(k, rows.shape[0])",
        f"{DYNAMIC}::test_the_nearest_rows_are_those_of_a_literal_search",
    ),
    Mutant(
        "all trials follow the first",
        "hypergnn.layers.dynamic:DynamicHypergraphConv.follow",
        call("map"),
        "[follow(x[0])] * len(x)",
        f"{DYNAMIC}::test_each_trial_has_hyperedges_of_its_own",
    ),
]
