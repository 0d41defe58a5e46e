"""Each of these faults, most of them found in other libraries, must make a test fail.

One process loads torch and forks for every mutant: the child replaces one piece of text in a copy of the package and
runs the test that should notice.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# name: (file, text, replacement, the test that notices)
MUTANTS = {
    "labels left behind in another order": (
        "training/order.py",
        "y=data.y[vertices]",
        "y=data.y",
        "training/test_training.py::test_in_another_order_the_same_is_learned",
    ),
    "no weight in the product": (
        "functional/convolution.py",
        "else weight.unsqueeze(-1) * inverse(size)",
        "else inverse(size)",
        "functional/test_functional.py::test_conv_equals_the_transition_times_features",
    ),
    "no weight in the degree": (
        "structures/hypergraph.py",
        "self.n_hyperedges)) @ weight",
        "self.n_hyperedges)) @ np.ones_like(weight)",
        "structures/test_hypergraph.py::test_degrees_are_weighted_for_vertices_and_counts_for_hyperedges",
    ),
    "given weight left out of the degree": (
        "functional/convolution.py",
        "return H.vertex_degree() if weight is None else",
        "return H.vertex_degree() if True else",
        "functional/test_functional.py::test_degrees_equal_their_definition",
    ),
    "no inverse of the hyperedge degree": (
        "functional/convolution.py",
        "else weight.unsqueeze(-1) * inverse(size)",
        "else weight.unsqueeze(-1) + 0 * size",
        "functional/test_functional.py::test_conv_equals_the_transition_times_features",
    ),
    "no inverse of the vertex degree": (
        "functional/convolution.py",
        "return inverse(degree), middle, None",
        "return None, middle, None",
        "functional/test_functional.py::test_conv_equals_the_transition_times_features",
    ),
    "half of the symmetric normalisation": (
        "functional/convolution.py",
        "return root, middle, root",
        "return root, middle, None",
        "functional/test_functional.py::test_conv_equals_the_transition_times_features",
    ),
    "row normalisation for symmetric": (
        "functional/convolution.py",
        "return root, middle, root",
        "return inverse(degree), middle, None",
        "functional/test_functional.py::test_conv_equals_the_transition_times_features",
    ),
    "normalised although told not to": (
        "functional/convolution.py",
        'if normalization == "none":',
        "if False:",
        "functional/test_functional.py::test_conv_equals_the_transition_times_features",
    ),
    "softmax over the wrong side": (
        "functional/attention.py",
        'if softmax_over == "hyperedges":',
        'if softmax_over != "hyperedges":',
        "functional/test_functional.py::test_attention_equals_its_definition",
    ),
    "softmax over everything": (
        "kernels/composed.py",
        "operators.segment_softmax(leaky_relu(scores, slope), offsets, position)",
        "leaky_relu(scores, slope).softmax(1)",
        "kernels/test_kernels.py::test_attention_is_a_softmax_of_leaky_sums_with_exact_gradients",
    ),
    "softmax over nothing": (
        "kernels/composed.py",
        "operators.segment_softmax(leaky_relu(scores, slope), offsets, position)",
        "torch.ones_like(scores)",
        "kernels/test_kernels.py::test_attention_is_a_softmax_of_leaky_sums_with_exact_gradients",
    ),
    "no LeakyReLU": (
        "kernels/composed.py",
        "leaky_relu(scores, slope)",
        "scores",
        "kernels/test_kernels.py::test_attention_is_a_softmax_of_leaky_sums_with_exact_gradients",
    ),
    "slope ignored": (
        "kernels/composed.py",
        "leaky_relu(scores, slope)",
        "leaky_relu(scores, 0.3)",
        "kernels/test_kernels.py::test_attention_is_a_softmax_of_leaky_sums_with_exact_gradients",
    ),
    "vertex half of the score dropped": (
        "functional/attention.py",
        "attend(vertex_score, hyperedge_score, H.vertices",
        "attend(0 * vertex_score, hyperedge_score, H.vertices",
        "functional/test_functional.py::test_attention_equals_its_definition",
    ),
    "hyperedge half of the score dropped": (
        "functional/attention.py",
        "attend(vertex_score, hyperedge_score, H.vertices",
        "attend(vertex_score, 0 * hyperedge_score, H.vertices",
        "functional/test_functional.py::test_attention_equals_its_definition",
    ),
    "attended degree replaced by a count": (
        "functional/convolution.py",
        "degree = value_sums(incidence, H.vertices, weight)",
        "degree = H.vertex_degree().to(dtype).unsqueeze(-1).expand(-1, incidence.shape[-1])",
        "functional/test_functional.py::test_attended_conv_takes_its_degrees_from_the_attended_incidence",
    ),
    "weights forgotten where a softmax is known": (
        "functional/convolution.py",
        'if softmax_over != "hyperedges" or weight is not None:',
        'if softmax_over != "hyperedges":',
        "functional/test_functional.py::test_degrees_that_a_softmax_makes_1_need_not_be_summed",
    ),
    "attended size replaced by a count": (
        "functional/convolution.py",
        "size = value_sums(incidence, H.hyperedges)",
        "size = H.hyperedge_degree().to(dtype).unsqueeze(-1).expand(-1, incidence.shape[-1])",
        "functional/test_functional.py::test_attended_conv_takes_its_degrees_from_the_attended_incidence",
    ),
    "no gradient through the vertex degree": (
        "functional/convolution.py",
        "degree = value_sums(incidence, H.vertices, weight)",
        "degree = value_sums(incidence, H.vertices, weight).detach()",
        "functional/test_functional.py::test_gradients_flow_through_attention_into_both_degrees",
    ),
    "no gradient through the hyperedge degree": (
        "functional/convolution.py",
        "size = value_sums(incidence, H.hyperedges)",
        "size = value_sums(incidence, H.hyperedges).detach()",
        "functional/test_functional.py::test_gradients_flow_through_attention_into_both_degrees",
    ),
    "attention on one side only": (
        "kernels/composed.py",
        "sums = operators.segment_sum(_scaled(x, right), values, *by)",
        "sums = operators.segment_sum(_scaled(x, right), None if values is None else values * 0 + 1, *by)",
        "kernels/test_kernels.py::test_a_transition_is_two_sums_and_three_scalings",
    ),
    "division before the mask": (
        "kernels/composed.py",
        "torch.where(present, torch.where(present, degree, 1).pow(-0.5 if root else -1.0), 0)",
        "degree.pow(-0.5 if root else -1.0).nan_to_num(0, 0, 0)",
        "kernels/test_kernels.py::test_the_inverse_of_no_degree_is_nothing",
    ),
    "centroids taken for vertices": (
        "functional/attention.py",
        "return x if is_own else x.index_select(-2, centroid)",
        "return x[..., : H.n_hyperedges, :]",
        "functional/test_functional.py::test_hyperedge_features_are_centroids_or_means",
    ),
    "partial centroids ignored": (
        "functional/attention.py",
        "if H.centroid is None:",
        "if True:",
        "functional/test_functional.py::test_hyperedge_features_are_centroids_or_means",
    ),
    "sum for the mean of the members": (
        "functional/attention.py",
        "mean = inverse(hyperedge_degree(H).to(x.dtype)).unsqueeze(-1) * ",
        "mean = ",
        "functional/test_functional.py::test_hyperedge_features_are_centroids_or_means",
    ),
    "graph without loops": (
        "structures/graph.py",
        "loop = np.arange(n_vertices)",
        "loop = np.arange(0)",
        "structures/test_graph.py::test_links_count_once_in_both_directions_with_one_loop_per_vertex",
    ),
    "graph links in one direction": (
        "structures/graph.py",
        "np.concatenate([target, source, loop]) * n_vertices + np.concatenate([source, target, loop])",
        "np.concatenate([target, loop]) * n_vertices + np.concatenate([source, loop])",
        "structures/test_graph.py::test_links_count_once_in_both_directions_with_one_loop_per_vertex",
    ),
    "neighbours counted once for each hyperedge they share": (
        "structures/shared_graph.py",
        "used @ used.T == 0",
        "used @ used.T >= 0",
        "structures/test_shared_graph.py::test_neighbours_and_links_are_those_of_the_listed_graph",
    ),
    "no loop for a vertex without hyperedges": (
        "structures/shared_graph.py",
        "if not path:",
        "if False:",
        "structures/test_shared_graph.py::test_neighbours_and_links_are_those_of_the_listed_graph",
    ),
    "disjoint beginnings numbered from the wrong block": (
        "structures/shared_graph.py",
        "first = len(found)",
        "first = 0",
        "structures/test_shared_graph.py::test_neighbours_and_links_are_those_of_the_listed_graph",
    ),
    "senders scaled as receivers": (
        "structures/shared_graph.py",
        "weighted_sum(x, by_vertex.reversed(), right)",
        "weighted_sum(x, by_vertex.reversed(), left)",
        "structures/test_shared_graph.py::test_convolutions_take_it",
    ),
    "rows of the wrong beginnings kept": (
        "structures/shared_graph.py",
        "torch.isin(self.vertex, vertices)",
        "self.vertex < 2",
        "structures/test_shared_graph.py::test_a_part_gives_the_same_around_its_vertices_at_less_cost",
    ),
    "graph attention the wrong way round": (
        "functional/pairwise.py",
        "attend(target_score, source_score, graph.targets",
        "attend(source_score, target_score, graph.targets",
        "functional/test_functional.py::test_graph_attention_runs_over_neighbours_and_the_vertex_itself",
    ),
    "sum for the mean of two transitions": (
        "functional/pairwise.py",
        "hypergraph_conv(x, H, normalization=normalization)) / 2",
        "hypergraph_conv(x, H, normalization=normalization))",
        "functional/test_functional.py::test_mean_of_both_transitions_shares_one_projection",
    ),
    "permutation of values forgotten": (
        "kernels/portable.py",
        "values = values[:, position]",
        "values = values * 1",
        "kernels/test_kernels.py::test_sums_with_values_equal_dense_products_per_trial_and_head",
    ),
    "permutation of logits forgotten": (
        "kernels/portable.py",
        "grouped = logits if position is None else logits[:, position]",
        "grouped = logits",
        "kernels/test_kernels.py::test_softmax_equals_dense_softmax_forward_and_backward",
    ),
    "permutation of the softmax forgotten": (
        "kernels/portable.py",
        "out[:, position] = grouped",
        "out[:] = grouped",
        "kernels/test_kernels.py::test_softmax_equals_dense_softmax_forward_and_backward",
    ),
    "permutation of inner products forgotten": (
        "kernels/portable.py",
        "position.long()\n",
        "position.long().sort()[0]\n",
        "kernels/test_kernels.py::test_inner_products_come_in_chunks",
    ),
    "gradient of values missing": (
        "kernels/ops.py",
        "incidence_dot(grad, x, *by) if values_need_grad else None",
        "None",
        "kernels/test_kernels.py::test_gradients_of_sums_are_exact_twice",
    ),
    "gradient goes the same way as the sum": (
        "kernels/ops.py",
        "grad_x = segment_sum(grad, values, *by.reversed())",
        "grad_x = segment_sum(grad, values, *by)",
        "kernels/test_kernels.py::test_gradients_of_sums_are_exact_twice",
    ),
    "softmax gradient without the mean": (
        "kernels/ops.py",
        "softmax * (grad - segment_total(softmax * grad, offsets, position))",
        "softmax * grad",
        "kernels/test_kernels.py::test_softmax_equals_dense_softmax_forward_and_backward",
    ),
    "projection always first": (
        "functional/projection.py",
        "projection.shape[-1] <= x.shape[-1]",
        "True",
        "functional/test_functional.py::test_the_projection_comes_on_the_cheaper_side",
    ),
    "projection always last": (
        "functional/projection.py",
        "projection.shape[-1] <= x.shape[-1]",
        "False",
        "functional/test_functional.py::test_the_projection_comes_on_the_cheaper_side",
    ),
    "sparse features made dense": (
        "functional/projection.py",
        "        return x @ projection",
        "        return x.to_dense() @ projection",
        "functional/test_functional.py::test_sparse_features_are_never_made_dense",
    ),
    "small weights take the degree away": (
        "functional/convolution.py",
        "return weight / weight.detach().amax(-1, keepdim=True) if",
        "return weight if",
        "functional/test_paper_claims.py::test_a_common_factor_of_all_weights_changes_nothing",
    ),
    "incidences not dropped": (
        "layers/attention.py",
        "dropped=self._drop(incidence, H.incidence_places)",
        "dropped=None",
        "layers/test_layers.py::test_dropout_falls_on_the_propagated_features_and_on_the_transition",
    ),
    "features not dropped": (
        "layers/attention.py",
        "self._drop(projected, H.vertex_places)",
        "projected",
        "layers/test_layers.py::test_dropout_falls_on_the_propagated_features_and_on_the_transition",
    ),
    "links not dropped": (
        "layers/attention.py",
        "self._drop(attention, graph.incidence_places)",
        "attention",
        "layers/test_layers.py::test_dropout_falls_on_the_propagated_features_and_on_the_transition",
    ),
    "dropout keeps what it should drop": (
        "layers/attention.py",
        "dropout(x, self.dropout, places)",
        "dropout(x, 1 - self.dropout, places)",
        "layers/test_layers.py::test_every_parameter_receives_a_gradient",
    ),
    "attention returned without its gradient": (
        "layers/attention.py",
        "return (out, incidence) if",
        "return (out, incidence.detach()) if",
        "layers/test_layers.py::test_the_returned_attention_is_whole_and_carries_its_gradient",
    ),
    "learned weight of the wrong sign": (
        "layers/convolution.py",
        "(5 * (score / 5).tanh())",
        "(-5 * (score / 5).tanh())",
        "layers/test_layers.py::test_learned_weights_follow_their_formula",
    ),
    "learned weight of the wrong bound": (
        "layers/convolution.py",
        "(score / 5).tanh()",
        "(score / 50).tanh()",
        "layers/test_layers.py::test_learned_weights_follow_their_formula",
    ),
    "scores start at nothing": (
        "layers/attention.py",
        "glorot(vector, 2 * self.out_features, 1, generator)",
        "nn.init.zeros_(vector)",
        "layers/test_layers.py::test_parameters_of_the_heterogeneous_and_weighted_layers_receive_gradients",
    ),
    "weights without an upper bound": (
        "_utils/checks.py",
        "(weight <= 1e15)",
        "(weight <= np.inf)",
        "structures/test_hypergraph.py::test_bad_input_is_refused",
    ),
    "names left out of equality": (
        "persistence/structures.py",
        "for field in fields(one)]",
        'for field in fields(one) if not field.name.endswith("_names")]',
        "structures/test_hypergraph.py::test_equality_looks_at_names_and_only_at_hypergraphs",
    ),
    "degrees handed out": (
        "structures/hypergraph.py",
        "return self._vertex_degree.clone()",
        "return self._vertex_degree",
        "structures/test_hypergraph.py::test_it_does_not_change",
    ),
    "dropout of the epoch before": (
        "kernels/dropout.py",
        "_hash(seed, self.epoch, number)",
        "_hash(seed, 0, number)",
        "kernels/test_dropout.py::test_seeds_epochs_layers_and_positions_are_independent",
    ),
    "dropout the same in every layer": (
        "kernels/dropout.py",
        "_hash(seed, self.epoch, number)",
        "_hash(seed, self.epoch, 0)",
        "kernels/test_dropout.py::test_seeds_epochs_layers_and_positions_are_independent",
    ),
    "dropout the same for all seeds": (
        "kernels/dropout.py",
        "_hash(seed, self.epoch, number)",
        "_hash(0, self.epoch, number)",
        "kernels/test_dropout.py::test_seeds_epochs_layers_and_positions_are_independent",
    ),
    "duplicate incidences admitted": (
        "structures/incidence.py",
        "if by_row.nnz < rows.size:",
        "if False:",
        "structures/test_hypergraph.py::test_bad_input_is_refused",
    ),
    "negative ids admitted": (
        "_utils/checks.py",
        "if low < minimum or high >= size:",
        "if high >= size:",
        "structures/test_hypergraph.py::test_bad_input_is_refused",
    ),
    "zero weights admitted": (
        "_utils/checks.py",
        "(weight >= 1e-15)",
        "(weight >= 0)",
        "structures/test_hypergraph.py::test_bad_input_is_refused",
    ),
    "sum for the mean of heads": (
        "layers/base.py",
        ".mean(-2)",
        ".sum(-2)",
        "layers/test_layers.py::test_heads_are_concatenated_or_averaged",
    ),
    "skip connection forgotten": (
        "layers/base.py",
        "elif self.skip:",
        "elif False:",
        "layers/test_layers.py::test_skip_connection_adds_the_input_itself_where_widths_agree",
    ),
    "bias forgotten": (
        "layers/base.py",
        "out = out + self.bias.unsqueeze(-2)",
        "out = out * 1",
        "layers/test_layers.py::test_bias_is_added_once",
    ),
    "dropout in evaluation": (
        "layers/attention.py",
        "dropout(x, self.dropout, places) if self.training else x",
        "dropout(x, self.dropout, places)",
        "layers/test_layers.py::test_dropout_is_for_training_only",
    ),
    "hyperedges projected as vertices": (
        "layers/attention.py",
        "projection = self.projection if self.hyperedge_projection is None else self.hyperedge_projection",
        "projection = self.projection",
        "layers/test_layers.py::test_parameters_of_the_heterogeneous_and_weighted_layers_receive_gradients",
    ),
    "learned weight may be negative": (
        "layers/convolution.py",
        "(5 * (score / 5).tanh()).exp()",
        "(1 + score)",
        "layers/test_layers.py::test_learned_weights_follow_their_formula",
    ),
    "projection applied twice": (
        "functional/projection.py",
        "return _product(x, projection), None",
        "return _product(x, projection), projection",
        "functional/test_functional.py::test_projection_may_come_on_either_side",
    ),
    "new rows scaled by nobody's degree": (
        "functional/new_vertices.py",
        "left = scalings(readers, normalization, dense.dtype, weight, reading)[0]",
        "left = None",
        "functional/test_new_vertices.py::test_rows_with_the_memberships_of_vertices_gather_what_these_gather",
    ),
    "weight left out of what new rows read": (
        "functional/new_vertices.py",
        "segment_sum(_scaled(sums, middle), by",
        "segment_sum(_scaled(sums, middle / weight.unsqueeze(-1) if weight is not None else middle), by",
        "functional/test_new_vertices.py::test_reading_is_the_dense_transition_with_another_incidence_on_its_left",
    ),
    "dropout taken into the degrees": (
        "functional/convolution.py",
        "x.dtype, weight, incidence, softmax_over)",
        "x.dtype, weight, incidence if dropped is None else dropped, softmax_over)",
        "functional/test_functional.py::test_dropout_comes_after_the_degrees_were_taken",
    ),
}

# The same for the compiled loops.
COMPILED_MUTANTS = {
    "permutation of values forgotten": (
        "kernels/cpu/segment.py",
        "return array_of(values), index_of(by[2])",
        "return array_of(values), NO_INDEX",
        "kernels/test_kernels.py::test_a_transition_is_two_sums",
    ),
    "last factor of a group forgotten": (
        "kernels/cpu/segment.py",
        "(array_of(outer), outer.shape[2])",
        "(_ONE[dtype.char], 0)",
        "kernels/test_kernels.py::test_a_transition_is_two_sums",
    ),
    "pieces of a large group not added": (
        "kernels/cpu/segment.py",
        "            total += part[:, piece]\n",
        "            total = part[:, piece]\n",
        "kernels/test_kernels.py::test_any_number_of_threads",
    ),
    "dropout drawn by place, not by incidence": (
        "kernels/cpu/dropped_loops.py",
        "kept[k] = random_bits(places[k], first, second) >= threshold",
        "kept[k] = random_bits(begin + k, first, second) >= threshold",
        "kernels/test_kernels.py::test_dropout_within_a_sum",
    ),
    "members of a part of eight not counted": (
        "kernels/cpu/dropped_loops.py",
        "ends[one_of - base + 1] += (some * _TOTAL) >> np.uint64(56)",
        "ends[one_of - base + 1] += 0",
        "kernels/test_kernels.py::test_dropout_within_a_sum",
    ),
    "transition activated without its bias": (
        "kernels/cpu/segment_loops.py",
        "added[:] = bias[trial]",
        "added[:] = 0",
        "kernels/test_kernels.py::test_a_transition_and_its_activation_in_one_step_are_those_in_two",
    ),
    "memory lent while it is looked at": (
        "kernels/cpu/buffers.py",
        "    loan = _Loan(array, _ended.append)",
        "    loan = _Loan(array[:], _ended.append)",
        "kernels/test_buffers.py::test_memory_is_lent_again",
    ),
    "memory lent twice": (
        "kernels/cpu/buffers.py",
        "            _idle.remove(block)\n",
        "            pass\n",
        "kernels/test_buffers.py::test_memory_is_lent_again",
    ),
    "memory lent that is too small": (
        "kernels/cpu/buffers.py",
        "if size <= len(block) <= 2 * size",
        "if len(block) <= 2 * size",
        "kernels/test_buffers.py::test_what_is_idle",
    ),
    "gradient of the scaling on the left taken for the right": (
        "kernels/cpu/dot_loops.py",
        "                put(right_to, at_vertex, right_sum)\n",
        "                put(right_to, at_vertex, left_sum)\n",
        "kernels/test_kernels.py::test_transitions_of_rows_that_no_cache_holds",
    ),
    "a block of rows not walked": (
        "kernels/cpu/dropped_loops.py",
        "base, last = block * BLOCK, min((block + 1) * BLOCK, x.shape[1])",
        "base, last = block * BLOCK + 1, min((block + 1) * BLOCK, x.shape[1])",
        "kernels/test_kernels.py::test_few_sums_of_many_rows",
    ),
    "a factor forgotten where rows are walked": (
        "kernels/cpu/segment_loops.py",
        "put(to, k, lanes(to, k, number) + many * lanes(source, k, number))",
        "put(to, k, lanes(to, k, number) + lanes(source, k, number))",
        "kernels/test_kernels.py::test_large_groups_are_summed_by_walking_the_rows",
    ),
    "no other sum begun where rows are walked": (
        "kernels/cpu/segment_loops.py",
        "if counts[group] == PIECE:",
        "if counts[group] == 1 << 30:",
        "kernels/test_kernels.py::test_long_sums_keep_what_they_add",
    ),
    "slope missing in the gradient": (
        "kernels/cpu/attention_loops.py",
        "                    slant = leaky(slant, steep, score +",
        "                    slant = leaky(slant, alike(slope / slope), score +",
        "kernels/test_kernels.py::test_gradients_of_many_heads",
    ),
    "gradient of the left scaling for the right": (
        "kernels/cpu/fused.py",
        "_like(by_right, right)",
        "_like(by_left, right)",
        "kernels/test_kernels.py::test_gradients_of_a_transition",
    ),
    "one row of a tile for all": (
        "kernels/cpu/gemm_loops.py",
        "out[trial, start + n + r, c] = found[r, c]",
        "out[trial, start + n + r, c] = found[0, c]",
        "kernels/test_kernels.py::test_a_row_of_a_product",
    ),
    "loss summed over the rows": (
        "kernels/cpu/pointwise_loops.py",
        "out[trial] = loss / rows.size",
        "out[trial] = loss",
        "kernels/test_kernels.py::test_cross_entropy",
    ),
    "gradient of ELU without its slope": (
        "kernels/cpu/pointwise_loops.py",
        "change = come[k] * (scale + min(given[k], zero))",
        "change = come[k] * scale",
        "kernels/test_kernels.py::test_elu_with_dropout",
    ),
}


def test_every_mutant_changes_something():
    for file, text, replacement, _ in (*MUTANTS.values(), *COMPILED_MUTANTS.values()):
        source = (ROOT / "src" / "hypergnn" / file).read_text()
        assert text in source, f"{text!r} is not in {file}"
        assert source.replace(text, replacement) != source


RUNNER = """
import json, os, shutil, sys, tempfile
from pathlib import Path
# loaded once, shared by all children; but nothing whose asserts pytest would rewrite: it refuses what is loaded already
import numba.extending, pytest, torch, torch._subclasses.fake_tensor, torch.func, scipy.sparse

root, backend, mutants = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
torch.set_num_threads(1)
no_plugins = [word for name in ("cacheprovider", "hypothesispytest", "xdist") for word in ("-p", f"no:{name}")]

def exit_code_of(file, text, replacement, test):
    with tempfile.TemporaryDirectory() as folder:
        left_out = shutil.ignore_patterns(*(["*.nbi", "*.nbc"] if backend == "torch" else []))
        shutil.copytree(root / "src" / "hypergnn", Path(folder) / "hypergnn", ignore=left_out)
        path = Path(folder) / "hypergnn" / file
        source = path.read_text()
        assert source.count(text) >= 1, f"{text!r} is not in {file}"
        path.write_text(source.replace(text, replacement))
        child = os.fork()
        if child == 0:
            sys.path.insert(0, folder)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1), os.dup2(null, 2)
            import hypergnn.kernels.dispatch
            hypergnn.kernels.dispatch.wanted = backend
            module, name = test.split("::")
            other = {"numba": "torch", "torch": "numba"}[backend]
            chosen = ["-k", f"{name} and not {other}", str(root / "tests" / module)]
            code = pytest.main(["-x", "-q", *no_plugins, "--rootdir", str(root), *chosen])
            os._exit(int(code))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

print(json.dumps({name: exit_code_of(*mutant) for name, mutant in mutants.items()}))
"""


def run(backend: str, mutants: dict[str, tuple[str, ...]]) -> dict[str, int]:
    """Exit code of the test for each mutant, in as many processes as there are cores."""
    shares = [dict(list(mutants.items())[start :: os.cpu_count()]) for start in range(os.cpu_count())]
    command = [sys.executable, "-c", RUNNER, str(ROOT), backend]
    runners = [
        subprocess.Popen([*command, json.dumps(share)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
        for share in shares
    ]
    exit_codes = {}
    for runner in runners:
        out, err = runner.communicate()
        assert runner.returncode == 0, err.decode()
        exit_codes |= json.loads(out)
    return exit_codes


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants run in forked processes")
@pytest.mark.parametrize(
    ("backend", "mutants"), [("torch", MUTANTS), ("numba", COMPILED_MUTANTS)], ids=["torch", "numba"]
)
def test_every_mutant_fails_a_test(backend, mutants):
    file, text, _, test = next(iter(mutants.values()))
    exit_codes = run(backend, {**mutants, "nothing changed": (file, text, text, test)})
    assert exit_codes.pop("nothing changed") == pytest.ExitCode.OK
    survivors = [name for name, code in exit_codes.items() if code != pytest.ExitCode.TESTS_FAILED]
    assert survivors == []
