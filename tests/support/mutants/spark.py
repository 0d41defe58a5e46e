"""Mutants of what Spark's executors compute."""

from support.mutation import Mutant
from support.places import argument, call, condition, factor, name, value

PROGRAMS = "spark/test_spark_programs.py"
PROPAGATES = f"{PROGRAMS}::test_blocks_propagate_what_the_whole_does"
SCORES = f"{PROGRAMS}::test_blocks_score_what_the_network_does"

MUTANTS = [
    Mutant(
        "no weights at the hyperedges of Spark",
        "hypergnn.spark.programs:middle",
        factor("weight"),
        "np.ones(block.n)",
        PROPAGATES,
    ),
    Mutant(
        "senders on Spark are not scaled",
        "hypergnn.spark.programs:right",
        call("inverse"),
        "None",
        PROPAGATES,
    ),
    Mutant(
        "degrees on Spark count hyperedges",
        "hypergnn.spark.building:_vertex_block",
        value("degree", "bincount"),
        "np.bincount(vertex.codes, minlength=n_own).astype(float)",
        PROPAGATES,
    ),
    Mutant(
        "members of a hub are not counted",
        "hypergnn.spark.building:HyperedgeSide._block",
        argument("at", 2),
        "0",
        PROPAGATES,
    ),
    Mutant(
        "blocks depend on the order of their pairs",
        "hypergnn.spark.building:Coded.of",
        value("order"),
        "np.arange(len(found))",
        f"{PROGRAMS}::test_a_block_is_the_same_whatever_order_its_pairs_come_in",
    ),
    Mutant(
        "long sums on Spark in one go",
        "hypergnn.spark.blocks:segment_sums",
        condition("long"),
        "True",
        f"{PROGRAMS}::test_long_sums_in_single_precision_keep_their_digits",
    ),
    Mutant(
        "attention on Spark without the degrees of the hyperedges",
        "hypergnn.spark.programs:Inference.combine",
        call("inverse", "size"),
        "1.0 + 0 * size",
        SCORES,
    ),
    Mutant(
        "isolated vertices come first on Spark",
        "hypergnn.spark.hops:arranged",
        name("block.n"),
        "0",
        f"{PROGRAMS}::test_features_come_in_the_order_of_the_block_and_isolated_vertices_last",
    ),
]
