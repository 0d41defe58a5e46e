"""``torch.compile`` and ``torch.export`` take a model of these layers whole."""

import io
import logging
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from scipy import sparse
from support.structures import graph, hypergraph
from torch import Tensor, nn
from torch.nn.functional import elu

from hypergnn import Graph, GraphAttention, GraphConv, Hypergraph, HypergraphAttention, HypergraphConv, models
from hypergnn.structures import SparseFeatures

pytestmark = pytest.mark.slow


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = HypergraphConv(3, 4, heads=2, learn_weight=True, skip=True)
        self.attention = HypergraphAttention(8, 4, heads=2)
        self.graph_conv = GraphConv(8, 4)
        self.graph_attention = GraphAttention(4, 2, heads=3, aggregate="mean")

    def forward(self, x: Tensor, H: Hypergraph, graph: Graph) -> Tensor:
        x = elu(self.attention(elu(self.conv(x, H)), H))
        return self.graph_attention(elu(self.graph_conv(x, graph)), graph)


STRUCTURES = ["isolated vertex", "centred", "hyperedge e around vertex e"]


def make(name: str) -> tuple[Network, tuple[Tensor, Hypergraph, Graph]]:
    H = hypergraph("isolated vertex")
    if name == "isolated vertex":
        H = Hypergraph.from_scipy(H.to_scipy(), H.weight)
    elif name != "centred":  # as in citation networks and hypergraphs of nearest neighbours
        H = Hypergraph.from_hyperedges([[0, 1, 2], [1, 3], [2], [0, 3], [4]], n_vertices=5, centroid=range(5))
    torch.manual_seed(0)
    return Network(), (torch.rand(5, 3), H, graph("triangle and pair"))


@pytest.fixture(params=STRUCTURES)
def inputs(request):
    return make(request.param)


def gradients(model: nn.Module, run, arguments) -> list[Tensor]:
    model.zero_grad()
    run(*arguments).square().sum().backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


@pytest.mark.usefixtures("backend")
def test_compiled_model_gives_the_same_output_and_gradients(inputs):
    model, arguments = inputs
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(*arguments), model(*arguments))
    for mine, theirs in zip(gradients(model, compiled, arguments), gradients(model, model, arguments), strict=True):
        torch.testing.assert_close(mine, theirs)


WITH_DEFAULT_COMPILER = """
import sys, torch
sys.path += [".", ".."]
import test_compile
model, arguments = test_compile.make(test_compile.STRUCTURES[-1])
compiled = torch.compile(model, fullgraph=True)
torch.testing.assert_close(compiled(*arguments), model(*arguments))
gradients = [test_compile.gradients(model, run, arguments) for run in (compiled, model)]
for mine, theirs in zip(*gradients, strict=True):
    torch.testing.assert_close(mine, theirs)
"""


@pytest.mark.skipif(shutil.which("c++") is None, reason="torch's default compiler needs a C++ compiler")
def test_the_default_compiler_takes_it_too():
    """In a process of its own: that compiler replaces modules of Python's library that other tests may have loaded.

    One structure: what it compiles is traced as in the test above, and each takes it half a minute.
    """
    result = subprocess.run(
        [sys.executable, "-c", WITH_DEFAULT_COMPILER], cwd=Path(__file__).parent, capture_output=True, text=True
    )
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.usefixtures("backend")
def test_exported_program_gives_the_same_output(inputs):
    model, arguments = inputs
    file, program = io.BytesIO(), torch.export.export(model, arguments)
    torch.testing.assert_close(program.module()(*arguments), model(*arguments))
    program.example_inputs = None  # they are pickled, and torch loads no pickled structures by default
    torch.export.save(program, file)
    file.seek(0)
    torch.testing.assert_close(torch.export.load(file).module()(*arguments), model(*arguments))


@pytest.mark.usefixtures("backend")
def test_an_exported_program_takes_hypergraphs_with_other_centroids():
    model, (x, H, graph) = make("hyperedge e around vertex e")
    other = Hypergraph.from_scipy(H.to_scipy(), centroid=[1, 3, 2, 0, 4])
    program = torch.export.export(model, (x, H, graph)).module()
    torch.testing.assert_close(program(x, other, graph), model(x, other, graph))
    assert not torch.equal(model(x, other, graph), model(x, H, graph))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kind", ["dense", "prepared"])
@pytest.mark.parametrize("model", ["hyper-conv", "hyper-attention", "gat+hyper-attention"])
def test_a_network_compiles_into_one_graph_without_a_warning(model, kind, training, caplog):
    _, (x, H, graph) = make("hyperedge e around vertex e")
    network = models.Network(models.Config(model=model, hidden=4, heads=2, dropout=0.5), 3, 2).train(training)
    features = x if kind == "dense" else SparseFeatures.from_scipy(sparse.csr_array(x.numpy()))
    compiled = torch.compile(network, fullgraph=True, backend="aot_eager")
    with caplog.at_level(logging.WARNING):
        torch.manual_seed(0)
        out = compiled(features, graph=graph, hypergraph=H)
    assert not caplog.records
    torch.manual_seed(0)
    torch.testing.assert_close(out, network(features, graph=graph, hypergraph=H))
    out.sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")  # torch's own look
@pytest.mark.parametrize("training", [True, False])
def test_sparse_csr_features_run_uncompiled_within_a_compiled_network(training):
    """``torch.compile`` does not support sparse tensors at all: the graph breaks around them."""
    network = models.Network(models.Config(hidden=4, heads=2, dropout=0.5), 3, 2).train(training)
    compiled = torch.compile(network, backend="aot_eager")
    for n_vertices in (5, 7, 9):  # of the second size on, torch takes sizes for variables
        H, x = Hypergraph.from_hyperedges([range(n_vertices)], n_vertices), torch.rand(n_vertices, 3).to_sparse_csr()
        torch.manual_seed(0)
        out = compiled(x, hypergraph=H)
        torch.manual_seed(0)
        torch.testing.assert_close(out, network(x, hypergraph=H))


def test_exported_program_refuses_structures_that_are_not_sound():
    model, (x, H, graph) = make("centred")
    program = torch.export.export(model, (x, H, graph)).module()
    far = H.incidence._replace(members=torch.full_like(H.incidence.members, 10**6))
    with pytest.raises(ValueError, match=r"members must hold ids"):
        program(x, Hypergraph(far, H.weight, H._vertex_degree, H._hyperedge_degree, H.centroid, H.is_centred), graph)
