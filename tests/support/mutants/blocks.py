"""Mutants of blocks: what a layer reads and makes, new vertices, and transitions whose receivers are not senders."""

from functools import partial

from support.mutation import Mutant
from support.places import argument, call, choice, condition, element, name, result, swapped, value, within

BLOCK = "structures/test_block.py"
NEW_VERTICES = "functional/test_new_vertices.py"
KERNELS = "kernels/test_kernels.py"
CONVOLUTION = f"{BLOCK}::test_a_convolution_of_a_block_is_that_of_the_whole"
ATTENTION = f"{BLOCK}::test_attention_over_a_block_is_that_over_the_whole"
GRAPH = f"{BLOCK}::test_a_block_of_a_graph"
OTHER_ORDER = f"{BLOCK}::test_a_block_of_everything_in_another_order"
JOINED = f"{NEW_VERTICES}::test_layers_treat_them_as_vertices"
TWO_SIDES = f"{KERNELS}::test_receivers_need_not_be_senders"
TWO_SIDED_GRADIENTS = f"{KERNELS}::test_gradients_of_both_sides_are_exact_twice"

compiled = partial(Mutant, backend="numba")

MUTANTS = [
    Mutant(
        "senders of a block scaled by their degree in the block",
        "hypergnn.structures:Block._around",
        argument("cls", "_sender_degree"),
        "weighted_degree(senders, H.weight.cpu()[chosen])",
        CONVOLUTION,
    ),
    Mutant(
        "hyperedges of a block scaled by their degree in the block",
        "hypergnn.structures:Block._around",
        argument("cls", "_hyperedge_degree"),
        "senders.back_offsets.diff().double()",
        f"{BLOCK}::test_degrees_are_those_of_the_whole",
    ),
    Mutant(
        "vertices of a block in ascending order",
        "hypergnn.structures:Block._around",
        within(value("receivers"), argument("repeat", 0)),
        "np.argsort(np.argsort(made))",
        CONVOLUTION,
    ),
    Mutant(
        "weights of a block taken from the first hyperedges",
        "hypergnn.structures:Block._around",
        argument("cls", "weight"),
        "H.weight.cpu()[: chosen.numel()]",
        CONVOLUTION,
    ),
    Mutant(
        "a block of everything taken for the whole in any order",
        "hypergnn.structures:Block._around",
        value("is_whole"),
        "made.size == vertices.size",
        OTHER_ORDER,
    ),
    Mutant(
        "centroids of a block numbered as in the whole",
        "hypergnn.structures.block:_centroids",
        element("new_vertex"),
        "old % (new_vertex.max() + 1)",
        ATTENTION,
    ),
    Mutant(
        "a hyperedge of a sender left out for attention",
        "hypergnn.structures:Reach.of",
        condition("attention"),
        "False",
        ATTENTION,
    ),
    Mutant(
        "members left out of the mean of a hyperedge",
        "hypergnn.structures:Reach.of",
        condition("H.is_centred"),
        "False",
        ATTENTION,
    ),
    Mutant("centroids not read", "hypergnn.structures:Reach.of", value("centroids"), "[]", ATTENTION),
    Mutant(
        "neighbours of a block scaled by their degree in the block",
        "hypergnn.structures:GraphBlock._around",
        argument("cls", "source_degree"),
        "links.back_offsets.diff().double()",
        GRAPH,
    ),
    Mutant(
        "first rows taken for the skip connection of a block",
        "hypergnn.layers:Layer._aggregated",
        choice("rows"),
        "skipped[..., : out.shape[-2], :]",
        CONVOLUTION,
    ),
    Mutant(
        "first rows taken for those that attention makes",
        "hypergnn.functional:_attended_transition",
        result("H.rows"),
        "out[..., : H.n_receivers, :, :]",
        ATTENTION,
    ),
    Mutant(
        "first rows take the place of those that receive over links",
        "hypergnn.functional:attention_links",
        condition("graph.rows"),
        "False",
        GRAPH,
    ),
    Mutant(
        "senders scaled as the receivers of a block",
        "hypergnn.functional:_fixed_scalings",
        name("H._sender_degree"),
        "H._receiver_degree[[*range(H.n_receivers), *[0] * (H.n_vertices - H.n_receivers)]]",
        CONVOLUTION,
    ),
    Mutant(
        "new rows attend as old ones",
        "hypergnn.functional:attention_incidence",
        choice("H.rows"),
        "vertex_score",
        f"{NEW_VERTICES}::test_each_attends_by_its_own_features",
    ),
    Mutant(
        "attention of new rows taken from senders",
        "hypergnn.structures:Block._joining",
        argument("cls", "shares_pairs"),
        "True",
        JOINED,
    ),
    Mutant(
        "attended degree of new rows replaced by a count",
        "hypergnn.functional:_attended_scalings",
        within(value("degree", "of_receivers"), argument("value_sums", 0)),
        "torch.ones_like(_)",
        JOINED,
    ),
    Mutant(
        "senders scaled by the attended degree of receivers",
        "hypergnn.functional:_attended_scalings",
        within(argument("_roots", 2, "H.senders"), argument("value_sums", 0)),
        "torch.ones_like(_)",
        JOINED,
    ),
    Mutant(
        "given weight left out of the degree of senders",
        "hypergnn.functional:scalings",
        within(result("inverse", "H.senders"), argument("_weighted_degree", 0)),
        "torch.ones_like(_)",
        f"{NEW_VERTICES}::test_it_is_the_dense_transition_with_another_incidence_on_its_left",
    ),
    Mutant(
        "values of the receivers forgotten",
        "hypergnn.kernels.composed:transition",
        value("back"),
        "values if receiver_values is None else torch.ones_like(receiver_values)",
        TWO_SIDES,
    ),
    compiled(
        "compiled: values of the receivers forgotten",
        "hypergnn.kernels.cpu.fused:_transition",
        argument("transition", 4),
        "_ if _ is None else torch.ones_like(_)",
        TWO_SIDES,
    ),
    compiled(
        "compiled: values of the receivers forgotten in learned transitions",
        "hypergnn.kernels.cpu.fused:_transition",
        value("back"),
        "_ if receiver_values is None else torch.ones_like(receiver_values)",
        TWO_SIDED_GRADIENTS,
    ),
    compiled(
        "compiled: values of the receivers forgotten in the gradient",
        "hypergnn.kernels.cpu.fused:_backward_transition",
        value("back"),
        "(values, None) if receiver_values is None else (torch.ones_like(receiver_values), values)",
        TWO_SIDED_GRADIENTS,
    ),
    compiled(
        "compiled: senders and receivers not swapped in the gradient",
        "hypergnn.kernels.cpu.fused:_backward_transition",
        call("transition", "ctx.receivers"),
        swapped(6, 7),
        OTHER_ORDER,
    ),
    compiled(
        "compiled: gradient of the receivers' values without their scaling",
        "hypergnn.kernels.cpu.fused:_transition_gradients",
        argument("_one_side", 3, "receivers"),
        "None",
        TWO_SIDED_GRADIENTS,
    ),
    compiled(
        "compiled: gradient of one side's scaling without its values",
        "hypergnn.kernels.cpu.fused:_one_side",
        choice("values"),
        "dots",
        TWO_SIDED_GRADIENTS,
    ),
]
