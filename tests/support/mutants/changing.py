"""Mutants of neighbours at the same distance, of times, and of rows that are recognised."""

from support.mutation import Mutant
from support.places import argument, condition, result, value

SEARCH = "construct/test_nearest_search.py"
NEAR = "functional/test_near_rows.py"
TIMES = "io/test_io_times.py"
LATER = "estimators/test_partial_fit.py"
EDITS = "structures/test_edits.py"

MUTANTS = [
    Mutant(
        "equal distances in falling order",
        "hypergnn._utils.exact:first_by",
        result("values"),
        "np.lexsort((-ids, values), axis=-1)",
        f"{SEARCH}::test_ties_are_broken_by_number",
    ),
    Mutant(
        "points beyond the candidates forgotten",
        "hypergnn.construct.search:nearest_points",
        condition("wanted"),
        "False",
        f"{SEARCH}::test_all_points_are_compared_where_many_are_as_near",
    ),
    Mutant(
        "rows beyond the candidates forgotten",
        "hypergnn.functional.near_rows:_nearest",
        condition("wanted"),
        "True",
        f"{NEAR}::test_equally_near_rows_come_by_number",
    ),
    Mutant(
        "new hyperedges all weigh 1",
        "hypergnn.structures.edits:continued",
        argument("at", 2),
        "1.0",
        f"{EDITS}::test_edits_give_what_building_at_once_gives",
    ),
    Mutant(
        "times lost with later rows",
        "hypergnn.estimators.growing:grown",
        argument("from_incidence", "time"),
        "None",
        f"{LATER}::test_times_stay_and_new_hyperedges_bring_theirs",
    ),
    Mutant(
        "times read as other attributes",
        "hypergnn.io.parts:_times",
        result("rows"),
        "None",
        f"{TIMES}::test_times_survive_every_format",
    ),
    Mutant(
        "rows of one hyperedge with two times",
        "hypergnn.construct.table:_one_each",
        condition("differ"),
        "False",
        f"{TIMES}::test_bad_times_of_tables_are_one_clear_error",
    ),
    Mutant(
        "an index without a name is a name",
        "hypergnn.estimators.row_names:names_of_rows",
        condition("are_integers"),
        "False",
        f"{LATER}::test_an_index_that_slicing_has_left_is_no_name",
    ),
    Mutant(
        "known rows forget their hyperedges",
        "hypergnn.estimators.placing:PlacesRows._recognised",
        value("number"),
        "np.full(later.n_rows, -1)",
        f"{LATER}::test_a_known_row_that_comes_again_has_its_earlier_hyperedges_too",
    ),
]
