"""Mutants of the choice among candidates: what has seen which label, and how candidates are weighted."""

from support.mutation import Mutant
from support.places import call, result, value

TESTS = "estimators/test_selection.py"
UNSEEN = f"{TESTS}::test_held_out_labels_are_not_seen"

MUTANTS = [
    Mutant(
        "logistic regression sees the labels that it predicts",
        "hypergnn.estimators:Linear._predict",
        value("counts"),
        "np.ones(held.shape)",
        UNSEEN,
    ),
    Mutant(
        "labels spread to the rows that they are held out from",
        "hypergnn.estimators:_reaching",
        value("columns", "part", "sent"),
        "np.tile(sent, part.shape[0])",
        UNSEEN,
    ),
    Mutant(
        "trees predict rows that they have seen",
        "hypergnn.estimators:grow",
        call("nan_to_num"),
        "forest.predict_proba(x)",
        UNSEEN,
    ),
    Mutant(
        "rare hyperedges say as much as common ones",
        "hypergnn.estimators:rarity",
        result(),
        "np.ones(H.n_hyperedges)",
        f"{TESTS}::test_rare_hyperedges_say_more",
    ),
    Mutant(
        "all candidates weigh the same",
        "hypergnn.estimators:mixing_weights",
        value("new", "doubt"),
        "_ * 0 + 1",
        f"{TESTS}::test_weights_go_to_the_better_candidate_and_are_equal_without_evidence",
    ),
    Mutant(
        "overconfident candidates stay so",
        "hypergnn.estimators:best_sharpness",
        result(),
        "1.0",
        f"{TESTS}::test_calibration_tempers_overconfident_probabilities",
    ),
    Mutant(
        "nothing is corrected",
        "hypergnn.estimators:_corrected",
        result(),
        "p",
        f"{TESTS}::test_correct_and_smooth_improves_a_forest_that_knows_nothing",
    ),
]
