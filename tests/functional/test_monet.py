"""MoNet over hyperedges, against its literal version."""

import pytest
import torch
from support import structures
from support.structures import random
from torch.autograd import gradcheck
from torch.testing import assert_close

from hypergnn import reference
from hypergnn.functional.monet import monet_conv

pytestmark = pytest.mark.usefixtures("backend")


@pytest.fixture(params=[*structures.HYPERGRAPHS, *structures.DIRECTED])
def H(request):
    kind = structures.hypergraph if request.param in structures.HYPERGRAPHS else structures.directed
    return kind(request.param)


def given(H):
    """Features, a projection, means and spreads of three kernels."""
    return random(H.n_vertices, 3), random(3, 3, 2, seed=1), random(3, 2, seed=2), random(3, 2, seed=3).abs() + 0.5


def test_monet_conv_is_its_equation(H):
    x, P, mean, spread = given(H)
    found = H.to_scipy()
    S, R = (torch.from_numpy(one.toarray()) for one in (found if isinstance(found, tuple) else (found, found)))
    count, size = R.sum(1).clamp(min=1) ** -0.5, S.sum(0).clamp(min=1) ** -0.5
    u = torch.stack([count[:, None].expand(R.shape), size.expand(R.shape)], -1)
    expected = reference.monet(x, S, R, H.weight, list(P.unbind(1)), u, mean, spread)
    by_kernel = torch.einsum("nf,fkd->nkd", x, P)
    assert_close(monet_conv(by_kernel, H, mean, spread).sum(-2), expected)
    on_pairs = u[H.receivers.rows().long(), H.receivers.members.long()]
    assert_close(monet_conv(by_kernel, H, mean, spread, coordinates=on_pairs).sum(-2), expected)
    degree = (R * H.weight).sum(1)[:, None]
    assert_close(monet_conv(by_kernel, H, mean, spread, normalization="none").sum(-2), expected * degree)


def test_monet_conv_takes_leading_axes():
    H = structures.hypergraph("isolated vertex")
    x, mean, spread = random(4, H.n_vertices, 3, 2), random(4, 3, 2), random(4, 3, 2).abs() + 0.5
    together = monet_conv(x, H, mean, spread)
    for trial in range(4):
        assert_close(together[trial], monet_conv(x[trial], H, mean[trial], spread[trial]))


def test_gradients_of_monet_conv():
    H = structures.hypergraph("isolated vertex")
    x, mean, spread = random(H.n_vertices, 2, 2), random(2, 2, seed=1), random(2, 2, seed=2).abs() + 0.5
    arguments = [one.requires_grad_() for one in (x, mean, spread, random(H.n_incidences, 2, seed=4))]
    assert gradcheck(lambda x, mean, spread, u: monet_conv(x, H, mean, spread, coordinates=u), arguments)
