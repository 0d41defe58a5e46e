"""Each of these faults, most of them found in other libraries, must make a test fail.

One process loads torch and forks for every mutant: the child replaces one piece of text in a copy of the package and
runs the tests of the operators until the first one fails.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# name: (file, text, replacement)
MUTANTS = {
    "no weight in the product": (
        "functional/convolution.py",
        "middle = weight.unsqueeze(-1) * inverse(size)",
        "middle = inverse(size)",
    ),
    "no weight in the degree": (
        "hypergraph.py",
        "self.n_hyperedges)) @ weight",
        "self.n_hyperedges)) @ np.ones_like(weight)",
    ),
    "given weight left out of the degree": (
        "functional/convolution.py",
        "return H.vertex_degree() if weight is None else",
        "return H.vertex_degree() if True else",
    ),
    "no inverse of the hyperedge degree": (
        "functional/convolution.py",
        "middle = weight.unsqueeze(-1) * inverse(size)",
        "middle = weight.unsqueeze(-1) + 0 * size",
    ),
    "no inverse of the vertex degree": (
        "functional/convolution.py",
        "return inverse(degree), middle, None",
        "return None, middle, None",
    ),
    "half of the symmetric normalisation": (
        "functional/convolution.py",
        "return root, middle, root",
        "return root, middle, None",
    ),
    "row normalisation for symmetric": (
        "functional/convolution.py",
        "return root, middle, root",
        "return inverse(degree), middle, None",
    ),
    "normalised although told not to": ("functional/convolution.py", 'if normalization == "none":', "if False:"),
    "softmax over the wrong side": (
        "functional/attention.py",
        'if softmax_over == "hyperedges":',
        'if softmax_over != "hyperedges":',
    ),
    "softmax over everything": (
        "kernels/composed.py",
        "operators.segment_softmax(leaky_relu(scores, slope), offsets, position)",
        "leaky_relu(scores, slope).softmax(1)",
    ),
    "softmax over nothing": (
        "kernels/composed.py",
        "operators.segment_softmax(leaky_relu(scores, slope), offsets, position)",
        "torch.ones_like(scores)",
    ),
    "no LeakyReLU": ("kernels/composed.py", "leaky_relu(scores, slope)", "scores"),
    "slope ignored": ("kernels/composed.py", "leaky_relu(scores, slope)", "leaky_relu(scores, 0.3)"),
    "vertex half of the score dropped": (
        "functional/attention.py",
        "attend(vertex_score, hyperedge_score, H.vertices",
        "attend(0 * vertex_score, hyperedge_score, H.vertices",
    ),
    "hyperedge half of the score dropped": (
        "functional/attention.py",
        "attend(vertex_score, hyperedge_score, H.vertices",
        "attend(vertex_score, 0 * hyperedge_score, H.vertices",
    ),
    "attended degree replaced by a count": (
        "functional/convolution.py",
        "degree, size = degrees(incidence, weight, H.hyperedges)",
        "degree, size = degrees(incidence, weight, H.hyperedges)\n"
        "        degree = H.vertex_degree().to(size.dtype).unsqueeze(-1).expand_as(degree)",
    ),
    "attended size replaced by a count": (
        "functional/convolution.py",
        "degree, size = degrees(incidence, weight, H.hyperedges)",
        "degree, size = degrees(incidence, weight, H.hyperedges)\n"
        "        size = H.hyperedge_degree().to(size.dtype).unsqueeze(-1).expand_as(size)",
    ),
    "no gradient through the vertex degree": (
        "functional/convolution.py",
        "degree, size = degrees(incidence, weight, H.hyperedges)",
        "degree, size = degrees(incidence, weight, H.hyperedges)\n        degree = degree.detach()",
    ),
    "no gradient through the hyperedge degree": (
        "functional/convolution.py",
        "degree, size = degrees(incidence, weight, H.hyperedges)",
        "degree, size = degrees(incidence, weight, H.hyperedges)\n        size = size.detach()",
    ),
    "attention on one side only": (
        "kernels/composed.py",
        "sums = operators.segment_sum(_scaled(x, right), values, *by)",
        "sums = operators.segment_sum(_scaled(x, right), None if values is None else values * 0 + 1, *by)",
    ),
    "division before the mask": (
        "kernels/composed.py",
        "torch.where(present, torch.where(present, degree, 1).pow(-0.5 if root else -1.0), 0)",
        "degree.pow(-0.5 if root else -1.0).nan_to_num(0, 0, 0)",
    ),
    "centroids taken for vertices": (
        "functional/attention.py",
        "return x if is_own else x.index_select(-2, centroid)",
        "return x[..., : H.n_hyperedges, :]",
    ),
    "partial centroids ignored": ("functional/attention.py", "if H.centroid is None:", "if True:"),
    "sum for the mean of the members": (
        "functional/attention.py",
        "mean = inverse(hyperedge_degree(H).to(x.dtype)).unsqueeze(-1) * ",
        "mean = ",
    ),
    "graph without loops": ("graph.py", "loop = np.arange(n_vertices)", "loop = np.arange(0)"),
    "graph links in one direction": (
        "graph.py",
        "np.concatenate([target, source, loop]) * n_vertices + np.concatenate([source, target, loop])",
        "np.concatenate([target, loop]) * n_vertices + np.concatenate([source, loop])",
    ),
    "neighbours counted once for each hyperedge they share": (
        "shared_graph.py",
        "used @ used.T == 0",
        "used @ used.T >= 0",
    ),
    "no loop for a vertex without hyperedges": ("shared_graph.py", "if not path:", "if False:"),
    "disjoint beginnings numbered from the wrong block": (
        "shared_graph.py",
        "first = len(found)",
        "first = 0",
    ),
    "senders scaled as receivers": (
        "shared_graph.py",
        "weighted_sum(x, by_vertex.reversed(), right)",
        "weighted_sum(x, by_vertex.reversed(), left)",
    ),
    "rows of the wrong beginnings kept": ("shared_graph.py", "torch.isin(self.vertex, vertices)", "self.vertex < 2"),
    "graph attention the wrong way round": (
        "functional/pairwise.py",
        "attend(target_score, source_score, graph.targets",
        "attend(source_score, target_score, graph.targets",
    ),
    "sum for the mean of two transitions": (
        "functional/pairwise.py",
        "hypergraph_conv(x, H, normalization=normalization)) / 2",
        "hypergraph_conv(x, H, normalization=normalization))",
    ),
    "permutation of values forgotten": (
        "kernels/torch_backend.py",
        "values = values[:, position]",
        "values = values * 1",
    ),
    "permutation of logits forgotten": (
        "kernels/torch_backend.py",
        "grouped = logits if position is None else logits[:, position]",
        "grouped = logits",
    ),
    "permutation of the softmax forgotten": (
        "kernels/torch_backend.py",
        "out[:, position] = grouped",
        "out[:] = grouped",
    ),
    "permutation of inner products forgotten": (
        "kernels/torch_backend.py",
        "position.long()\n",
        "position.long().sort()[0]\n",
    ),
    "gradient of values missing": (
        "kernels/operators.py",
        "incidence_dot(grad, x, *by) if values_need_grad else None",
        "None",
    ),
    "gradient goes the same way as the sum": (
        "kernels/operators.py",
        "grad_x = segment_sum(grad, values, *by.reversed())",
        "grad_x = segment_sum(grad, values, *by)",
    ),
    "softmax gradient without the mean": (
        "kernels/operators.py",
        "softmax * (grad - segment_total(softmax * grad, offsets, position))",
        "softmax * grad",
    ),
    "projection always first": ("functional/projection.py", "projection.shape[-1] <= x.shape[-1]", "True"),
    "projection always last": ("functional/projection.py", "projection.shape[-1] <= x.shape[-1]", "False"),
    "sparse features made dense": (
        "functional/projection.py",
        "        return x @ projection",
        "        return x.to_dense() @ projection",
    ),
    "small weights take the degree away": (
        "functional/convolution.py",
        "weight = weight / weight.detach().amax(-1, keepdim=True)",
        "weight = weight * 1",
    ),
    "incidences not dropped": ("layers/attention.py", "dropped=self._drop(incidence)", "dropped=None"),
    "features not dropped": ("layers/attention.py", "self._drop(projected)", "projected"),
    "links not dropped": ("layers/attention.py", "self._drop(attention)", "attention"),
    "dropout keeps what it should drop": (
        "layers/attention.py",
        "dropout(x, self.dropout)",
        "dropout(x, 1 - self.dropout)",
    ),
    "attention returned without its gradient": (
        "layers/attention.py",
        "return (out, incidence) if",
        "return (out, incidence.detach()) if",
    ),
    "learned weight of the wrong sign": ("layers/conv.py", "(5 * (score / 5).tanh())", "(-5 * (score / 5).tanh())"),
    "learned weight of the wrong bound": ("layers/conv.py", "(score / 5).tanh()", "(score / 50).tanh()"),
    "scores start at nothing": (
        "layers/attention.py",
        "glorot(vector, 2 * self.out_features, 1, generator)",
        "nn.init.zeros_(vector)",
    ),
    "weights without an upper bound": ("checks.py", "(weight <= 1e15)", "(weight <= np.inf)"),
    "names left out of equality": ("stored.py", "for field in fields(one)]", "for field in fields(one)[:-2]]"),
    "degrees handed out": ("hypergraph.py", "return self._vertex_degree.clone()", "return self._vertex_degree"),
    "dropout of the epoch before": ("randomness.py", "_hash(seed, self.epoch, number)", "_hash(seed, 0, number)"),
    "dropout the same in every layer": (
        "randomness.py",
        "_hash(seed, self.epoch, number)",
        "_hash(seed, self.epoch, 0)",
    ),
    "dropout the same for all seeds": (
        "randomness.py",
        "_hash(seed, self.epoch, number)",
        "_hash(0, self.epoch, number)",
    ),
    "duplicate incidences admitted": ("incidence.py", "if by_row.nnz < rows.size:", "if False:"),
    "negative ids admitted": ("checks.py", "if low < minimum or high >= size:", "if high >= size:"),
    "zero weights admitted": ("checks.py", "(weight >= 1e-15)", "(weight >= 0)"),
    "sum for the mean of heads": ("layers/base.py", ".mean(-2)", ".sum(-2)"),
    "skip connection forgotten": ("layers/base.py", "elif self.skip:", "elif False:"),
    "bias forgotten": ("layers/base.py", "out = out + self.bias.unsqueeze(-2)", "out = out * 1"),
    "dropout in evaluation": (
        "layers/attention.py",
        "dropout(x, self.dropout) if self.training else x",
        "dropout(x, self.dropout)",
    ),
    "hyperedges projected as vertices": (
        "layers/attention.py",
        "projection = self.projection if self.hyperedge_projection is None else self.hyperedge_projection",
        "projection = self.projection",
    ),
    "learned weight may be negative": ("layers/conv.py", "(5 * (score / 5).tanh()).exp()", "(1 + score)"),
    "projection applied twice": (
        "functional/projection.py",
        "return _product(x, projection), None",
        "return _product(x, projection), projection",
    ),
    "new rows scaled by nobody's degree": (
        "functional/reading.py",
        "left = scalings(readers, normalization, dense.dtype, weight, reading)[0]",
        "left = None",
    ),
    "weight left out of what new rows read": (
        "functional/reading.py",
        "segment_sum(_scaled(sums, middle), by",
        "segment_sum(_scaled(sums, middle / weight.unsqueeze(-1) if weight is not None else middle), by",
    ),
    "dropout taken into the degrees": (
        "functional/convolution.py",
        "left, middle, right = scalings(H, normalization, x.dtype, weight, incidence)",
        "left, middle, right = scalings(H, normalization, x.dtype, weight, incidence if dropped is None else dropped)",
    ),
}

# Compiled anew for each, and so only for one test: the one that should notice.
COMPILED_MUTANTS = {
    "permutation of values forgotten": (
        "kernels/numba_backend.py",
        "return _array(values), _index(by[2])",
        "return _array(values), _NO_INDEX",
        "test_a_transition_is_two_sums",
    ),
    "last factor of a group forgotten": (
        "kernels/numba_backend.py",
        "(_array(outer), outer.shape[2])",
        "(_ONE[dtype.char], 0)",
        "test_a_transition_is_two_sums",
    ),
    "pieces of a large group not added": (
        "kernels/numba_backend.py",
        "            total += part[:, piece]\n",
        "            total = part[:, piece]\n",
        "test_any_number_of_threads",
    ),
    "dropout drawn by place, not by incidence": (
        "kernels/sums.py",
        "kept[k] = random_bits(position[begin + k], first, second) >= threshold",
        "kept[k] = random_bits(begin + k, first, second) >= threshold",
        "test_dropout_within_a_sum",
    ),
    "slope missing in the gradient": (
        "kernels/heads.py",
        "                    slant = leaky(slant, steep, score +",
        "                    slant = leaky(slant, alike(slope / slope), score +",
        "test_gradients_of_many_heads",
    ),
    "gradient of the left scaling for the right": (
        "kernels/fused.py",
        "_like(by_right, right)",
        "_like(by_left, right)",
        "test_gradients_of_a_transition",
    ),
    "one row of a tile for all": (
        "kernels/products.py",
        "out[trial, start + n + r, c] = found[r, c]",
        "out[trial, start + n + r, c] = found[0, c]",
        "test_a_row_of_a_product",
    ),
    "loss summed over the rows": (
        "kernels/elementwise.py",
        "out[trial] = loss / rows.size",
        "out[trial] = loss",
        "test_cross_entropy",
    ),
    "gradient of ELU without its slope": (
        "kernels/elementwise.py",
        "change = come[k] * (scale + min(given[k], zero))",
        "change = come[k] * scale",
        "test_elu_with_dropout",
    ),
}

RUNNER = """
import json, os, shutil, sys, tempfile
from pathlib import Path
import pytest, torch, torch.func, scipy.sparse  # loaded once, shared by all children

root, mutants = Path(sys.argv[1]), json.loads(sys.argv[2])
torch.set_num_threads(1)

def exit_code_of(file, text, replacement, test=None):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(root / "src" / "hypergnn", Path(folder) / "hypergnn")
        path = Path(folder) / "hypergnn" / file
        source = path.read_text()
        assert source.count(text) >= 1, f"{text!r} is not in {file}"
        path.write_text(source.replace(text, replacement))
        child = os.fork()
        if child == 0:
            sys.path.insert(0, folder)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1), os.dup2(null, 2)
            import hypergnn.kernels.choice
            hypergnn.kernels.choice.wanted = "numba" if test else "torch"
            tests = ["hypergraph", "graph", "paper_claims", "randomness", "layers", "kernels", "functional",
                     "shared_graph", "reading"]
            tests.sort(key=lambda name: name not in file)  # those most likely to notice come first
            files = [str(root / "tests" / f"test_{name}.py") for name in (["kernels"] if test else tests)]
            chosen = f"{test} and not torch" if test else "not numba"
            code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow", "-k", chosen,
                                "--rootdir", str(root), *files])
            os._exit(int(code))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

print(json.dumps({name: exit_code_of(*mutant) for name, mutant in mutants.items()}))
"""


def run(mutants: dict[str, tuple[str, ...]]) -> dict[str, int]:
    """Exit code of the tests for each mutant, in as many processes as there are cores."""
    shares = [dict(list(mutants.items())[start :: os.cpu_count()]) for start in range(os.cpu_count())]
    command = [sys.executable, "-c", RUNNER, str(ROOT)]
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
    ("mutants", "unchanged"),
    [
        (MUTANTS, ("layers/base.py", "skip", "skip")),
        (COMPILED_MUTANTS, ("kernels/heads.py", "heads", "heads", "test_gradients_of_many_heads")),
    ],
    ids=["torch", "numba"],
)
def test_every_mutant_fails_a_test(mutants, unchanged):
    exit_codes = run({"nothing changed": unchanged} | mutants)
    assert exit_codes.pop("nothing changed") == pytest.ExitCode.OK
    survivors = [name for name, code in exit_codes.items() if code != pytest.ExitCode.TESTS_FAILED]
    assert survivors == []
