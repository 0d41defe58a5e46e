"""Mutants of operators over hyperedges that point, of their blocks, of edits, and of other families."""

from support.mutation import Mutant
from support.places import argument, call, comparison, condition, factor, nth, result, value

STRUCTURE = "structures/test_directed_hypergraph.py"
DIRECTIONS = "functional/test_directions.py"
EDITS = "structures/test_edits.py"
FAMILIES = "layers/test_families.py"
BY_HAND = f"{STRUCTURE}::test_a_small_one_by_hand"
SPECTRAL = f"{DIRECTIONS}::test_the_spectral_form_is_hermitian_with_eigenvalues_from_0_to_1"
NEW = f"{DIRECTIONS}::test_new_vertices_join_what_a_layer_of_their_direction_reads"
SAGE = f"{FAMILIES}::test_sage_is_its_equation"
MONET = "functional/test_monet.py::test_monet_conv_is_its_equation"
EDITED = f"{EDITS}::test_a_few_edits_by_hand"
WINDOWS = f"{EDITS}::test_windows_of_dates"
DIRECTED = "hypergnn.structures.directed:DirectedHypergraph"

MUTANTS = [
    Mutant(
        "directed: heads have the degrees of tails",
        f"{DIRECTED}._of",
        argument("cls", "_receiver_degree"),
        "sent",
        BY_HAND,
    ),
    Mutant(
        "directed: hyperedges count their heads",
        f"{DIRECTED}._of",
        argument("cls", "_hyperedge_degree"),
        "heads.back_offsets.diff().double()",
        BY_HAND,
    ),
    Mutant(
        "directed: heads are taken for tails",
        f"{DIRECTED}._of",
        value("shares_pairs"),
        "True",
        BY_HAND,
    ),
    Mutant(
        "reverse: hyperedges keep the size of their tails",
        f"{DIRECTED}._reversed",
        argument("DirectedHypergraph", "_hyperedge_degree"),
        "self._hyperedge_degree",
        BY_HAND,
    ),
    Mutant(
        "reverse: degrees are not exchanged",
        f"{DIRECTED}._reversed",
        argument("DirectedHypergraph", "_receiver_degree"),
        "self._receiver_degree",
        f"{DIRECTIONS}::test_tails_send_and_heads_receive",
    ),
    Mutant(
        "undirected: only the tails",
        f"{DIRECTED}.undirected",
        value("together"),
        "as_matrix(self.tails).tocoo()",
        f"{STRUCTURE}::test_undirected_members_are_those_of_both_parts",
    ),
    Mutant(
        "both directions go forward",
        f"{DIRECTED}.ways",
        nth(result("reversed"), 0),
        "(self,) if direction == 'backward' else (self, self)",
        f"{DIRECTIONS}::test_both_directions_have_projections_of_their_own",
    ),
    Mutant(
        "both directions have one projection",
        "hypergnn.layers.base:Layer._of_way",
        result("chunk"),
        "parameter.chunk(self.n_ways, dim)[0]",
        f"{DIRECTIONS}::test_both_directions_have_projections_of_their_own",
    ),
    Mutant(
        "a block of an undirected hypergraph is for no layer",
        "hypergnn.structures.block:Block.ways",
        nth(condition("direction"), 0),
        "False",
        f"{DIRECTIONS}::test_blocks_and_new_vertices_of_hyperedges_that_point_nowhere_change_no_bit",
    ),
    Mutant(
        "new vertices in tails go forward",
        "hypergnn.structures.directed_blocks:blocks_joining",
        argument("joining", 0, "found"),
        "H",
        NEW,
    ),
    Mutant(
        "new vertices: memberships of tails and heads mixed up",
        "hypergnn.structures.directed_blocks:blocks_joining",
        argument("joining", 1, "reversed"),
        "heads",
        NEW,
    ),
    Mutant(
        "spectral form: not conjugated on the way to the hyperedges",
        "hypergnn.functional.spectral:spectral_conv",
        factor("new_tensor"),
        "1",
        SPECTRAL,
    ),
    Mutant(
        "spectral form: vertices of both parts count as tails",
        "hypergnn.functional.spectral:_phases",
        value("head"),
        "_[:0]",
        SPECTRAL,
    ),
    Mutant(
        "spectral form: the other way round",
        "hypergnn.functional.spectral:_phases",
        call("sin"),
        "-_",
        SPECTRAL,
    ),
    Mutant(
        "spectral form: imaginary parts of features left out",
        "hypergnn.functional.spectral:_turned",
        nth(result("sine"), 0),
        "torch.stack([cosine[..., 0, :], cosine[..., 1, :] + sine[..., 0, :]], -2)",
        SPECTRAL,
    ),
    Mutant(
        "window: the end belongs to it",
        "hypergnn.structures.edits:Editable.window",
        comparison("last", "time"),
        "self.time <= last[0]",
        WINDOWS,
    ),
    Mutant(
        "window: the start does not belong to it",
        "hypergnn.structures.edits:Editable.window",
        comparison("first", "time"),
        "self.time > first[0]",
        WINDOWS,
    ),
    Mutant(
        "removed hyperedges: degrees stay",
        "hypergnn.structures.edits:updated",
        condition("rows.size"),
        "True",
        EDITED,
    ),
    Mutant(
        "removed hyperedges: the others keep their numbers",
        "hypergnn.structures.edits:selected",
        value("number"),
        "np.arange(stays.size, dtype=index)",
        EDITED,
    ),
    Mutant(
        "added hyperedges: pairs that move keep their places",
        "hypergnn.structures.edits:side_by_side",
        value("shift"),
        "np.zeros_like(_)",
        EDITED,
    ),
    Mutant(
        "added hyperedges: arrays of any kind are joined as they are",
        "hypergnn.structures.edits:_are_ids",
        comparison("kind"),
        "True",
        f"{EDITS}::test_hyperedges_are_added_as_lists_or_arrays",
    ),
    Mutant(
        "SAGE: a vertex forgets itself",
        "hypergnn.layers.sage:HypergraphSAGE._linear",
        value("own"),
        "0 * _",
        SAGE,
    ),
    Mutant(
        "SAGE: sums of members, not means",
        "hypergnn.functional.means:hyperedge_mean",
        factor("size"),
        "1",
        SAGE,
    ),
    Mutant(
        "SAGE: attention without LeakyReLU",
        "hypergnn.layers.sage:HypergraphSAGE._pooled",
        argument("attention_incidence", "negative_slope"),
        "1.0",
        SAGE,
    ),
    Mutant(
        "MoNet: no weight of hyperedges",
        "hypergnn.functional:monet_conv",
        factor("weight"),
        "1",
        MONET,
    ),
    Mutant(
        "MoNet: kernels not squared",
        "hypergnn.functional:gaussians",
        call("square", "u"),
        "(u[..., d, None] - mean[..., None, :, d])",
        MONET,
    ),
    Mutant(
        "MoNet: the degree is not divided by",
        "hypergnn.functional:monet_conv",
        condition("normalization"),
        "False",
        MONET,
    ),
]
