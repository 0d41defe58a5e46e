"""Mutants of the equations."""

from support.mutation import Mutant
from support.places import argument, call, comparison, condition, constant, factor, nth, result, swapped, value, within

FUNCTIONAL = "functional/test_functional.py"
NEW_VERTICES = "functional/test_new_vertices.py"
CONVOLUTION = f"{FUNCTIONAL}::test_conv_equals_the_transition_times_features"
GIVEN = f"{FUNCTIONAL}::test_given_weights_replace_those_of_the_hypergraph"
ATTENTION = f"{FUNCTIONAL}::test_attention_equals_its_definition"
ATTENDED = f"{FUNCTIONAL}::test_attended_conv_takes_its_degrees_from_the_attended_incidence"
THROUGH_DEGREES = f"{FUNCTIONAL}::test_gradients_flow_through_attention_into_both_degrees"
HYPEREDGE_FEATURES = f"{FUNCTIONAL}::test_hyperedge_features_are_centroids_or_means"
CHEAPER_SIDE = f"{FUNCTIONAL}::test_the_projection_comes_on_the_cheaper_side"

MUTANTS = [
    Mutant(
        "no weight in the product",
        "hypergnn.functional:_fixed_scalings",
        factor("weight"),
        "1",
        CONVOLUTION,
    ),
    Mutant(
        "no weight where nothing is normalised",
        "hypergnn.functional:_fixed_scalings",
        result("weight"),
        "(None, None, None)",
        f"{FUNCTIONAL}::test_unnormalised_conv_equals_the_double_sum",
    ),
    Mutant("given weight left out of the product", "hypergnn.functional:scalings", factor("weight"), "1", GIVEN),
    Mutant(
        "no weight in the attended product",
        "hypergnn.functional:_attended_scalings",
        value("middle", "unsqueeze"),
        "None",
        ATTENDED,
    ),
    Mutant(
        "no inverse of the hyperedge degree",
        "hypergnn.functional:_fixed_scalings",
        factor("inverse"),
        "1",
        CONVOLUTION,
    ),
    Mutant(
        "no inverse of the hyperedge degree with given weights",
        "hypergnn.functional:scalings",
        factor("inverse"),
        "1",
        GIVEN,
    ),
    Mutant(
        "given weight left out of the degree",
        "hypergnn.functional:vertex_degree",
        nth(condition("weight"), 1),
        "True",
        f"{FUNCTIONAL}::test_degrees_equal_their_definition",
    ),
    Mutant(
        "no inverse of the vertex degree",
        "hypergnn.functional:_fixed_scalings",
        result("inverse"),
        "(None, *_[1:])",
        CONVOLUTION,
    ),
    Mutant(
        "half of the symmetric normalisation",
        "hypergnn.functional:_fixed_scalings",
        result("root"),
        "(*_[:2], None)",
        CONVOLUTION,
    ),
    Mutant(
        "row normalisation for symmetric",
        "hypergnn.functional:_fixed_scalings",
        condition("normalization", "row"),
        "True",
        CONVOLUTION,
    ),
    Mutant(
        "normalised although told not to",
        "hypergnn.functional:_fixed_scalings",
        condition("normalization", "none"),
        "False",
        CONVOLUTION,
    ),
    Mutant(
        "small weights take the degree away",
        "hypergnn.functional:_relative",
        result(),
        "weight",
        "functional/test_paper_claims.py::test_a_common_factor_of_all_weights_changes_nothing",
    ),
    Mutant(
        "attended degree replaced by a count",
        "hypergnn.functional:_attended_scalings",
        within(value("degree"), argument("value_sums", 0)),
        "torch.ones_like(_)",
        ATTENDED,
    ),
    Mutant(
        "attended size replaced by a count",
        "hypergnn.functional:sizes",
        argument("value_sums", 0),
        "torch.ones_like(_)",
        ATTENDED,
    ),
    Mutant(
        "no gradient through the vertex degree",
        "hypergnn.functional:_attended_scalings",
        value("degree", "incidence"),
        "_.detach()",
        THROUGH_DEGREES,
    ),
    Mutant(
        "no gradient through the hyperedge degree",
        "hypergnn.functional:_attended_scalings",
        value("size", "incidence"),
        "_.detach()",
        THROUGH_DEGREES,
    ),
    Mutant(
        "weights forgotten where a softmax is known",
        "hypergnn.functional:_attended_scalings",
        condition("softmax_over", "hyperedges", "weight"),
        'softmax_over == "hyperedges"',
        f"{FUNCTIONAL}::test_degrees_that_a_softmax_makes_1_need_not_be_summed",
    ),
    Mutant(
        "dropout taken into the degrees",
        "hypergnn.functional:_attended_transition",
        argument("_attended_scalings", 1),
        "_ if dropped is None else dropped",
        f"{FUNCTIONAL}::test_dropout_comes_after_the_degrees_were_taken",
    ),
    Mutant(
        "softmax over the wrong side",
        "hypergnn.functional:attention_incidence",
        condition("softmax_over", "hyperedges"),
        "not (_)",
        ATTENTION,
    ),
    Mutant(
        "vertex half of the score dropped",
        "hypergnn.functional:attention_scores",
        result("x_hyperedge"),
        "(0 * _[0], _[1])",
        ATTENTION,
    ),
    Mutant(
        "hyperedge half of the score dropped",
        "hypergnn.functional:attention_scores",
        result("x_hyperedge"),
        "(_[0], 0 * _[1])",
        ATTENTION,
    ),
    Mutant(
        "centroids taken for vertices",
        "hypergnn.functional:hyperedge_features",
        result("_are_own_centroids"),
        "x[..., : H.n_hyperedges, :]",
        HYPEREDGE_FEATURES,
    ),
    Mutant(
        "partial centroids ignored",
        "hypergnn.functional:hyperedge_features",
        condition("H.centroid"),
        "True",
        HYPEREDGE_FEATURES,
    ),
    Mutant(
        "sum for the mean of the members",
        "hypergnn.functional:hyperedge_features",
        factor("size"),
        "1",
        HYPEREDGE_FEATURES,
    ),
    Mutant(
        "graph attention the wrong way round",
        "hypergnn.functional:attention_links",
        call("attend"),
        swapped(0, 1),
        f"{FUNCTIONAL}::test_graph_attention_runs_over_neighbours_and_the_vertex_itself",
    ),
    Mutant(
        "sum for the mean of two transitions",
        "hypergnn.functional:mean_conv",
        within(value("out"), constant(2)),
        "1",
        f"{FUNCTIONAL}::test_mean_of_both_transitions_shares_one_projection",
    ),
    Mutant(
        "projection always first",
        "hypergnn.functional:project_if_cheaper",
        comparison("projection.shape"),
        "True",
        CHEAPER_SIDE,
    ),
    Mutant(
        "projection always last",
        "hypergnn.functional:project_if_cheaper",
        comparison("projection.shape"),
        "False",
        CHEAPER_SIDE,
    ),
    Mutant(
        "projection applied twice",
        "hypergnn.functional:project_if_cheaper",
        result("_product"),
        "(_[0], projection)",
        f"{FUNCTIONAL}::test_projection_may_come_on_either_side",
    ),
    Mutant(
        "sparse features made dense",
        "hypergnn.functional:_csr_product",
        argument("csr_matmul", 0),
        "_.to_dense()",
        f"{FUNCTIONAL}::test_sparse_features_are_never_made_dense",
    ),
    Mutant(
        "new rows scaled by nobody's degree",
        "hypergnn.structures:Block._joining",
        argument("cls", "_receiver_degree"),
        "torch.ones_like(_)",
        f"{NEW_VERTICES}::test_those_with_the_memberships_of_vertices_receive_what_these_receive",
    ),
    Mutant(
        "weight left out of the degree of new rows",
        "hypergnn.structures:Block._joining",
        argument("weighted_degree", 1),
        "None",
        f"{NEW_VERTICES}::test_the_numbers_of_an_example_worked_by_hand",
    ),
    Mutant(
        "weight left out of what new rows receive",
        "hypergnn.structures:Block._joining",
        argument("cls", "weight"),
        "torch.ones_like(_)",
        f"{NEW_VERTICES}::test_it_is_the_dense_transition_with_another_incidence_on_its_left",
    ),
]
