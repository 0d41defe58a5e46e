"""Mutants of tables: events, encoded columns, comparisons and CSV."""

from support.mutation import Mutant
from support.places import argument, value

EVENTS = "construct/test_construct_events.py"
ENCODING = "construct/test_encoding.py"
COMPARISON = "experiments/test_compared.py"

MUTANTS = [
    Mutant(
        "hyperedges of two columns share their numbers",
        "hypergnn.construct.table:_united",
        value("hyperedge"),
        "np.concatenate([part.hyperedge for part in parts])",
        f"{EVENTS}::test_several_columns_of_hyperedges_keep_their_names",
    ),
    Mutant(
        "events number the vertices by their first appearance",
        "hypergnn.construct.events:_hypergraph",
        value("numbers"),
        "codes",
        f"{EVENTS}::test_features_labels_and_hypergraph_have_one_order",
    ),
    Mutant(
        "gaps of an encoded column are 0",
        "hypergnn.construct.encoding:_Numeric.encode",
        value("filled"),
        "np.where(np.isnan(numbers), 0.0, numbers)",
        f"{ENCODING}::test_every_kind_of_table_is_encoded_alike",
    ),
    Mutant(
        "a test forgets that splits overlap",
        "hypergnn.experiments.comparison:_p_value",
        argument("sqrt", 0),
        "spread / len(best)",
        f"{COMPARISON}::test_intervals_and_tests_take_the_overlap_of_splits_into_account",
    ),
    Mutant(
        "tests are not adjusted for their number",
        "hypergnn.experiments.statistics:holm",
        argument("min", 1),
        "values[name]",
        f"{COMPARISON}::test_without_overlap_the_tests_are_paired_t_tests_with_holms_adjustment",
    ),
]
