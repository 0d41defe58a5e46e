"""``torch.compile`` and ``torch.export`` take a model of these layers whole."""

import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from support.structures import graph, hypergraph
from torch import Tensor, nn
from torch.nn.functional import elu

from hypergnn import Graph, GraphAttention, GraphConv, Hypergraph, HypergraphAttention, HypergraphConv

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


STRUCTURES = ["isolated vertex", "centred"]


def make(name: str) -> tuple[Network, tuple[Tensor, Hypergraph, Graph]]:
    H = hypergraph("isolated vertex")
    if name == "isolated vertex":
        H = Hypergraph.from_scipy(H.to_scipy(), H.weight)
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
for name in test_compile.STRUCTURES:
    model, arguments = test_compile.make(name)
    torch.testing.assert_close(torch.compile(model, fullgraph=True)(*arguments), model(*arguments))
"""


@pytest.mark.skipif(shutil.which("c++") is None, reason="torch's default compiler needs a C++ compiler")
def test_the_default_compiler_takes_it_too():
    """In a process of its own: that compiler replaces modules of Python's library that other tests may have loaded."""
    result = subprocess.run(
        [sys.executable, "-c", WITH_DEFAULT_COMPILER], cwd=Path(__file__).parent, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.usefixtures("backend")
def test_exported_program_gives_the_same_output(inputs):
    model, arguments = inputs
    file, program = io.BytesIO(), torch.export.export(model, arguments)
    torch.testing.assert_close(program.module()(*arguments), model(*arguments))
    program.example_inputs = None  # they are pickled, and torch loads no pickled structures by default
    torch.export.save(program, file)
    file.seek(0)
    torch.testing.assert_close(torch.export.load(file).module()(*arguments), model(*arguments))


def test_exported_program_refuses_structures_that_are_not_sound():
    model, (x, H, graph) = make("centred")
    program = torch.export.export(model, (x, H, graph)).module()
    far = H.incidence._replace(members=torch.full_like(H.incidence.members, 10**6))
    with pytest.raises(ValueError, match=r"members must hold ids"):
        program(x, Hypergraph(far, H.weight, H._vertex_degree, H._hyperedge_degree, H.centroid, H.is_centred), graph)
