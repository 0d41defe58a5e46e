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
        "segment_sum(weight * hyperedge_sum",
        "segment_sum(hyperedge_sum",
    ),
    "no weight in the degree": (
        "hypergraph.py",
        "weights=weights[hyperedge], minlength=n_vertices",
        "weights=np.ones(hyperedge.size), minlength=n_vertices",
    ),
    "given weight left out of the degree": (
        "functional/convolution.py",
        "return H.vertex_degree() if weight is None else",
        "return H.vertex_degree() if True else",
    ),
    "no inverse of the hyperedge degree": (
        "functional/convolution.py",
        "weight = weight * inverse(size)",
        "weight = weight * 1",
    ),
    "no inverse of the vertex degree": (
        "functional/convolution.py",
        'x = inverse(degree, 0.5 if normalization == "symmetric" else 1.0) * x',
        "x = x * 1",
    ),
    "half of the symmetric normalisation": ("functional/convolution.py", "x = inverse(degree, 0.5) * x", "x = x * 1"),
    "row normalisation for symmetric": (
        "functional/convolution.py",
        '0.5 if normalization == "symmetric" else 1.0',
        "1.0",
    ),
    "normalised although told not to": (
        "functional/convolution.py",
        'if normalization != "none":\n        weight',
        "if True:\n        weight",
    ),
    "softmax over the wrong side": (
        "functional/attention.py",
        'H.vertices if softmax_over == "hyperedges" else H.hyperedges',
        'H.hyperedges if softmax_over == "hyperedges" else H.vertices',
    ),
    "softmax over everything": (
        "functional/attention.py",
        "segment_softmax(logits, by=H.vertices",
        "logits.softmax(-2) if True else (logits, H.vertices",
    ),
    "softmax over nothing": (
        "functional/attention.py",
        "segment_softmax(logits, by=H.vertices",
        "logits.softmax(-1) if True else (logits, H.vertices",
    ),
    "no LeakyReLU": ("functional/attention.py", "logits = leaky_relu(score, negative_slope)", "logits = score"),
    "slope ignored": ("functional/attention.py", "leaky_relu(score, negative_slope)", "leaky_relu(score, 0.2)"),
    "vertex half of the score dropped": ("functional/attention.py", "vertex_score.index_select(-2, H.vertex) + ", ""),
    "hyperedge half of the score dropped": (
        "functional/attention.py",
        " + hyperedge_score.index_select(-2, H.hyperedge)",
        " * 1",
    ),
    "attended degree replaced by a count": (
        "functional/convolution.py",
        "degree = vertex_degree(H, incidence=incidence, weight=weight).to(x.dtype).unsqueeze(-1)",
        "degree = vertex_degree(H, weight=weight).to(x.dtype).reshape(-1, *[1] * (x.dim() - 1))",
    ),
    "attended size replaced by a count": (
        "functional/convolution.py",
        "size = hyperedge_degree(H, incidence=incidence).to(x.dtype).unsqueeze(-1)",
        "size = hyperedge_degree(H).to(x.dtype).reshape(-1, *[1] * (x.dim() - 1))",
    ),
    "no gradient through the vertex degree": (
        "functional/convolution.py",
        ".to(x.dtype).unsqueeze(-1)  # D",
        ".to(x.dtype).unsqueeze(-1).detach()  # D",
    ),
    "no gradient through the hyperedge degree": (
        "functional/convolution.py",
        ".to(x.dtype).unsqueeze(-1)  # B",
        ".to(x.dtype).unsqueeze(-1).detach()  # B",
    ),
    "attention on one side only": (
        "functional/convolution.py",
        "hyperedge_sum = segment_sum(x, by=H.hyperedges, values=incidence)",
        "hyperedge_sum = segment_sum(x, by=H.hyperedges, values=None if incidence is None else incidence * 0 + 1)",
    ),
    "mask taken into the degrees": (
        "functional/convolution.py",
        "    degree = vertex_degree(H, incidence=incidence, weight=weight)",
        "    incidence = incidence if mask is None else incidence * mask\n    mask = None\n"
        "    degree = vertex_degree(H, incidence=incidence, weight=weight)",
    ),
    "division before the mask": (
        "functional/convolution.py",
        "torch.where(present, torch.where(present, degree, 1).pow(-power), 0)",
        "degree.pow(-power).nan_to_num(0, 0, 0)",
    ),
    "centroids taken for vertices": (
        "functional/attention.py",
        "return x.index_select(-2, cast(Tensor, H.centroid))",
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
        "(used @ used.T == 0)",
        "(used @ used.T >= 0)",
    ),
    "no loop for a vertex without hyperedges": ("shared_graph.py", "if not path:", "if False:"),
    "blocks multiplied from the wrong row": ("kernels/blocks.py", "row += size", "row += 0"),
    "graph attention the wrong way round": (
        "functional/pairwise.py",
        "target_score.index_select(-2, graph.target) + source_score.index_select(-2, graph.source)",
        "target_score.index_select(-2, graph.source) + source_score.index_select(-2, graph.target)",
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
        "kernels/__init__.py",
        "_incidence_dot(grad, x, *by) if values_need_grad else None",
        "None",
    ),
    "gradient goes the same way as the sum": (
        "kernels/__init__.py",
        "grad_x = _segment_sum(grad, values, *by.reversed())",
        "grad_x = _segment_sum(grad, values, *by)",
    ),
    "softmax gradient without the mean": (
        "kernels/__init__.py",
        "softmax * (grad - _segment_total(softmax * grad, offsets, position))",
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
    "incidences not dropped": ("layers/attention.py", "mask=self._mask(incidence)", "mask=None"),
    "features not dropped": ("layers/attention.py", "self._drop(projected)", "projected"),
    "links not dropped": ("layers/attention.py", "self._drop(attention)", "attention"),
    "dropout keeps what it should drop": (
        "layers/attention.py",
        "dropout(x, self.dropout)",
        "dropout(x, 1 - self.dropout)",
    ),
    "mask not rescaled": (
        "layers/attention.py",
        "return self._drop(torch.ones_like(incidence))",
        "return (self._drop(torch.ones_like(incidence)) > 0).to(incidence.dtype)",
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
    "names left out of equality": ("hypergraph.py", "for field in fields(one)]", "for field in fields(one)[:-2]]"),
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
    "sum for the mean of heads": ("layers/base.py", "out.mean(-2)", "out.sum(-2)"),
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
        "return project(x, projection), None",
        "return project(x, projection), projection",
    ),
}

RUNNER = """
import json, os, shutil, sys, tempfile
from pathlib import Path
import pytest, torch, torch.func, scipy.sparse  # loaded once, shared by all children

root, mutants = Path(sys.argv[1]), json.loads(sys.argv[2])
torch.set_num_threads(1)

def exit_code_of(file, text, replacement):
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
            tests = ["hypergraph", "graph", "paper_claims", "randomness", "layers", "kernels", "functional",
                     "shared_graph"]
            files = [str(root / "tests" / f"test_{name}.py") for name in tests]
            code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow",
                                "--rootdir", str(root), *files])
            os._exit(int(code))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

print(json.dumps({name: exit_code_of(*mutant) for name, mutant in mutants.items()}))
"""


def run(mutants: dict[str, tuple[str, str, str]]) -> dict[str, int]:
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
def test_every_mutant_fails_a_test():
    unchanged = {"nothing changed": ("layers/base.py", "skip", "skip")}
    exit_codes = run(unchanged | MUTANTS)
    assert exit_codes.pop("nothing changed") == pytest.ExitCode.OK
    survivors = [name for name, code in exit_codes.items() if code != pytest.ExitCode.TESTS_FAILED]
    assert survivors == []
