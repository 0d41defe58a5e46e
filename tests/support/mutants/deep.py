"""Mutants of deep networks, random propagation, diffusion and ensembles."""

from support.mutation import Mutant
from support.places import argument, choice, factor, nth, result, statement, value

DEEP = "models/test_deep_networks.py"
EQUATION = f"{DEEP}::test_equal_to_the_equation_over_dense_matrices"
RANDOM = "models/test_random_propagation.py"
LOOP = f"{RANDOM}::test_the_engine_trains_as_a_plain_loop_does"
CONSENSUS = f"{RANDOM}::test_the_consensus_is_sharpened_and_is_no_variable"
DIFFUSION = "layers/test_families.py::test_diffusion_is_its_equation"
MEMBERS = "models/test_ensembles.py::test_probabilities_are_averaged"

MUTANTS = [
    Mutant("initial residual forgotten", "hypergnn.models.residual:_mixed", argument("add_", 0), "0 * start", EQUATION),
    Mutant(
        "identity mapping of the next layer",
        "hypergnn.models.residual:build",
        argument("enumerate", 1),
        "2",
        EQUATION,
    ),
    Mutant(
        "recomputed with other dropout",
        "hypergnn.kernels.dropout:_resumed",
        value("again.number"),
        "number + 1",
        f"{DEEP}::test_recomputed_activations_give_the_same_trials",
    ),
    Mutant(
        "one penalty for all layers",
        "hypergnn.models.network:Network.decays",
        nth(choice(), 0),
        "config.weight_decay",
        f"{DEEP}::test_the_layers_between_have_a_penalty_of_their_own",
    ),
    Mutant(
        "rows after the last layer dropped by their numbers in the block",
        "hypergnn.training.plan:_places",
        nth(statement("places", "made"), 0),
        "pass",
        f"{DEEP}::test_dropout_on_blocks_is_that_on_the_whole",
    ),
    Mutant("powers not averaged", "hypergnn.models.random_propagation:mean_of_powers", result(), "total", LOOP),
    Mutant(
        "mask rescaled", "hypergnn.models.random_propagation:_masked", result(), "x * dropout(ones, rate, of)", LOOP
    ),
    Mutant(
        "the other of a pair of draws keeps the same rows",
        "hypergnn.models.random_propagation:draws",
        argument("_normalized_scores", 1),
        "propagated",
        f"{RANDOM}::test_draws_are_normalised_and_come_in_pairs_that_drop_each_others_rows",
    ),
    Mutant(
        "running means not updated",
        "hypergnn.models.batch_norm:BatchNorm._update",
        argument("add_", 0),
        "0.0",
        f"{RANDOM}::test_batch_normalisation_is_that_of_torch",
    ),
    Mutant(
        "running means not divided by the share of data",
        "hypergnn.models.batch_norm:BatchNorm.running",
        value("share", "is_new"),
        "torch.ones_like(share)",
        f"{RANDOM}::test_running_means_are_those_of_the_data_from_the_first_step_on",
    ),
    Mutant(
        "gradient of a block without its dropout",
        "hypergnn.models.batch_norm:_Product.backward",
        value("change"),
        "matmul(come, back)",
        f"{RANDOM}::test_a_product_of_blocks_is_that_of_the_whole",
    ),
    Mutant("consensus not sharpened", "hypergnn.training.losses:disagreement", argument("pow", 0), "1", CONSENSUS),
    Mutant(
        "gradient into the consensus",
        "hypergnn.training.losses:disagreement",
        argument("sum_of", 0, "detach"),
        "shares",
        CONSENSUS,
    ),
    Mutant(
        "weights of hyperedges forgotten",
        "hypergnn.functional.means:vertex_mean",
        argument("segment_sum", 0),
        "u",
        DIFFUSION,
    ),
    Mutant(
        "sums instead of means in hyperedges",
        "hypergnn.functional.means:hyperedge_mean",
        factor("size"),
        "1",
        DIFFUSION,
    ),
    Mutant(
        "own features forgotten",
        "hypergnn.layers.diffusion:HypergraphDiffusion._linear",
        result(),
        "diffused",
        DIFFUSION,
    ),
    Mutant(
        "scores averaged, not probabilities",
        "hypergnn.models.ensemble:mean_score",
        nth(result(), 1),
        "scores.mean(0)",
        MEMBERS,
    ),
]
