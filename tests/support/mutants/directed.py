"""Mutants of directed hypergraphs, of what reads and explains them, and of estimators that go on."""

from support.mutation import Mutant
from support.places import argument, call, comparison, condition, name, nth, statement, value

EXPLAINED = "explanations/test_directed_explanations.py"
READ = "io/test_io_directed.py"
ROLES = "construct/test_role_columns.py"
GOING_ON = "estimators/test_partial_fit.py"
ADD_UP = f"{EXPLAINED}::test_contributions_add_up_to_the_score_in_every_direction"

MUTANTS = [
    Mutant(
        "explanation: the first direction twice",
        "hypergnn.explanations.parts:parts_of",
        value("first"),
        "0",
        ADD_UP,
    ),
    Mutant(
        "explanation: senders attend like receivers",
        "hypergnn.explanations.parts:attention_of",
        value("received"),
        "sent",
        ADD_UP,
    ),
    Mutant(
        "explanation: mean over one direction only",
        "hypergnn.explanations.parts:parts_of",
        call("len", "every"),
        "len(heads)",
        ADD_UP,
    ),
    Mutant(
        "explanation: directions of a hyperedge put together",
        "hypergnn.explanations:Explanation._causes",
        name("part.direction"),
        "None",
        f"{EXPLAINED}::test_both_directions_of_a_hyperedge_have_parts_of_their_own",
    ),
    Mutant(
        "HIF: heads written as tails",
        "hypergnn.io.hif:_to_document",
        condition("parts.heads"),
        "False",
        f"{READ}::test_a_round_trip_loses_nothing",
    ),
    Mutant(
        "HIF: every incidence read as a tail",
        "hypergnn.io.hif:_to_parts",
        value("is_head"),
        "False",
        f"{READ}::test_a_round_trip_loses_nothing",
    ),
    Mutant(
        "NetworkX: arcs out of hyperedges read as tails",
        "hypergnn.io.named:from_networkx",
        value("listed"),
        "parts.incidences",
        f"{READ}::test_a_round_trip_loses_nothing",
    ),
    Mutant(
        "direction ignored: heads dropped",
        "hypergnn.io.parts:Parts.drop_direction",
        nth(statement("incidences"), 0),
        "pass",
        f"{READ}::test_the_direction_may_be_ignored",
    ),
    Mutant(
        "table: heads are tails",
        "hypergnn.construct.table:_are_heads",
        comparison("one"),
        "False",
        f"{ROLES}::test_tails_send_and_heads_receive",
    ),
    Mutant(
        "partial_fit: parameters drawn again",
        "hypergnn.estimators.learning:LearnsFromLabels._train",
        argument("_train_one", "start"),
        "None",
        f"{GOING_ON}::test_training_goes_on_from_the_last_parameters",
    ),
    Mutant(
        "partial_fit: earlier labels forgotten",
        "hypergnn.estimators.growing:Growth.extended",
        value("chosen"),
        "self.place >= 0",
        f"{GOING_ON}::test_a_known_name_is_the_known_row",
    ),
    Mutant(
        "partial_fit: later rows do not join known hyperedges",
        "hypergnn.estimators.growing:grown",
        value("joined"),
        "_.__class__(_.shape)",
        f"{GOING_ON}::test_hyperedges_are_known_by_name_and_new_ones_join",
    ),
    Mutant(
        "partial_fit: half changed after a failure",
        "hypergnn.estimators.whole_fits:all_or_nothing",
        statement("update"),
        "vars(estimator).update(before, hypergraph_=None)",
        f"{GOING_ON}::test_a_failing_callback_changes_nothing",
    ),
]
