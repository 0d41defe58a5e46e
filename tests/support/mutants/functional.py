"""Mutants of the equations."""

from support.mutation import Mutant
from support.places import argument, call, comparison, condition, constant, factor, nth, result, swapped, value, within

FUNCTIONAL = "functional/test_functional.py"
NEW_VERTICES = "functional/test_new_vertices.py"
CONVOLUTION = f"{FUNCTIONAL}::test_conv_equals_the_transition_times_features"
ATTENTION = f"{FUNCTIONAL}::test_attention_equals_its_definition"
ATTENDED = f"{FUNCTIONAL}::test_attended_conv_takes_its_degrees_from_the_attended_incidence"
THROUGH_DEGREES = f"{FUNCTIONAL}::test_gradients_flow_through_attention_into_both_degrees"
HYPEREDGE_FEATURES = f"{FUNCTIONAL}::test_hyperedge_features_are_centroids_or_means"
CHEAPER_SIDE = f"{FUNCTIONAL}::test_the_projection_comes_on_the_cheaper_side"

MUTANTS = [
    Mutant("no weight in the product", "hypergnn.functional:_over", factor("weight"), "1", CONVOLUTION),
    Mutant(
        "no inverse of the hyperedge degree", "hypergnn.functional:_over", factor("inverse"), "0 * _ + 1", CONVOLUTION
    ),
    Mutant(
        "given weight left out of the degree",
        "hypergnn.functional:vertex_degree",
        nth(condition("weight"), 0),
        "True",
        f"{FUNCTIONAL}::test_degrees_equal_their_definition",
    ),
    Mutant(
        "no inverse of the vertex degree",
        "hypergnn.functional:scalings",
        result("inverse"),
        "(None, *_[1:])",
        CONVOLUTION,
    ),
    Mutant(
        "half of the symmetric normalisation",
        "hypergnn.functional:scalings",
        result("root"),
        "(*_[:2], None)",
        CONVOLUTION,
    ),
    Mutant(
        "row normalisation for symmetric",
        "hypergnn.functional:scalings",
        condition("normalization", "row"),
        "True",
        CONVOLUTION,
    ),
    Mutant(
        "normalised although told not to",
        "hypergnn.functional:scalings",
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
        "hypergnn.functional:scalings",
        value("degree", "incidence"),
        "0 * _ + H.vertex_degree().to(dtype).unsqueeze(-1)",
        ATTENDED,
    ),
    Mutant(
        "attended size replaced by a count",
        "hypergnn.functional:scalings",
        value("size", "incidence"),
        "0 * _ + H.hyperedge_degree().to(dtype).unsqueeze(-1)",
        ATTENDED,
    ),
    Mutant(
        "no gradient through the vertex degree",
        "hypergnn.functional:scalings",
        value("degree", "incidence"),
        "_.detach()",
        THROUGH_DEGREES,
    ),
    Mutant(
        "no gradient through the hyperedge degree",
        "hypergnn.functional:scalings",
        value("size", "incidence"),
        "_.detach()",
        THROUGH_DEGREES,
    ),
    Mutant(
        "weights forgotten where a softmax is known",
        "hypergnn.functional:scalings",
        condition("softmax_over", "hyperedges", "weight"),
        'softmax_over != "hyperedges"',
        f"{FUNCTIONAL}::test_degrees_that_a_softmax_makes_1_need_not_be_summed",
    ),
    Mutant(
        "dropout taken into the degrees",
        "hypergnn.functional:apply_transition",
        argument("scalings", 4),
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
        "hypergnn.functional:attention_incidence",
        argument("attend", 0, "H.vertices"),
        "0 * _",
        ATTENTION,
    ),
    Mutant(
        "hyperedge half of the score dropped",
        "hypergnn.functional:attention_incidence",
        argument("attend", 1, "H.vertices"),
        "0 * _",
        ATTENTION,
    ),
    Mutant(
        "centroids taken for vertices",
        "hypergnn.functional:hyperedge_features",
        result("is_own"),
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
        factor("inverse"),
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
        "hypergnn.functional:_product",
        factor("x"),
        "_.to_dense()",
        f"{FUNCTIONAL}::test_sparse_features_are_never_made_dense",
    ),
    Mutant(
        "new rows scaled by nobody's degree",
        "hypergnn.functional:hypergraph_read",
        value("left"),
        "None",
        f"{NEW_VERTICES}::test_rows_with_the_memberships_of_vertices_gather_what_these_gather",
    ),
    Mutant(
        "weight left out of what new rows read",
        "hypergnn.functional:hypergraph_read",
        within(result(), argument("_scaled", 1, "sums", "middle")),
        "middle / weight.unsqueeze(-1) if weight is not None else middle",
        f"{NEW_VERTICES}::test_reading_is_the_dense_transition_with_another_incidence_on_its_left",
    ),
]
