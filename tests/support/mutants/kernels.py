"""Mutants of the steps that are plain torch: what the fused operators mean, their gradients, and dropout."""

from support.mutation import Mutant
from support.places import argument, call, element, index, name, result, value, within

TESTS = "kernels/test_kernels.py"
ATTEND = f"{TESTS}::test_attention_is_a_softmax_of_leaky_sums_with_exact_gradients"
SOFTMAX = f"{TESTS}::test_softmax_equals_dense_softmax_forward_and_backward"
SUM_GRADIENTS = f"{TESTS}::test_gradients_of_sums_are_exact_twice"
DRAWS = "kernels/test_dropout.py::test_seeds_epochs_layers_and_positions_are_independent"

MUTANTS = [
    Mutant(
        "softmax over everything",
        "hypergnn.kernels.composed:attend",
        call("segment_softmax"),
        "leaky_relu(scores, slope).softmax(1)",
        ATTEND,
    ),
    Mutant(
        "softmax over nothing",
        "hypergnn.kernels.composed:attend",
        call("segment_softmax"),
        "torch.ones_like(scores)",
        ATTEND,
    ),
    Mutant("no LeakyReLU", "hypergnn.kernels.composed:attend", call("leaky_relu"), "scores", ATTEND),
    Mutant("slope ignored", "hypergnn.kernels.composed:attend", argument("leaky_relu", 1), "0.3", ATTEND),
    Mutant(
        "attention on one side only",
        "hypergnn.kernels.composed:transition",
        within(value("sums"), argument("segment_sum", 1)),
        "None if _ is None else _ * 0 + 1",
        f"{TESTS}::test_a_transition_is_two_sums_and_three_scalings",
    ),
    Mutant(
        "division before the mask",
        "hypergnn.kernels.composed:inverse",
        result(),
        "degree.pow(-0.5 if root else -1.0).nan_to_num(0, 0, 0)",
        f"{TESTS}::test_the_inverse_of_no_degree_is_nothing",
    ),
    Mutant(
        "permutation of values forgotten",
        "hypergnn.kernels.portable:segment_sum",
        element("values", "position"),
        "values * 1",
        f"{TESTS}::test_sums_with_values_equal_dense_products_per_trial_and_head",
    ),
    Mutant(
        "permutation of logits forgotten",
        "hypergnn.kernels.portable:segment_softmax",
        element("logits", "position"),
        "logits",
        SOFTMAX,
    ),
    Mutant(
        "permutation of the softmax forgotten",
        "hypergnn.kernels.portable:_ungroup",
        index("out"),
        "slice(None)",
        SOFTMAX,
    ),
    Mutant(
        "permutation of inner products forgotten",
        "hypergnn.kernels.portable:incidence_dot",
        call("long", "position"),
        "_.sort()[0]",
        f"{TESTS}::test_inner_products_come_in_chunks",
    ),
    Mutant(
        "gradient of values missing",
        "hypergnn.kernels.ops:_backward_segment_sum",
        value("grad_values", "incidence_dot"),
        "None",
        SUM_GRADIENTS,
    ),
    Mutant(
        "gradient goes the same way as the sum",
        "hypergnn.kernels.ops:_backward_segment_sum",
        within(value("grad_x"), name("ctx.by.T")),
        "ctx.by",
        SUM_GRADIENTS,
    ),
    Mutant(
        "softmax gradient without the mean",
        "hypergnn.kernels.ops:_backward_segment_softmax",
        result(),
        "(softmax * grad, *_[1:])",
        SOFTMAX,
    ),
    Mutant(
        "dropout of the epoch before", "hypergnn.kernels.dropout:_Draws.next_keys", argument("hash_of", 1), "0", DRAWS
    ),
    Mutant(
        "dropout the same in every layer",
        "hypergnn.kernels.dropout:_Draws.next_keys",
        argument("hash_of", 2),
        "0",
        DRAWS,
    ),
    Mutant(
        "dropout the same for all seeds",
        "hypergnn.kernels.dropout:_Draws.next_keys",
        argument("hash_of", 0),
        "0",
        DRAWS,
    ),
]
