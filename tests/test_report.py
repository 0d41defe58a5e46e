"""The page of results: what stands in it, and how it behaves in a browser."""

import base64
import json
import re
import sys
from pathlib import Path
from statistics import mean, stdev

import browser
import numpy as np
import pytest
from scipy.stats import ttest_ind

import hypergnn as hg
from hypergnn import report
from hypergnn.cli import main
from hypergnn.experiments.paper import STAND_IN, TABLES
from hypergnn.experiments.results import Results, note
from hypergnn.models import Config
from hypergnn.report.charts import PALETTE
from hypergnn.report.embedding import embed
from hypergnn.report.explorer import STEPS
from hypergnn.report.insight import look
from hypergnn.report.networks import Trained, show
from hypergnn.report.packing import pack, pack_shares
from hypergnn.report.page import Page, render
from hypergnn.report.reproductions import page_of_results
from hypergnn.training.ledger import Ledger

BASELINES = TABLES["baselines"]
# Around the published numbers of Cora, so that each verdict occurs, and an order that is not the paper's.
SHIFT = {"gcn": 2.0, "hyper-conv": -1.0, "hyper-attention": 0.0, "gat": -0.05}
SPREAD = (-0.4, -0.1, 0.0, 0.2, 0.3)
ROOM = 5_000_000


def accuracies(cell):
    middle = cell.published.mean + SHIFT.get(cell.config.model, 0.5)
    return [round(middle + off, 2) for off in SPREAD]


def fill(folder):
    """Records of Table 2 on Cora as they might come out."""
    for cell in BASELINES.cells:
        if cell.dataset == "cora":
            configuration = {"data": {"name": "cora"}, "config": {"model": cell.config.model}}
            with Ledger.open(folder / cell.run, configuration) as ledger:
                for seed, accuracy in enumerate(accuracies(cell)):
                    times = {"epochs": 300, "best_epoch": 199, "seconds": 12.0}
                    ledger.append({"seed": seed, "val_accuracy": 80.0, "test_accuracy": accuracy, **times})


def train(folder, model, **settings):
    config = Config(model, max_epochs=4, learning_rate=0.05, **settings)
    return hg.training.fit(hg.datasets.load("digits"), config, trials=2, jobs=1, out=folder, curves=True)


@pytest.fixture(scope="session")
def reproduction(tmp_path_factory):
    """A folder with the records of Table 2 on Cora, and two networks trained on digits."""
    folder = tmp_path_factory.mktemp("reproduction")
    fill(folder)
    for model in ("hyper-attention", "hyper-conv"):
        train(folder / STAND_IN.cell(f"digits/{model}").run, model)
    return folder


@pytest.fixture(scope="session")
def page(reproduction):
    return report.write(reproduction)


@pytest.fixture
def quick_map(monkeypatch):
    """Maps at once, for tests that do not look at them."""
    monkeypatch.setattr("hypergnn.report.networks.embed", lambda hidden: np.zeros((len(hidden), 2), dtype=np.float32))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("viewport", "scheme"), [(browser.DESK, "light"), (browser.DESK, "dark"), (browser.PHONE, "light")]
)
def test_the_page_opens_without_a_complaint_on_any_screen(page, tmp_path, viewport, scheme):
    with browser.opened(page, viewport=viewport, scheme=scheme) as (shown, complaints):
        browser.draw_all(shown)
        assert shown.locator(".chart svg, .chart canvas").count() == shown.locator(".chart").count()
        assert shown.evaluate("document.documentElement.scrollWidth") == viewport["width"]
        size = len(shown.screenshot(path=tmp_path / "page.png", full_page=True))
        background = shown.evaluate("getComputedStyle(document.body).backgroundColor")
        assert complaints == []
    assert size > 50_000
    assert (sum(map(int, re.findall(r"\d+", background))) < 150) == (scheme == "dark")


@pytest.mark.slow
def test_charts_follow_a_change_to_dark_mode(page):
    with browser.opened(page) as (shown, complaints):
        browser.draw_all(shown)
        chart = shown.locator('[data-chart="baselines-Cora"] svg')
        before = chart.inner_html()
        shown.emulate_media(color_scheme="dark")
        assert "#5fc3bd" not in before
        browser.wait_until(shown, lambda: "#5fc3bd" in chart.inner_html())
        assert complaints == []


@pytest.mark.slow
def test_tables_hold_the_numbers_of_the_records(page):
    with browser.opened(page) as (shown, _):
        for cell in BASELINES.cells:
            if cell.dataset != "cora":
                continue
            values = accuracies(cell)
            text = shown.locator(f'[data-table=baselines] [data-cell="{cell.name}"]').inner_text()
            assert f"{mean(values):.2f} ± {stdev(values):.2f}" in text
            assert f"published {cell.published.mean:.2f}" in text
        verdicts = {
            model: shown.locator(f'[data-cell="cora/{model}"] .verdict').inner_text().split()[-1] for model in SHIFT
        }
        tests = shown.locator("[data-tests=baselines] tbody tr").all_inner_texts()
    assert verdicts == {"gcn": "above", "hyper-conv": "below", "hyper-attention": "reproduced", "gat": "reproduced"}
    better, worse = (accuracies(BASELINES.cell(f"cora/{model}")) for model in ("hyper-attention", "gat"))
    row = next(row for row in tests if row.startswith("Hyper-Atten. better than GAT* (Cora)"))
    pooled = ttest_ind(better, worse, alternative="greater").pvalue
    assert row.split("\t")[1:3] == [f"+{mean(better) - mean(worse):.2f}", f"{pooled:.3f}"]


@pytest.mark.slow
def test_choosing_a_vertex_changes_the_explorer(page, reproduction):
    data = hg.datasets.load("digits")
    model = hg.load(reproduction / STAND_IN.cell("digits/hyper-attention").run / "model.safetensors")
    insight = look(model, data)
    own = data.hypergraph.vertex.numpy() == 7
    expected = {
        int(e): [f"{100 * share:.1f}" for share in row]
        for e, row in zip(data.hypergraph.hyperedge.numpy()[own], insight.attention[own], strict=True)
    }
    with browser.opened(page) as (shown, complaints):
        browser.draw_all(shown)
        card = shown.locator("#card")
        first = card.inner_text()
        shown.fill("#find", "7")
        shown.click("#matches button >> nth=0")
        assert card.locator("h3").inner_text() == "Image 7"
        assert card.inner_text() != first
        assert card.locator(".verdicts dd").first.inner_text() == data.class_names[data.y[7]]
        best = card.locator(".shares .percent").nth(int(insight.probability[7].argmax())).inner_text()
        assert float(best.removesuffix(" %")) == pytest.approx(100 * insight.probability[7].max(), abs=0.501)
        for row in card.locator("tr[data-hyperedge]").all():
            shares = row.locator(".heat").all_inner_texts()
            wanted = expected[int(row.get_attribute("data-hyperedge"))]
            assert np.allclose(np.array(shares, float), np.array(wanted, float), atol=0.11)
        rows = card.locator("tr[data-hyperedge]").count()
        assert rows == min(len(expected), 12)
        card.locator("tr[data-hyperedge] button").first.click()
        member = card.locator(".members:visible button:not([aria-current])").first
        number = member.inner_text()
        member.click()
        assert card.locator("h3").inner_text() == f"Image {number}"
        assert shown.evaluate("location.hash") == f"#digits-{number}"
        assert complaints == []


@pytest.mark.slow
def test_the_map_is_clicked_and_networks_are_changed(page):
    with browser.opened(page) as (shown, complaints):
        browser.draw_all(shown)
        before = shown.get_attribute("#card", "data-vertex")
        canvas = shown.locator("#map canvas")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        for share in (0.3, 0.5, 0.7):
            canvas.click(position={"x": share * box["width"], "y": box["height"] / 2})
        assert shown.get_attribute("#card", "data-vertex") != before
        assert shown.locator("#card .heat").count() > 0
        shown.select_option("#network", label="Hyper-Conv. on digits")
        shown.wait_for_selector("#card:not(:has(.heat))")
        assert "learns no attention" in shown.inner_text("#card")
        shown.click("#mistake")
        assert "wrong" in shown.inner_text("#card .verdicts")
        shown.select_option("#colour-by", "prediction")
        shown.select_option("#curve", index=1)
        shown.wait_for_selector('#curve-chart[data-drawn*="hyper-attention"]')
        assert complaints == []


@pytest.mark.slow
def test_a_link_leads_to_a_vertex(page):
    with browser.opened(page) as (shown, _):
        shown.goto(f"{page.as_uri()}#digits-42")
        shown.reload()
        assert shown.inner_text("#card h3") == "Image 42"


@pytest.mark.slow
def test_the_page_says_plainly_what_does_not_hold(page):
    text = page.read_text()
    assert "Does not hold.</b> Hyper-Conv. better than GCN* (Cora): −2.61 points" in text
    assert "published: p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}0.016" in text
    assert re.search(r"Not significant.</b> Hyper-Atten. better than GAT\* \(Cora\)", text)
    assert "<b>Holds.</b> Hyper-Atten. better than Hyper-Conv. (Cora)" in text
    assert "largest shortfall is 1.00 points: Hyper-Conv. on Cora" in text


@pytest.mark.slow
def test_the_page_is_light_and_stands_alone(page):
    text = page.read_text().partition('<script type="module">')[0]
    assert page.stat().st_size < 8_000_000
    assert not re.search(r'(?:src|href)="(?!#|data:)', text)
    assert "default-src 'none'" in text


@pytest.mark.usefixtures("quick_map")
def test_compact_results_have_no_networks_and_say_so(tmp_path):
    fill(tmp_path / "runs")
    Results.read(tmp_path / "runs").write(tmp_path / "results")
    page = report.write(tmp_path / "results", tmp_path / "page.html")
    text = page.read_text()
    assert page == tmp_path / "page.html"
    assert 'data-cell="cora/hyper-conv"' in text
    assert "There is no trained network in this folder" in text
    assert "The run kept no losses" in text
    assert 'id="network"' not in text


@pytest.mark.usefixtures("quick_map")
def test_one_run_has_a_page_and_figures(tmp_path, capsys):
    records = train(tmp_path / "run", "hyper-conv", skip=True).records
    assert main(["report", str(tmp_path / "run"), "--figures", str(tmp_path / "figures")]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{tmp_path / 'run' / 'report.html'}\n"
    assert printed.err == "map of 1797 vertices: Hyper-Conv. on digits, with skip connection, learning rate 0.05\n"
    text = (tmp_path / "run" / "report.html").read_text()
    assert f"<dd>{mean(record['test_accuracy'] for record in records):.2f} %</dd>" in text
    stems = ["curves", "map-hyper-conv-on-digits-with-skip-connection", "trials"]
    names = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert names == [f"{stem}.{ending}" for stem in stems for ending in ("png", "svg")]
    for path in (tmp_path / "figures").iterdir():
        assert path.read_bytes()[:4] == (b"\x89PNG" if path.suffix == ".png" else b"<svg")
    assert PALETTE[9] in (tmp_path / "figures" / f"{stems[1]}.svg").read_text()


@pytest.mark.usefixtures("quick_map")
def test_pairwise_networks_are_shown_with_the_graph_they_were_trained_on(tmp_path):
    from hypergnn.experiments.runner import with_graph

    data = with_graph(hg.datasets.load("digits"))
    hg.training.fit(data, Config("gat+hyper-attention", max_epochs=2), out=tmp_path)
    (network,) = show([Trained(tmp_path, "both")], budget=ROOM).networks
    assert network["heads"] == [*(f"1.{head}" for head in range(1, 9)), "2"]
    attention = np.frombuffer(base64.b64decode(network["attention"]["data"]), "<u2").reshape(-1, 9) / STEPS
    total = np.zeros((1797, 9))
    np.add.at(total, data.hypergraph.vertex.numpy(), attention)
    assert np.allclose(total, 1, atol=1e-3)


@pytest.mark.usefixtures("quick_map")
def test_networks_that_cannot_be_shown_are_named_with_the_reason(tmp_path):
    train(tmp_path / "digits", "hyper-attention")
    people = [f"p{number}" for number in range(30)]
    own = hg.datasets.from_tables(
        incidences={"vertex": people, "hyperedge": ["a", "b", "c"] * 10},
        labels={"vertex": people, "label": [0, 1] * 15},
    )
    hg.training.fit(own, Config(max_epochs=2), out=tmp_path / "own")
    digits, tables = Trained(tmp_path / "digits", "Digits"), Trained(tmp_path / "own", "Own")
    shown = show([digits, tables], budget=300_000)
    assert shown.networks == []
    assert shown.left_out == [
        "Digits is not in the explorer: the page would become too heavy.",
        "Own is not in the explorer: it was trained on tables of one's own, which a run folder does not keep.",
    ]
    (network,) = show([digits], budget=ROOM).networks
    assert network["label"] == "Digits"
    assert show([digits], seed=3, budget=ROOM).left_out == [
        "Digits is not in the explorer: it was trained on another split; --seed says which one was drawn."
    ]


@pytest.mark.usefixtures("quick_map")
def test_the_weight_that_is_reckoned_with_is_that_of_the_page(tmp_path):
    train(tmp_path, "hyper-attention")
    shown = show([Trained(tmp_path, "Digits")], budget=ROOM)
    weight = len(json.dumps(shown.networks)) + len(json.dumps(shown.datasets))
    assert show([Trained(tmp_path, "Digits")], budget=round(1.1 * weight)).networks
    assert not show([Trained(tmp_path, "Digits")], budget=round(0.9 * weight)).networks


@pytest.mark.usefixtures("quick_map")
def test_other_tables_are_shown_too_with_the_networks_they_have(tmp_path):
    cell = TABLES["hidden"].cell("hyper-conv/4")
    train(tmp_path / cell.run, "hyper-conv", hidden=4, heads=1)
    note(tmp_path, {"datasets:cora/nodes": 2708.0, "datasets:cora/edges": 5278.0}, {"cpu": "of the test"})
    page, networks = page_of_results(tmp_path)
    assert [table.name for table in page.tables] == ["datasets", "hidden"]
    nodes, edges = page.tables[0].rows[0].cells
    assert (nodes.measured, nodes.verdict) == ("2708", "")
    assert (edges.measured, *edges.lines, edges.verdict) == ("5278", "published 5429", "counted otherwise")
    assert [row.label for row in page.tables[1].rows] == ["4"]
    assert page.tables[1].columns == ["Hyper-Conv."]
    assert len(page.tables[0].rows) == 1
    assert "Where trials are few, intervals are wide" in page.lead
    assert [chart.caption for chart in page.curves] == ["Hyper-Conv. on Cora, 1 head, width 4"]
    assert [one.label for one in networks] == ["Hyper-Conv. on Cora, 1 head, width 4"]


def test_a_reproduction_ends_with_the_path_of_its_page(tmp_path, monkeypatch, capsys):
    from hypergnn.experiments.runner import Reproduction

    fill(tmp_path)
    done = Reproduction(Results.read(tmp_path), interrupted=False)
    monkeypatch.setattr("hypergnn.experiments.runner.reproduce", lambda *_, **__: done)
    command = ["reproduce", "baselines", "--dataset", "cora", "--out", str(tmp_path)]
    assert main(command) == 0
    printed = capsys.readouterr()
    assert printed.out.endswith(f"\npage: {tmp_path / 'report.html'}\n")
    monkeypatch.setitem(sys.modules, "altair", None)
    assert main(command) == 0
    printed = capsys.readouterr()
    assert "page:" not in printed.out
    assert printed.err.startswith("without a page: a report needs altair")


def test_insight_is_what_the_network_predicts_and_attends_to(tmp_path):
    data = hg.datasets.load("digits")
    train(tmp_path, "hyper-attention")
    model = hg.load(tmp_path / "model.safetensors")
    insight = look(model, data)
    assert np.allclose(insight.probability, hg.training.predict(model, data), atol=1e-6)
    assert insight.heads == (*(f"1.{head}" for head in range(1, 9)), "2")
    total = np.zeros((1797, 9))
    np.add.at(total, data.hypergraph.vertex.numpy(), insight.attention)
    assert np.allclose(total, 1, atol=1e-5)
    right = insight.probability[data.test].argmax(axis=1) == data.y[data.test]
    assert insight.accuracy == pytest.approx(100 * right.mean())


def test_a_network_of_one_layer_is_mapped_by_its_features(tmp_path):
    train(tmp_path, "mlp", depth=1)
    data = hg.datasets.load("digits")
    assert look(hg.load(tmp_path / "model.safetensors"), data).hidden.shape == (1797, 64)


def test_a_map_keeps_groups_together_and_is_the_same_each_time():
    draw = np.random.default_rng(0)
    hidden = np.concatenate([draw.normal(10 * group, 1, (40, 12)) for group in range(3)]).astype(np.float32)
    places = embed(hidden)
    assert np.array_equal(places, embed(hidden))
    assert (places.min(), places.max()) == (0, 1)
    centres = places.reshape(3, 40, 2).mean(axis=1)
    nearest = np.linalg.norm(places[:, None] - centres, axis=2).argmin(axis=1)
    assert np.array_equal(nearest, np.repeat([0, 1, 2], 40))
    assert embed(hidden[:3]).shape == (3, 2)
    assert np.isfinite(embed(np.zeros((9, 1), dtype=np.float32))).all()


@pytest.mark.parametrize(("largest", "size"), [(0, 1), (255, 1), (256, 2), (65536, 4)])
def test_packed_numbers_come_back(largest, size):
    packed = pack([0, largest])
    assert packed["type"] == f"u{size}"
    assert np.frombuffer(base64.b64decode(packed["data"]), f"<u{size}").tolist() == [0, largest]


def test_packing_refuses_what_it_cannot_hold():
    with pytest.raises(ValueError, match=r"values must be from 0 to 2\*\*32 - 1; got -1 to 5"):
        pack([-1, 5])
    assert pack_shares(np.array([-0.1, 1.1])) == pack([0, 255])
    assert pack([])["data"] == ""


def test_no_name_can_break_out_of_the_page():
    name = "</script><script>alert(1)</script>"
    text = render(Page(name, name, networks=[{"label": name}], datasets={"x": {"classes": [name]}}))
    assert "<script>alert" not in text
    inside = re.search(r'id="networks">(.*?)</script>', text, re.DOTALL)
    assert json.loads(inside[1])["networks"][0]["label"] == name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "RUN must be a folder of results; there is no folder nowhere."),
        (["."], "folder must be that of a reproduction"),
        ([".", "--out", "nowhere/page.html"], "--out must be a file in a folder that exists"),
        ([".", "--figures", "file"], "--figures must be a folder, or a name that is free"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    assert main(["report", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"hypergnn: {message}")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_run_without_a_finished_trial_is_refused(tmp_path):
    with Ledger.open(tmp_path, {"data": {"name": "cora"}, "config": {"model": "gcn"}}):
        pass
    with pytest.raises(ValueError, match="RUN must hold a finished trial"):
        report.write(tmp_path)


def test_without_the_libraries_it_says_what_to_install(tmp_path, monkeypatch):
    fill(tmp_path)
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ImportError, match=r"a report needs altair.*pip install '\.\[report\]'"):
        report.write(tmp_path)
