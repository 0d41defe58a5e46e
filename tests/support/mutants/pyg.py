"""Mutants of the layer for programs written with PyG, of batches and of readouts."""

from support.mutation import Mutant
from support.places import argument, comparison, condition, value

CONVOLUTION = "pyg/test_convolution.py"
KNOWN = "pyg/test_known.py"
EXACT = f"{CONVOLUTION}::test_by_default_it_is_the_layer_of_the_paper"
AS_IN_PYG = f"{CONVOLUTION}::test_without_exactness_everything_is_what_pyg_computes"

MUTANTS = [
    Mutant(
        "PyG: weights not in the product",
        "hypergnn.pyg:HypergraphConv._convolved",
        argument("hypergraph_conv", "weight"),
        "None",
        EXACT,
    ),
    Mutant(
        "PyG: softmax over the other side",
        "hypergnn.pyg:HypergraphConv._attended",
        value("over"),
        "'vertices' if _ == 'hyperedges' else 'hyperedges'",
        EXACT,
    ),
    Mutant(
        "PyG: dropout of another order",
        "hypergnn.pyg:HypergraphConv._dropped",
        argument("index_add", 1),
        "_.flip(0)",
        AS_IN_PYG,
    ),
    Mutant(
        "PyG: degrees without weights",
        "hypergnn.pyg.convolution:_counted",
        value("degree"),
        "_.detach()",
        AS_IN_PYG,
    ),
    Mutant(
        "PyG: changed ids not seen",
        "hypergnn.pyg.known:structure_of",
        condition("equal"),
        "known is None",
        f"{KNOWN}::test_a_structure_follows_changes_in_place",
    ),
    Mutant(
        "PyG: changed weights not seen",
        "hypergnn.pyg.known:with_weight",
        condition("equal"),
        "structure.weighted is not None",
        f"{KNOWN}::test_weights_follow_changes_in_place",
    ),
    Mutant(
        "PyG: changed features not seen",
        "hypergnn.pyg.known:sparse_if_few",
        comparison("stamp"),
        "False",
        f"{KNOWN}::test_features_follow_changes_in_place",
    ),
    Mutant(
        "batch: hyperedges not shifted",
        "hypergnn.structures.batches:batch",
        value("first_hyperedge"),
        "[0] * len(members)",
        "structures/test_batches.py::test_members_come_out_as_they_went_in",
    ),
    Mutant(
        "readout: mean over all",
        "hypergnn.functional.readouts:readout",
        value("size"),
        "_.sum()",
        "functional/test_readouts.py::test_each_member_gets_one_row",
    ),
]
