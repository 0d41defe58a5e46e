"""Mutants of other formats: attributes that move to another row, and records that vanish."""

from support.mutation import Mutant
from support.places import call, comparison, result, value, within

ATTRIBUTED = "io/test_io_attributed.py"
ROWS = f"{ATTRIBUTED}::test_rows_follow_the_numbers_of_the_hypergraph_whatever_the_order_of_the_file"
MERGED = f"{ATTRIBUTED}::test_repeated_records_are_merged_and_the_last_one_counts_with_a_warning"

MUTANTS = [
    Mutant(
        "rows of vertices in the order of the file",
        "hypergnn.io:_in_order",
        result("ordered"),
        "list(rows.values())",
        ROWS,
    ),
    Mutant(
        "rows of incidences in the order of the file",
        "hypergnn.io:_assemble",
        within(value("of_incidences"), call("sorted")),
        "list(zip(pairs, parts.incidences.values(), strict=True))",
        ROWS,
    ),
    Mutant(
        "the first of two records counts",
        "hypergnn.io:Row.updated",
        result("later"),
        "Row({**later.attrs, **self.attrs}, self.weight)",
        MERGED,
    ),
    Mutant("a contradiction is silent", "hypergnn.io:Row.differs", result("shared"), "False", MERGED),
    Mutant(
        "equal simplices are faces of each other",
        "hypergnn.io:_is_face",
        comparison("simplex", "members"),
        "sum(simplex <= members[one] for one in members) > 1",
        f"{ATTRIBUTED}::test_equal_simplices_are_not_faces_of_each_other",
    ),
]
