"""Mutants of what new rows join, and of the estimators that let them."""

from support.mutation import Mutant
from support.places import argument, choice, element, term, value, within

JOIN = "construct/test_join.py"
ESTIMATORS = "estimators/test_estimators.py"
NEAREST = f"{JOIN}::test_a_new_point_joins_the_hyperedges_around_its_nearest_points"
NEW_ROW = f"{ESTIMATORS}::test_the_prediction_of_a_new_row_does_not_depend_on_the_others"

MUTANTS = [
    Mutant(
        "a new point joins one hyperedge too many",
        "hypergnn.construct:NearestNeighbours.join",
        argument("nearest_points", 2),
        "_ + 1",
        NEAREST,
    ),
    Mutant(
        "a new point does not join its nearest point",
        "hypergnn.construct:NearestNeighbours.join",
        value("nearest"),
        "nearest_points(self._points, new, self._k + 1, self._metric)[:, 1:]",
        NEAREST,
    ),
    Mutant(
        "a new point joins by another metric",
        "hypergnn.construct:NearestNeighbours.join",
        argument("nearest_points", 3),
        "'euclidean'",
        NEAREST,
    ),
    Mutant(
        "a new point joins the hyperedges of the second nearest vertex",
        "hypergnn.construct:NearestVertex.join",
        value("nearest"),
        "nearest_points(self._points, new, 2, 'euclidean')[:, 1]",
        f"{JOIN}::test_rows_of_the_data_join_their_own_hyperedges",
    ),
    Mutant(
        "clusters of all scales numbered from 0",
        "hypergnn.construct:Clusters.join",
        term("start"),
        "0",
        f"{JOIN}::test_a_new_point_joins_the_cluster_with_the_nearest_centre_at_each_scale",
    ),
    Mutant(
        "unknown values join the last hyperedge",
        "hypergnn.construct:Attributes.join",
        within(value("joined"), argument("append", 1)),
        "hyperedge_of[-1]",
        f"{JOIN}::test_new_rows_join_the_hyperedges_of_their_values",
    ),
    Mutant(
        "new rows get the features of old rows",
        "hypergnn.estimators:PlacesRows._with_new",
        within(argument("as_features", 0), argument("stack", 0)),
        "[self._features, self._features[: features.shape[0]]]",
        f"{ESTIMATORS}::test_a_new_row_is_seen_with_its_own_features",
    ),
    Mutant(
        "new rows get the memberships of others",
        "hypergnn.estimators:PlacesRows._of_rows",
        argument("Later", 0),
        "sparse.csr_array(self._relation.join(rows))[: new.size]",
        NEW_ROW,
    ),
    Mutant(
        "training rows get the values of the first ones",
        "hypergnn.estimators:PlacesRows._of_rows",
        element("known", "group"),
        "known[: (group >= 0).sum()]",
        f"{ESTIMATORS}::test_unlabelled_rows_are_classified_and_training_rows_keep_their_predictions",
    ),
    Mutant(
        "equal rows keep different values",
        "hypergnn.estimators:PlacesRows._of_training",
        choice("group"),
        "values",
        f"{ESTIMATORS}::test_equal_rows_get_equal_predictions",
    ),
]
