"""Mutants of the compiled loops and of what calls them; those that change a loop have it compiled again."""

from functools import partial

from support.mutation import Mutant
from support.places import (
    argument,
    comparison,
    condition,
    element,
    factor,
    index,
    result,
    statement,
    value,
)

TESTS = "kernels/test_kernels.py"
BUFFERS = "kernels/test_buffers.py"

compiled = partial(Mutant, backend="numba")

MUTANTS = [
    compiled(
        "compiled: permutation of values forgotten",
        "hypergnn.kernels.cpu.segment:_entries",
        result("values"),
        "(_[0], NO_INDEX)",
        f"{TESTS}::test_a_transition_is_two_sums_and_three_scalings",
    ),
    compiled(
        "compiled: last factor of a group forgotten",
        "hypergnn.kernels.cpu.segment:_outer",
        condition("outer"),
        "True",
        f"{TESTS}::test_a_transition_is_two_sums_and_three_scalings",
    ),
    compiled(
        "compiled: pieces of a large group not added",
        "hypergnn.kernels.cpu.segment:_in_pieces",
        statement("total", "piece"),
        "total = part[:, piece]",
        f"{TESTS}::test_any_number_of_threads_gives_the_same_bits",
    ),
    compiled(
        "compiled: dropout drawn by place, not by incidence",
        "hypergnn.kernels.cpu.dropped_loops:_draw",
        element("places"),
        "begin + k",
        f"{TESTS}::test_dropout_within_a_sum_is_that_of_its_values",
    ),
    compiled(
        "compiled: members of a part of eight not counted",
        "hypergnn.kernels.cpu.dropped_loops:_draw",
        value("ends", "some"),
        "0",
        f"{TESTS}::test_dropout_within_a_sum_is_that_of_its_values",
    ),
    compiled(
        "compiled: transition activated without its bias",
        "hypergnn.kernels.cpu.segment_loops:two_gathers",
        value("added", "bias", "trial"),
        "0",
        f"{TESTS}::test_a_transition_and_its_activation_in_one_step_are_those_in_two",
    ),
    compiled(
        "a buffer given away while it is in use",
        "hypergnn.kernels.cpu.buffers:empty",
        argument("_InUse", 0),
        "_[:]",
        f"{BUFFERS}::test_memory_is_reused_when_nobody_looks_at_it",
    ),
    compiled(
        "a buffer given away twice",
        "hypergnn.kernels.cpu.buffers:_take",
        statement("remove"),
        "pass",
        f"{BUFFERS}::test_memory_is_reused_when_nobody_looks_at_it",
    ),
    compiled(
        "a buffer given that is too small",
        "hypergnn.kernels.cpu.buffers:_take",
        comparison("size", "block", "2"),
        "len(block) <= 2 * size",
        f"{BUFFERS}::test_what_is_idle_makes_room_for_what_is_new",
    ),
    compiled(
        "compiled: gradient of the scaling on the left taken for the right",
        "hypergnn.kernels.cpu.dot_loops:transition_gradients",
        argument("put", 2, "right_to"),
        "left_sum",
        f"{TESTS}::test_transitions_of_rows_that_no_cache_holds_have_the_same_gradients",
    ),
    compiled(
        "compiled: a block of rows not walked",
        "hypergnn.kernels.cpu.dropped_loops:scatter_dropped",
        value("base", "block"),
        "_ + 1",
        f"{TESTS}::test_few_sums_of_many_rows_are_the_same_sums",
    ),
    compiled(
        "compiled: a factor forgotten where rows are walked",
        "hypergnn.kernels.cpu.segment_loops:add_row",
        factor("many"),
        "alike(x.dtype.type(1))",
        f"{TESTS}::test_large_groups_are_summed_by_walking_the_rows",
    ),
    compiled(
        "compiled: no other sum begun where rows are walked",
        "hypergnn.kernels.cpu.segment_loops:scatter",
        comparison("counts", "PIECE"),
        "counts[group] == 1 << 30",
        f"{TESTS}::test_long_sums_keep_what_they_add",
    ),
    compiled(
        "compiled: slope missing in the gradient",
        "hypergnn.kernels.cpu.attention_loops:attend_gradient",
        argument("leaky", 1),
        "alike(slope / slope)",
        f"{TESTS}::test_gradients_of_many_heads_are_those_of_few",
    ),
    compiled(
        "compiled: gradient of the left scaling for the right",
        "hypergnn.kernels.cpu.fused:_transition_gradients",
        value("found"),
        "(by_left, by_middle, by_left, by_value, by_receiver_value)",
        f"{TESTS}::test_gradients_of_a_transition_are_exact_twice",
    ),
    compiled(
        "compiled: one row of a tile for all",
        "hypergnn.kernels.cpu.gemm_loops:_few_columns",
        index("last"),
        "(0, c)",
        f"{TESTS}::test_a_row_of_a_product_does_not_depend_on_its_neighbours",
    ),
    compiled(
        "compiled: zeros of a row of few columns left in the rows after it",
        "hypergnn.kernels.cpu.gemm_loops:_few_columns",
        value("n_copied"),
        "0",
        f"{TESTS}::test_a_product_of_few_columns_is_written_into_its_own_rows_only",
    ),
    compiled(
        "compiled: last rows left out of a gradient",
        "hypergnn.kernels.cpu.gemm_loops:tall_product",
        value("pieces"),
        "n_rows // TALL",
        f"{TESTS}::test_a_gradient_of_a_product_does_not_depend_on_other_trials_or_threads",
    ),
    compiled(
        "compiled: loss summed over the rows",
        "hypergnn.kernels.cpu.pointwise_loops:cross_entropy",
        value("out"),
        "loss",
        f"{TESTS}::test_cross_entropy_is_the_mean_of_some_rows_for_each_trial",
    ),
    compiled(
        "compiled: gradient of ELU without its slope",
        "hypergnn.kernels.cpu.pointwise_loops:elu_dropout_gradient",
        value("change", "scale", "given"),
        "come[k] * scale",
        f"{TESTS}::test_activation_with_dropout_and_its_gradients",
    ),
    compiled(
        "compiled: gradient of ReLU without the scale of dropout",
        "hypergnn.kernels.cpu.pointwise_loops:relu_dropout_gradient",
        value("made", "scale"),
        "come[k] if given[k] > zero else zero",
        f"{TESTS}::test_activation_with_dropout_and_its_gradients",
    ),
]
