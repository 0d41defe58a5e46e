"""Mutants of structures and of the checks that guard them."""

from support.mutation import Mutant
from support.places import call, comparison, condition, factor, name, result, value, within

HYPERGRAPH = "structures/test_hypergraph.py"
GRAPH = "structures/test_graph.py"
SHARED_GRAPH = "structures/test_shared_graph.py"

MUTANTS = [
    Mutant(
        "no weight in the degree",
        "hypergnn.structures:weighted_degree",
        factor("weight"),
        "np.ones_like(_)",
        f"{HYPERGRAPH}::test_degrees_are_weighted_for_vertices_and_counts_for_hyperedges",
    ),
    Mutant(
        "degrees handed out",
        "hypergnn.structures:Hypergraph.vertex_degree",
        result(),
        "self._vertex_degree",
        f"{HYPERGRAPH}::test_it_does_not_change",
    ),
    Mutant(
        "duplicate incidences admitted",
        "hypergnn.structures:Incidence.from_pairs",
        condition("nnz"),
        "False",
        f"{HYPERGRAPH}::test_bad_input_is_refused",
    ),
    Mutant(
        "names left out of equality",
        "hypergnn.structures:StoredStructure.equals",
        call("fields"),
        '[field for field in _ if not field.name.endswith("_names")]',
        f"{HYPERGRAPH}::test_equality_looks_at_names_and_only_at_hypergraphs",
    ),
    Mutant(
        "negative ids admitted",
        "hypergnn._utils.checks:check_ids",
        comparison("low", "minimum"),
        "False",
        f"{HYPERGRAPH}::test_bad_input_is_refused",
    ),
    Mutant(
        "zero weights admitted",
        "hypergnn._utils.checks:as_weight",
        comparison("weight", "1e-15"),
        "weight >= 0",
        f"{HYPERGRAPH}::test_bad_input_is_refused",
    ),
    Mutant(
        "weights without an upper bound",
        "hypergnn._utils.checks:as_weight",
        comparison("weight", "1000000000000000.0"),
        "weight <= np.inf",
        f"{HYPERGRAPH}::test_bad_input_is_refused",
    ),
    Mutant(
        "graph without loops",
        "hypergnn.structures:Graph.from_links",
        value("loop"),
        "_[:0]",
        f"{GRAPH}::test_links_count_once_in_both_directions_with_one_loop_per_vertex",
    ),
    Mutant(
        "graph links in one direction",
        "hypergnn.structures:Graph.from_links",
        value("keys"),
        "np.concatenate([target, loop]) * n_vertices + np.concatenate([source, loop])",
        f"{GRAPH}::test_links_count_once_in_both_directions_with_one_loop_per_vertex",
    ),
    Mutant(
        "neighbours counted once for each hyperedge they share",
        "hypergnn.structures.shared_graph:_disjoint",
        comparison("used"),
        "(used @ used.T) >= 0",
        f"{SHARED_GRAPH}::test_neighbours_and_links_are_those_of_the_listed_graph",
    ),
    Mutant(
        "no loop for a vertex without hyperedges",
        "hypergnn.structures.shared_graph:_file",
        condition("path"),
        "False",
        f"{SHARED_GRAPH}::test_neighbours_and_links_are_those_of_the_listed_graph",
    ),
    Mutant(
        "disjoint beginnings numbered from the wrong block",
        "hypergnn.structures.shared_graph:_disjoint",
        value("first"),
        "0",
        f"{SHARED_GRAPH}::test_neighbours_and_links_are_those_of_the_listed_graph",
    ),
    Mutant(
        "senders scaled as receivers",
        "hypergnn.functional:_factors",
        within(value("by_sender"), name("right")),
        "left",
        f"{SHARED_GRAPH}::test_convolutions_take_it",
    ),
    Mutant(
        "a beginning left out of a part",
        "hypergnn.structures:SharedGraph.around",
        value("needed"),
        "_[1:]",
        f"{SHARED_GRAPH}::test_a_part_gives_the_same_around_its_vertices_at_less_cost",
    ),
]
