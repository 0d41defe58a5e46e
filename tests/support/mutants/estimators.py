"""Mutants of the estimators: later rows, weights, folds, weighted models and callbacks."""

from support.mutation import Mutant
from support.places import argument, result, value

LATER = "estimators/test_later_rows.py"
WEIGHTS = "estimators/test_weights.py"
FOLDS = "estimators/test_model_selection.py"
REGRESSOR = "estimators/test_regressor.py"
NEW = "functional/test_new_vertices.py"
DIRECTED = f"{NEW}::test_what_they_bring_is_the_dense_transition_of_a_directed_hypergraph"

MUTANTS = [
    Mutant(
        "hyperedges of later rows are known by their place",
        "hypergnn.estimators:read_later",
        value("number"),
        "np.arange(R.n_hyperedges)",
        f"{LATER}::test_hyperedges_are_recognised_by_their_names",
    ),
    Mutant(
        "later rows send to what they bring with the degree of all their hyperedges",
        "hypergnn.structures:Block._joining",
        value("sent", "brought"),
        "weighted_degree(new, weight.cpu())",
        DIRECTED,
    ),
    Mutant(
        "all labels count equally",
        "hypergnn.training:losses_of",
        value("chosen"),
        "_ * 0 + 1",
        f"{WEIGHTS}::test_weights_move_the_decision",
    ),
    Mutant(
        "one class after another is held out",
        "hypergnn.model_selection:LabelledKFold._iter_test_indices",
        value("fold"),
        "np.arange(rows.size) * self.n_splits // rows.size",
        f"{FOLDS}::test_each_labelled_row_is_held_out_once_and_unlabelled_rows_never",
    ),
    Mutant(
        "candidates have seen the targets that they predict",
        "hypergnn.estimators:_cross_validated",
        value("rest"),
        "np.arange(rows.size)",
        f"{REGRESSOR}::test_the_default_is_as_good_as_a_forest_and_ridge",
    ),
    Mutant(
        "predictions stay in the unit of training",
        "hypergnn.estimators:Targets.restore",
        value("values"),
        "np.asarray(scaled, dtype=np.float64)",
        f"{REGRESSOR}::test_a_network_learns_numbers_of_any_size_and_unit",
    ),
    Mutant(
        "no callback stops training",
        "hypergnn.training:is_true",
        result(),
        "False",
        "training/test_callbacks.py::test_a_callback_stops_the_run_by_returning_true",
    ),
    Mutant(
        "files make objects of any class",
        "hypergnn.persistence:class_named",
        argument("startswith", 0),
        "''",
        "persistence/test_estimator_files.py::test_classes_that_are_not_listed_are_not_made",
    ),
]
