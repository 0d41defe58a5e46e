"""Mutants of the layers."""

from support.mutation import Mutant
from support.places import argument, call, choice, condition, constant, factor, nth, result, value

TESTS = "layers/test_layers.py"
DROPOUT = f"{TESTS}::test_dropout_falls_on_the_propagated_features_and_on_the_transition"
LEARNED_WEIGHT = f"{TESTS}::test_learned_weights_follow_their_formula"
HETEROGENEOUS = f"{TESTS}::test_parameters_of_the_heterogeneous_and_weighted_layers_receive_gradients"

MUTANTS = [
    Mutant(
        "incidences not dropped",
        "hypergnn.layers:HypergraphAttention._attended_way",
        argument("attended_conv", "drop"),
        "None",
        DROPOUT,
    ),
    Mutant(
        "features not dropped",
        "hypergnn.layers:HypergraphAttention._attended_way",
        argument("attended_conv", "dropped"),
        "projected",
        DROPOUT,
    ),
    Mutant(
        "links not dropped",
        "hypergnn.layers:GraphAttention._attended",
        argument("graph_attention", 2),
        "attention",
        DROPOUT,
    ),
    Mutant(
        "dropout keeps what it should drop",
        "hypergnn.layers:AttentionLayer._drop",
        argument("dropout", 1),
        "1 - _",
        f"{TESTS}::test_every_parameter_receives_a_gradient",
    ),
    Mutant(
        "dropout in evaluation",
        "hypergnn.layers:AttentionLayer._drop",
        condition("training"),
        "True",
        f"{TESTS}::test_dropout_is_for_training_only",
    ),
    Mutant(
        "attention returned without its gradient",
        "hypergnn.layers:HypergraphAttention.forward",
        result("return_attention"),
        "(out, incidence.detach()) if return_attention else out",
        f"{TESTS}::test_the_returned_attention_is_whole_and_carries_its_gradient",
    ),
    Mutant(
        "hyperedges projected as vertices",
        "hypergnn.layers:HypergraphAttention._project_hyperedges",
        value("projection"),
        "self.projection",
        HETEROGENEOUS,
    ),
    Mutant(
        "scores start at nothing",
        "hypergnn.layers:AttentionLayer._reset_score_vectors",
        call("glorot"),
        "nn.init.zeros_(vector)",
        HETEROGENEOUS,
    ),
    Mutant(
        "learned weight of the wrong sign",
        "hypergnn.layers:HypergraphConv.hyperedge_weight",
        nth(constant(5), 0),
        "-5",
        LEARNED_WEIGHT,
    ),
    Mutant(
        "learned weight of the wrong bound",
        "hypergnn.layers:HypergraphConv.hyperedge_weight",
        nth(constant(5), 1),
        "50",
        LEARNED_WEIGHT,
    ),
    Mutant(
        "learned weight may be negative",
        "hypergnn.layers:HypergraphConv.hyperedge_weight",
        factor("exp"),
        "(1 + score)",
        LEARNED_WEIGHT,
    ),
    Mutant(
        "sum for the mean of heads",
        "hypergnn.layers:Layer._aggregated",
        call("mean"),
        "self._by_head(out).sum(-2)",
        f"{TESTS}::test_heads_are_concatenated_or_averaged",
    ),
    Mutant(
        "skip connection forgotten",
        "hypergnn.layers:Layer._aggregated",
        choice("skip"),
        "out",
        f"{TESTS}::test_skip_connection_adds_the_input_itself_where_widths_agree",
    ),
    Mutant(
        "bias forgotten",
        "hypergnn.layers:Layer._with_bias",
        result("self.bias"),
        "linear",
        f"{TESTS}::test_bias_is_added_once",
    ),
]
