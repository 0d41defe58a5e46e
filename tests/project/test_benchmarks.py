"""The benchmarks measure what they say: order, ratios, peers that compute the same, a page made of the results."""

import copy
import json
import os
import re

import numpy as np
import pytest
import torch
from scipy import sparse

import hypergnn as hg
from benchmarks import __main__ as command
from benchmarks import from_pyg, isolated, large, on_cora, report
from benchmarks.inputs import skewed
from benchmarks.measuring import Contestant, Spread, interleave, prepare, ratios
from benchmarks.peers import DHG, DHGPlus, Matrix, Network, PyG, TorchSparse
from benchmarks.settings import Settings

pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled:UserWarning")


@pytest.fixture(autouse=True)
def _threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


class FakeTime:
    """A clock that stands still unless somebody works."""

    def __init__(self) -> None:
        self.now = 0.0
        self.log: list[str] = []

    def clock(self) -> float:
        return self.now

    def worker(self, name: str, seconds: float, **options) -> Contestant:
        def work(times: int) -> None:
            self.log += [name] * times
            self.now += seconds * times

        return Contestant(name, work, **options)


def quiet(_: str) -> None:
    pass


def test_ours_takes_turns_with_each_peer():
    time = FakeTime()
    ours, *peers = (
        prepare(time.worker(name, 1.0), seconds=0, all_threads=1, clock=time.clock) for name in ("ours", "a", "b")
    )
    time.log.clear()
    interleave(ours, peers, repetitions=2, say=quiet, clock=time.clock)
    assert time.log == ["ours", "a", "ours", "b"] * 2


def test_times_are_per_unit_and_ratios_are_theirs_over_ours():
    time = FakeTime()
    ours = prepare(time.worker("ours", 8.0, units=32), seconds=16, all_threads=1, clock=time.clock)
    peer = prepare(time.worker("peer", 2.0), seconds=16, all_threads=1, clock=time.clock)
    assert (ours.times, peer.times) == (2, 8)
    pair = interleave(ours, [peer], repetitions=3, say=quiet, clock=time.clock)["peers"]["peer"]
    assert pair == {"threads": 1, "ours": [0.25] * 3, "theirs": [2.0] * 3}
    assert ratios(pair) == Spread(8.0, 8.0, 8.0)


def test_ratios_are_taken_pair_by_pair():
    assert ratios({"ours": [1.0, 10.0, 1.0], "theirs": [2.0, 20.0, 2.0]}) == Spread(2.0, 2.0, 2.0)
    assert ratios({"ours": [2.0], "theirs": [3.0]}).median == 1.5


def test_work_is_done_as_often_as_it_must_at_least():
    time = FakeTime()
    assert prepare(time.worker("slow", 5.0, least=4), seconds=1, all_threads=1, clock=time.clock).times == 4


def test_a_contestant_gets_the_number_of_threads_that_suits_it():
    time = FakeTime()

    def contestant(fast: int, threads: int | None = None) -> Contestant:
        def work(times: int) -> None:
            time.now += times * (1.0 if torch.get_num_threads() == fast else 2.0)

        return Contestant("one", work, threads=threads)

    for fast in (1, 2):
        assert prepare(contestant(fast), seconds=0, all_threads=2, clock=time.clock).threads == fast
    assert prepare(contestant(fast=1, threads=2), seconds=0, all_threads=2, clock=time.clock).threads == 2


def test_a_disturbance_does_not_choose_the_number_of_threads():
    time = FakeTime()

    def work(times: int) -> None:
        is_disturbed = time.log.count(2) == 1  # the first reading of two threads after the warm-up
        time.log.append(torch.get_num_threads())
        time.now += times * (1.0 if time.log[-1] == 1 else 9.0 if is_disturbed else 0.6)

    assert prepare(Contestant("one", work), seconds=0, all_threads=2, clock=time.clock).threads == 2


def test_what_is_warm_is_not_warmed_again():
    time = FakeTime()
    prepare(time.worker("long", 50.0), seconds=0, all_threads=1, is_warm=True, clock=time.clock)
    assert time.log == ["long"]


def test_the_first_time_does_not_count():
    time = FakeTime()

    def work(_: int) -> None:
        time.now += 60.0 if not time.log else 0.5
        time.log.append("done")

    assert prepare(Contestant("one", work), seconds=2.0, all_threads=1, clock=time.clock).times == 4


@pytest.fixture
def small() -> hg.Hypergraph:
    return skewed(40, 30, 120, seed=3)


@pytest.mark.parametrize(
    ("peer", "normalization"),
    [
        (PyG(), "row"),
        (TorchSparse("row"), "row"),
        (TorchSparse("symmetric"), "symmetric"),
        (DHG(), "symmetric"),
        (DHGPlus(), "row"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_peers_compute_the_same_convolution_and_gradient(peer, normalization, small):
    assert (small.vertex_degree() == 0).any()
    layer = peer.conv(5, 3, bias=False)
    (weight,) = layer.parameters()
    projection = weight.detach() if weight.shape == (5, 3) else weight.detach().T
    x, gradient = torch.rand(40, 5), torch.rand(40, 3)
    theirs, ours = x.clone().requires_grad_(), x.clone().requires_grad_()
    out = layer(theirs, peer.structure(small))
    expected = hg.functional.hypergraph_conv(ours, small, normalization=normalization, projection=projection)
    torch.testing.assert_close(out, expected)
    out.backward(gradient)
    expected.backward(gradient)
    torch.testing.assert_close(theirs.grad, ours.grad)


def test_the_attention_of_pyg_has_our_scores_and_the_degrees_of_the_plain_incidence():
    H = hg.Hypergraph.from_scipy(sparse.csr_array(np.eye(12) + np.triu(np.ones((12, 12)), 9)))
    peer = PyG().attention(5, 3, heads=2, dropout=0.0)
    layer = peer.layer
    x = torch.rand(12, 5)
    projected = (x @ layer.lin.weight.T).reshape(12, 2, 3)
    a_vertex, a_hyperedge = layer.att[0].split(3, dim=-1)
    attended = hg.functional.attention_incidence(projected, projected, H, a_vertex, a_hyperedge)
    dense = torch.zeros(2, 12, 12).index_put(
        (torch.arange(2)[:, None], H.vertex.long()[None], H.hyperedge.long()[None]), attended.T
    )
    sums = (dense.mT @ projected.transpose(0, 1)) / H.hyperedge_degree().float()[:, None]
    out = (dense @ sums) / H.vertex_degree().float()[:, None]
    torch.testing.assert_close(peer(x, PyG().structure(H)), out.transpose(0, 1).reshape(12, 6) + layer.bias)


def test_sparse_features_drop_the_same_entries_in_the_matrix_and_its_transpose(small):
    matrix = Matrix.of(small.to_scipy().astype("float32"))
    dropped = TorchSparse().drop(matrix, 0.5, training=True)
    assert 0 < (dropped.matrix.values() == 0).sum() < 120
    torch.testing.assert_close(dropped.transposed.to_dense(), dropped.matrix.to_dense().T)
    assert TorchSparse().drop(matrix, 0.5, training=False) is matrix


@pytest.mark.slow
@pytest.mark.parametrize("peer", [PyG(), TorchSparse(), DHG()], ids=lambda peer: peer.name)
def test_peers_train_and_learn(peer):
    data = hg.datasets.load("digits")
    on_cora.peer_training(peer, data, attention=False)(2)
    network = Network(peer, data.n_features, data.n_classes)
    scores = network(peer.features(data), peer.structure(data.hypergraph))
    assert scores.shape == (1797, 10)
    scores.sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())


@pytest.mark.slow
def test_our_training_trains_as_many_trials_and_epochs_as_it_is_told(monkeypatch):
    outcomes = []
    fit = hg.training.fit
    monkeypatch.setattr(hg.training, "fit", lambda *given, **named: outcomes.append(fit(*given, **named)))
    on_cora.our_training(hg.datasets.load("digits"), "hyper-conv", trials=3)(2)
    assert [record.epochs for record in outcomes[0].records] == [2, 2, 2]


def test_inputs_are_skewed_and_always_the_same():
    H = skewed(2000, 2000, 20_000)
    assert H.n_incidences == 20_000
    assert H.hyperedge_degree().max() > 20 * H.hyperedge_degree().mean()
    assert H.equals(skewed(2000, 2000, 20_000))
    with pytest.raises(ValueError, match="n_incidences must be at most"):
        skewed(10, 10, 100)


def test_a_step_leaves_no_gradient_of_the_step_before(small):
    work = large.conv_step("ours", small)
    held = dict(zip(work.__code__.co_freevars, (cell.cell_contents for cell in work.__closure__), strict=True))
    work(1)
    once = held["x"].grad.clone()
    work(2)
    torch.testing.assert_close(held["x"].grad, once)


@pytest.mark.slow
def test_a_process_of_its_own_tells_memory_and_time():
    result = isolated.run("ours", 100_000, threads=1, seconds=120, repetitions=2)
    assert result["outcome"] == "measured"
    assert 10_000 * 64 * 4 < result["peak_bytes"] < 100_000 * 64 * 4 * 20
    assert len(result["seconds"]) == 2


@pytest.mark.slow
def test_memory_that_does_not_suffice_is_reported(monkeypatch):
    monkeypatch.setattr(isolated, "free_bytes", lambda: 100_000_000)
    result = isolated.run("PyG", 1_000_000, threads=1, seconds=120)
    assert result["outcome"] == "out of memory"
    assert result["asked_bytes"] > 1_000_000


def test_a_process_that_takes_too_long_is_given_up():
    assert isolated.run("ours", 10_000, threads=1, seconds=0.01)["outcome"].startswith("not finished after")


def test_an_interrupt_leaves_what_was_measured(monkeypatch, tmp_path, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setitem(command.CASES, "forward-conv", lambda *_: {"seconds": 0.123456})
    monkeypatch.setitem(command.CASES, "growth", interrupted)
    alone = command._in_own_process
    processes = []

    def here(function, name, *given):  # what is patched is not there elsewhere
        processes.append(alone(os.getpid))
        return function(name, *given)

    monkeypatch.setattr(command, "_in_own_process", here)
    out = tmp_path / "results.json"
    assert command.main(["--quick", "--cases", "forward-conv", "growth", "--out", str(out)]) == 130
    assert json.loads(out.read_text())["cases"] == {"forward-conv": {"seconds": 0.1235}}
    assert "contains what was measured: forward-conv" in capsys.readouterr().err
    assert len({os.getpid(), *processes}) == 3


def test_help_fits_a_screen(capsys):
    with pytest.raises(SystemExit):
        command.main(["--help"])
    assert len(capsys.readouterr().out.splitlines()) <= 24


def test_the_machine_is_described_without_its_name():
    import platform

    machine = command.describe(2)
    assert machine["threads"] == 2
    assert machine["memory_bytes"] > 0
    assert machine["torch-geometric"]
    assert platform.node() not in json.dumps(machine)


@pytest.fixture(scope="module")
def results():
    return json.loads(report.RESULTS.read_text())


def test_the_page_is_made_of_the_results(results):
    assert report.PAGE.read_text() == report.page(results)


def test_the_page_has_the_cost_of_random_propagation(results):
    assert re.search(r"trials of random propagation .* times as\s+long\.", report.page(results), re.S)


@pytest.mark.slow
def test_the_plot_is_made_of_the_results(results):
    from benchmarks.plot import growth_plot

    assert report.PLOT.read_bytes() == growth_plot(results["cases"]["growth"])


def test_the_page_says_which_bars_are_reached_and_what_is_missing(results):
    changed = copy.deepcopy(results)
    changed["cases"]["forward-conv"]["peers"]["PyG"] = {"threads": 1, "ours": [1.0, 1.0], "theirs": [12.0, 13.0]}
    del changed["cases"]["growth"], changed["cases"]["large-conv"]
    text = report.page(changed)
    assert "| forward pass of Hyper-Conv: PyG's time / ours | ≥ 11 | 12.5 | 12.2 to 12.8 | yes |" in text
    assert "| ten times as many incidences: time / time before | ≤ 11 | not measured |  |  |" in text
    changed["cases"]["forward-conv"]["peers"]["PyG"]["theirs"] = [5.0, 5.0]
    assert "| ≥ 11 | 5.00 |  | no |" in report.page(changed)


def test_all_cases_have_been_measured(results):
    assert set(results["cases"]) == set(command.USUAL)


def test_bytes_are_those_of_four_sums(small):
    sums = 4 * 120 * (64 * 4 + small.vertex.element_size())
    assert large.bytes_moved(small) == sums + 2 * 40 * 256 + 2 * 30 * 256


def test_rows_that_are_walked_are_counted_once(monkeypatch):
    H = hg.Hypergraph.from_hyperedges([range(100), range(100), range(100)], n_vertices=100)
    gathered = large.bytes_moved(H)
    monkeypatch.setitem(large.large_groups.__globals__, "CACHE", 0)
    assert gathered - large.bytes_moved(H) == 2 * (300 - 100) * 256  # the other two sums are of small groups


def test_quick_is_smaller_than_full_in_everything():
    full, quick = Settings(), Settings.quickly()
    assert quick.quick
    assert not full.quick
    for name in ("repetitions", "seconds", "trials", "n_large", "stream_floats"):
        assert getattr(quick, name) < getattr(full, name)
    assert max(quick.growth) < max(full.growth)


def test_the_package_does_not_import_the_benchmarks():
    sources = [path.read_text() for path in (report.ROOT / "src").rglob("*.py")]
    assert not [text for text in sources if "import benchmarks" in text or "from benchmarks" in text]


@pytest.mark.slow
@pytest.mark.parametrize("name", from_pyg.MODELS)
def test_a_model_written_for_pyg_trains_with_either_layer(name):
    from torch_geometric.nn import HypergraphConv as PyGHypergraphConv

    data = hg.datasets.load("digits")
    for layer, drop in ((PyGHypergraphConv, torch.nn.functional.dropout), (hg.pyg.HypergraphConv, hg.pyg.dropout)):
        from_pyg.training(data, layer, drop, name)(1)
