import pytest
import torch

from hypergnn.kernels.dropout import dropout, seeded

pytestmark = pytest.mark.usefixtures("backend")


def draw(seeds, epoch, *shape, rate=0.5, calls=1):
    with seeded(seeds, epoch):
        for _ in range(calls):
            out = dropout(torch.ones(len(seeds), *shape), rate)
    return out


def test_a_trial_drops_the_same_alone_and_among_others():
    together = draw(range(100), 7, 50, 8)
    assert torch.equal(together[37], draw([37], 7, 50, 8)[0])
    assert torch.equal(together[[3, 37]], draw([3, 37], 7, 50, 8))


@pytest.mark.parametrize("rate", [0.1, 0.6])
def test_entries_are_dropped_at_the_rate_and_the_mean_stays(rate):
    out = draw(range(4), 0, 100_000, rate=rate)
    share = (out == 0).double().mean(1)
    assert ((share - rate).abs() < 5 * (rate * (1 - rate) / 100_000) ** 0.5).all()
    assert out.unique().tolist() == [0.0, pytest.approx(1 / (1 - rate))]


def test_seeds_epochs_layers_and_positions_are_independent():
    first = draw([0], 0, 100_000)[0] > 0
    others = [draw([1], 0, 100_000), draw([0], 1, 100_000), draw([0], 0, 100_000, calls=2)]
    others += [first.roll(1)[None], first.roll(64)[None], first.flip(0)[None]]
    for other in others:
        agreement = (first == (other[0] > 0)).double().mean()
        assert abs(agreement - 0.5) < 0.01


def test_the_gradient_passes_where_the_value_did():
    x = torch.rand(2, 30, requires_grad=True)
    with seeded([0, 1], 3):
        out = dropout(x, 0.4)
    out.sum().backward()
    torch.testing.assert_close(x.grad, out.detach() / x.detach())


def test_outside_the_block_dropout_is_that_of_torch():
    draw([0], 0, 3)
    torch.manual_seed(0)
    expected = torch.nn.functional.dropout(torch.ones(50), 0.5)
    torch.manual_seed(0)
    assert torch.equal(dropout(torch.ones(50), 0.5), expected)
    assert dropout(x := torch.ones(3), 0.0) is x


def test_the_axis_of_trials_is_required():
    with seeded([0, 1, 2], 0), pytest.raises(ValueError, match=r"leading axis of 3 trials, one per seed; got \(5, 2\)"):
        dropout(torch.ones(5, 2), 0.5)
