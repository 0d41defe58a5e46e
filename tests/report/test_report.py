"""The page of results: its content, and how it behaves in a browser."""

import base64
import json
import re
import sys
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import pytest
from scipy.stats import ttest_ind
from support import browser
from support.tables import trial

import hypergnn as hg
from hypergnn import report
from hypergnn.cli import main
from hypergnn.experiments.beyond import ALL, has_more_than_the_paper
from hypergnn.experiments.paper import STAND_IN, TABLES
from hypergnn.experiments.results import Results, note
from hypergnn.models import Config
from hypergnn.report.charts import trials
from hypergnn.report.colours import COLOURS, PALETTE
from hypergnn.report.drawing import Drawing
from hypergnn.report.embedding import embed
from hypergnn.report.explorer import STEPS
from hypergnn.report.insight import look
from hypergnn.report.networks import Datasets, Trained, show
from hypergnn.report.packing import pack, pack_shares
from hypergnn.report.page import Chart, Page, as_json, render, weight
from hypergnn.report.reproductions import page_of_results
from hypergnn.report.runs import curves_chart, page_of_run
from hypergnn.report.writing import RESERVE
from hypergnn.training import ledger
from hypergnn.training.ledger import Ledger
from hypergnn.training.pairwise import with_graph

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
                    ledger.append(trial(seed, accuracy))


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


def saved(folder, label):
    """A run folder as the explorer takes it."""
    return Trained(folder, label, ledger.read(folder).configuration)


@pytest.fixture(scope="session")
def page(reproduction):
    return report.write(reproduction)


@pytest.fixture
def quick_map(monkeypatch):
    """Maps at once, for tests that do not look at them."""
    monkeypatch.setattr("hypergnn.report.networks.embed", lambda hidden: np.ones((len(hidden), 2), dtype=np.float32))


# The marks and words of charts that stand outside their card.
OUTSIDE = """all => all.flatMap((figure) => {
    const card = figure.getBoundingClientRect();
    return [...figure.querySelectorAll("text, circle, line, path")].filter((one) => {
        const box = one.getBoundingClientRect();
        return box.width && (box.left < card.left || box.right > card.right);
    }).map((one) => one.outerHTML);
})"""


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize(
    ("viewport", "scheme"), [(browser.DESK, "light"), (browser.DESK, "dark"), (browser.PHONE, "light")]
)
def test_the_page_opens_without_a_complaint_on_any_screen(page, tmp_path, viewport, scheme):
    with browser.opened(page, viewport=viewport, scheme=scheme) as (shown, complaints):
        assert shown.locator(".chart > svg.plot").count() == shown.locator(".chart").count() > 3
        assert shown.locator("figure").evaluate_all(OUTSIDE) == []
        assert shown.evaluate("document.documentElement.scrollWidth") == viewport["width"]
        size = len(shown.screenshot(path=tmp_path / "page.png", full_page=True))
        background = shown.evaluate("getComputedStyle(document.body).backgroundColor")
        assert complaints == []
    assert size > 50_000
    assert (sum(map(int, re.findall(r"\d+", background))) < 150) == (scheme == "dark")


@pytest.mark.browser
@pytest.mark.slow
def test_charts_follow_a_change_to_dark_mode(page):
    with browser.opened(page) as (shown, complaints):
        dot = shown.locator('[data-chart="baselines-Cora"] .measured').first
        fills = []
        for scheme in ("light", "dark"):
            shown.emulate_media(color_scheme=scheme)
            fills.append(dot.evaluate("one => getComputedStyle(one).fill"))
        assert fills == ["rgb(11, 106, 114)", "rgb(95, 195, 189)"]
        assert complaints == []


@pytest.mark.browser
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


@pytest.mark.browser
@pytest.mark.slow
def test_charts_say_what_they_show_under_the_pointer(page):
    values = accuracies(BASELINES.cell("cora/gcn"))
    with browser.opened(page) as (shown, complaints):
        tip = shown.locator("#tip")
        row = shown.locator('[data-chart="baselines-Cora"] .hit').first
        row.hover(position={"x": 300, "y": 17})
        name, measured, _, published = tip.inner_text().split("\n")
        assert (name, measured, published) == ("GCN*", f"measured {mean(values):.2f}", "published 81.80")
        shown.locator('[data-chart="trials-baselines-Cora"] .trials').first.locator("circle").nth(3).hover()
        assert tip.inner_text() == f"seed 3: {values[3]:.1f} %"
        shown.locator(".curve:visible .hit").first.hover()
        assert re.fullmatch(r"epoch 1\ntraining [\d.]+, 2 trials\nvalidation [\d.]+, 2 trials", tip.inner_text())
        shown.keyboard.press("Escape")
        assert not tip.is_visible()
        assert complaints == []


@pytest.mark.browser
@pytest.mark.slow
def test_charts_need_no_script(page):
    with browser.opened(page, scripts=False) as (shown, _):
        curves = shown.locator(".curve")
        assert curves.count() == 2
        assert all(one.is_visible() for one in curves.all())
        assert curves.locator("figcaption").all_inner_texts() == ["Hyper-Conv. on digits", "Hyper-Atten. on digits"]
        assert shown.locator('[data-chart="baselines-Cora"] .measured').first.bounding_box()["width"] == 10


@pytest.mark.browser
@pytest.mark.slow
def test_another_curve_is_chosen_and_named(page):
    with browser.opened(page) as (shown, complaints):
        chart = shown.locator(".curve:visible .plot[aria-label]")
        assert chart.get_attribute("aria-label").startswith("Hyper-Conv. on digits. Training and")
        shown.select_option("#curve", index=1)
        assert chart.get_attribute("aria-label").startswith("Hyper-Atten. on digits. Training and")
        assert complaints == []


@pytest.mark.browser
@pytest.mark.slow
def test_the_committed_results_stand_on_a_phone_cell_by_cell_and_in_figures(tmp_path):
    folder = Path(__file__).parents[2] / "results"
    results = Results.read(folder)
    page = report.write(folder, tmp_path / "page.html", figures=tmp_path / "figures")
    with browser.opened(page, viewport=browser.PHONE, scheme="dark") as (shown, complaints):
        names = shown.locator(".chart").evaluate_all("all => all.map((one) => one.dataset.chart)")
        labels = shown.locator(".chart > svg").evaluate_all("all => all.map((one) => one.ariaLabel)")
        cells = shown.locator("[data-cell]").evaluate_all(
            "all => all.map((one) => [one.closest('table').dataset.table, one.dataset.cell, one.innerText])"
        )
        regions = shown.locator(".scroll").evaluate_all("all => all.map((one) => one.ariaLabel)")
        assert shown.evaluate("document.documentElement.scrollWidth") == browser.PHONE["width"]
        assert complaints == []
    shown_cells = {(table, name) for table, name, _ in cells}
    measured = [table for table in ALL.values() if table.name in TABLES or has_more_than_the_paper(table, results)]
    assert shown_cells <= {(one.table, one.name) for table in measured for one in table.cells}
    assert shown_cells >= {(one.table, one.name) for table in TABLES.values() for one in table.cells}
    assert shown_cells >= {(one.table, one.name) for table in measured for one in table.cells if results.trials(one)}
    for table, name, text in cells:
        cell = ALL[table].cell(name)
        for words in expected_words(cell, results) if table in TABLES or results.trials(cell) else ():
            assert words in text
    assert {"hidden", "depth", "sota-Pubmed", "newsgroup-20-newsgroup"} <= set(names)
    assert len(set(regions)) == len(regions)
    assert all(regions)
    assert labels[0] == "Cora. Measured and published test accuracy of each method."
    assert all(labels)
    stems = {re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") for name in names}
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {f"{stem}.svg" for stem in stems}
    figure = (tmp_path / "figures" / "baselines-cora.svg").read_text()
    for words in ("GAT*+Hyper-Atten.", ">Cora<", "Dots: measured mean", "diamonds: published mean"):
        assert words in figure
    assert "Dots: trials" in (tmp_path / "figures" / "trials-baselines-cora.svg").read_text()
    assert "All 46 means of our networks lie above the published ones" in (tmp_path / "page.html").read_text()


def expected_words(cell, results):
    """What must stand in a cell of the page."""
    digits = 2 if cell.table in ("baselines", "skip") else 1
    if cell.measure == "accuracy":
        published = [f"published {cell.published.mean:.{digits}f}"] if cell.published else []
        values = results.accuracies(cell)
        if len(values) < 2:
            return [*published, "quoted" if cell.is_quoted else f"{values[0]:.2f}" if values else "not run"]
        return [*published, f"{mean(values):.2f} ± {stdev(values):.2f}"]
    form = {"count": "{:.0f}", "milliseconds": "{:.3g} ms", "ratio": "{:.2f}"}[cell.measure]
    return [form.format(results.measured(cell))]


@pytest.mark.slow
def test_the_page_says_plainly_what_does_not_hold(page):
    text = page.read_text()
    assert "Reversed.</b> Hyper-Conv. better than GCN* (Cora): −2.61 points" in text
    assert "published: p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}0.016" in text
    assert re.search(r"Not shown.</b> Hyper-Atten. better than GAT\* \(Cora\)", text)
    assert "<b>Holds.</b> Hyper-Atten. better than Hyper-Conv. (Cora)" in text
    assert "largest shortfall is 1.00 points: Hyper-Conv. on Cora" in text


@pytest.mark.slow
def test_the_page_is_light_and_stands_alone(page):
    text = page.read_text()
    assert page.stat().st_size < 8_000_000
    assert not re.search(r'(?:src|href|xlink:href)="(?!#|data:)|url\(|@import|\bstyle="', text)
    assert len(render(Page("", "")).encode()) < 60_000
    assert "default-src 'none'" in text


@pytest.mark.slow
@pytest.mark.usefixtures("quick_map")
def test_compact_results_have_no_networks_and_say_so(tmp_path):
    fill(tmp_path / "runs")
    Results.read(tmp_path / "runs").write(tmp_path / "results")
    page = report.write(tmp_path / "results", tmp_path / "page.html")
    text = page.read_text()
    assert page == tmp_path / "page.html"
    assert 'data-cell="cora/hyper-conv"' in text
    assert "This folder holds no trained network" in text
    assert "There are no learning curves in these records" in text
    assert 'id="network"' not in text


@pytest.mark.slow
@pytest.mark.usefixtures("quick_map")
def test_one_run_has_a_page_and_figures(tmp_path, capsys):
    records = train(tmp_path / "run", "hyper-conv", skip=True).records
    figures = ["--figures", str(tmp_path / "figures"), "--formats", "pdf", "png", "svg"]
    assert main(["report", str(tmp_path / "run"), *figures]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{tmp_path / 'run' / 'report.html'}\n"
    assert printed.err == "map of 1797 vertices: Hyper-Conv. on digits, with skip connection, learning rate 0.05\n"
    text = (tmp_path / "run" / "report.html").read_text()
    assert f"<dd>{mean(record.test_accuracy for record in records):.2f} %</dd>" in text
    stems = ["curves", "map-hyper-conv-on-digits-with-skip-connection-learning-rate-0-05", "trials"]
    names = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert names == [f"{stem}.{ending}" for stem in stems for ending in ("pdf", "png", "svg")]
    starts = {".pdf": b"%PDF", ".png": b"\x89PNG", ".svg": b"<svg"}
    for path in (tmp_path / "figures").iterdir():
        assert path.read_bytes()[:4] == starts[path.suffix]
    assert PALETTE[9] in (tmp_path / "figures" / f"{stems[1]}.svg").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("quick_map")
def test_pairwise_networks_are_shown_with_the_graph_they_were_trained_on(tmp_path):
    data = with_graph(hg.datasets.load("digits"), "gat+hyper-attention")
    hg.training.fit(data, Config("gat+hyper-attention", max_epochs=2), out=tmp_path)
    (network,) = show([saved(tmp_path, "both")], Datasets(), budget=ROOM).networks
    assert network["heads"] == [*(f"1.{head}" for head in range(1, 9)), "2"]
    attention = np.frombuffer(base64.b64decode(network["attention"]["data"]), "<u2").reshape(-1, 9) / STEPS
    total = np.zeros((1797, 9))
    np.add.at(total, data.hypergraph.vertex.numpy(), attention)
    assert np.allclose(total, 1, atol=1e-3)


@pytest.mark.slow
@pytest.mark.usefixtures("quick_map")
def test_networks_that_cannot_be_shown_are_named_with_the_reason(tmp_path):
    train(tmp_path / "digits", "hyper-attention")
    people = [f"p{number}" for number in range(30)]
    own = hg.datasets.from_tables(
        incidences={"vertex": people, "hyperedge": ["a", "b", "c"] * 10},
        labels={"vertex": people, "label": [0, 1] * 15},
    )
    hg.training.fit(own, Config(max_epochs=2), out=tmp_path / "own")
    digits, tables = saved(tmp_path / "digits", "Digits"), saved(tmp_path / "own", "Own")
    shown = show([digits, tables], Datasets(), budget=300_000)
    assert shown.networks == []
    assert shown.left_out == [
        "Digits is not in the explorer: the page would become too large.",
        "Own is not in the explorer: it was trained on your own tables, which a run folder does not contain.",
    ]
    (network,) = show([digits], Datasets(), budget=ROOM).networks
    assert network["label"] == "Digits"
    assert show([digits], Datasets(seed=3), budget=ROOM).left_out == [
        "Digits is not in the explorer: it was trained on another split; choose it with --seed."
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("quick_map")
def test_the_budget_of_networks_is_their_size_on_the_page(tmp_path):
    train(tmp_path, "hyper-attention")
    digits, datasets = saved(tmp_path, "Digits"), Datasets()
    shown = show([digits], datasets, budget=ROOM)
    size = len(as_json(shown.networks)) + len(as_json(shown.datasets))
    assert show([digits], datasets, budget=size + 100).networks
    assert not show([digits], datasets, budget=size - 100).networks


@pytest.mark.slow
@pytest.mark.usefixtures("quick_map")
def test_a_page_that_would_be_too_large_leaves_out_networks_then_curves_then_trials(tmp_path, monkeypatch):
    train(tmp_path, "hyper-attention")
    whole = report.write(tmp_path).stat().st_size
    steps = []

    def page_of(largest, **options):
        monkeypatch.setattr("hypergnn.report.writing.LARGEST", largest)
        page = report.write(tmp_path, on_step=steps.append, **options)
        assert page.stat().st_size <= largest
        return page.read_text()

    heavy = "the page would become too large."
    text = page_of(whole - 10_000 + RESERVE - 100_000, figures=tmp_path / "figures")
    assert f"Hyper-Atten. on digits, learning rate 0.05 is not in the explorer: {heavy}" in text
    assert 'class="curve"' in text
    assert steps == ["map of 1797 vertices: Hyper-Atten. on digits, learning rate 0.05"]  # for the figure
    assert len(list((tmp_path / "figures").glob("map-*"))) == 1
    text = page_of(weight(page_of_run(tmp_path)[0]) + RESERVE - 100)
    assert f"The curves are not shown: {heavy}" in text
    assert 'data-chart="trials"' in text
    assert "There are no learning curves" not in text
    rows = [{"row": "run", "seed": seed, "value": 80.0} for seed in range(2_000)]
    many = Chart("trials", trials(rows, ["run"]), "Accuracy of each trial")
    page = Page("", "", distributions=[many])
    monkeypatch.setattr("hypergnn.report.writing.page_of_run", lambda _: (page, []))
    text = page_of(weight(Page("", "")) + RESERVE + 10_000)
    assert f"The trials are not shown: {heavy}" in text
    assert len(steps) == 1


@pytest.mark.parametrize("paper", COLOURS)
def test_ink_is_legible_on_the_strongest_attention(paper):
    colours = COLOURS[paper]
    share = float(colours["heat"].removesuffix("%")) / 100
    ink, accent, card = (
        np.array([int(colours[one][at : at + 2], 16) for at in (1, 3, 5)]) for one in ("ink", "accent", "card")
    )
    dark, light = sorted(luminance(one) for one in (ink, share * accent + (1 - share) * card))
    assert (light + 0.05) / (dark + 0.05) >= 4.5  # WCAG 2.2, 1.4.3


def luminance(rgb):
    """Relative luminance as WCAG 2.2 defines it."""
    parts = rgb / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.slow
def test_runs_of_no_table_are_refused_and_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with Ledger.open(Path("runs/mine"), {"data": {"name": "cora"}, "config": {"model": "gcn"}}):
        pass
    assert main(["report", "."]) == 2
    assert capsys.readouterr().err == (
        "hypergnn: RUN must be a run folder, or hold results of the paper's tables; . has none. "
        "Did you mean runs/mine?\n"
    )
    cell = BASELINES.cell("cora/gcn")
    with Ledger.open(Path("begun") / cell.run, {"data": {"name": "cora"}, "config": {"model": "gcn"}}):
        pass
    with pytest.raises(ValueError, match="begun has no finished trial of them yet"):
        report.write("begun")


@pytest.mark.slow
@pytest.mark.usefixtures("quick_map")
def test_curves_that_are_left_out_are_spoken_of(tmp_path):
    usual, narrow = TABLES["baselines"].cell("cora/hyper-conv"), TABLES["hidden"].cell("hyper-conv/4")
    for cell in (usual, narrow):
        train(tmp_path / cell.run, "hyper-conv")
    page, _ = page_of_results(Results.read(tmp_path), tmp_path)
    assert [chart.caption for chart in page.curves] == ["Hyper-Conv. on Cora"]
    assert page.curves_note == (
        "Not shown: the curves of 1 run with other settings (hidden). Use hypergnn report on a run folder to see its "
        f"curves, for example {narrow.run}."
    )


@pytest.mark.slow
def test_a_chart_has_the_rows_of_its_table(tmp_path):
    cell = BASELINES.cell("cora/gcn")
    with Ledger.open(tmp_path / cell.run, {"data": {"name": "cora"}, "config": {"model": "gcn"}}) as ledger:
        ledger.append(trial(0, 81.0))
    page, _ = page_of_results(Results.read(tmp_path), tmp_path)
    (table,) = page.tables
    (chart,) = table.charts
    names = re.findall(r'class="name"[^>]*>([^<]*)<', chart.svg)
    assert names == [row.label for row in table.rows] == ["GCN*"]
    assert chart.alt == "Cora. Measured and published test accuracy of each method."


@pytest.mark.slow
@pytest.mark.usefixtures("quick_map")
def test_other_tables_are_shown_too_with_the_networks_they_have(tmp_path):
    cell = TABLES["hidden"].cell("hyper-conv/4")
    train(tmp_path / cell.run, "hyper-conv", hidden=4, heads=1)
    counts = {"datasets:cora/nodes": 2708.0, "datasets:cora/edges": 5278.0}
    results = note(tmp_path, Results.read(tmp_path), counts, {"cpu": "of the test"})
    assert results == Results.read(tmp_path)
    page, networks = page_of_results(results, tmp_path)
    assert [table.name for table in page.tables] == ["datasets", "hidden"]
    nodes, edges = page.tables[0].rows[0].cells
    assert (nodes.measured, nodes.verdict) == ("2708", None)
    assert (edges.measured, *edges.lines, edges.verdict) == ("5278", "published 5429", "counted differently")
    assert [row.label for row in page.tables[1].rows] == ["4"]
    assert page.tables[1].columns == ["Hyper-Conv."]
    assert len(page.tables[0].rows) == 1
    assert "With fewer than 30 trials intervals are wide" in page.lead
    assert [chart.caption for chart in page.curves] == ["Hyper-Conv. on Cora, 1 head, width 4"]
    assert [one.label for one in networks] == ["Hyper-Conv. on Cora, 1 head, width 4"]


@pytest.mark.slow
@pytest.mark.usefixtures("quick_map")
def test_networks_that_the_explorer_leaves_out_are_named(tmp_path):
    cells = [TABLES["hidden"].cell(f"hyper-conv/{width}") for width in (4, 8)]
    for cell in cells:
        train(tmp_path / cell.run, "hyper-conv")
    page, networks = page_of_results(Results.read(tmp_path), tmp_path)
    assert [one.label for one in networks] == ["Hyper-Conv. on Cora, 1 head, width 4"]
    assert page.left_out == [
        "The explorer shows one network per dataset for Hyper-Atten. and for Hyper-Conv. Not shown: 1 trained network "
        "(Hyper-Conv. on Cora, 1 head). Use hypergnn report on a run folder to explore its network, for example "
        f"{cells[1].run}."
    ]


@pytest.mark.usefixtures("quick_map")
def test_the_stand_in_and_the_table_that_shares_its_run_are_shown_only_with_cells_of_their_own(tmp_path):
    train(tmp_path / STAND_IN.cell("digits/hyper-attention").run, "hyper-attention")
    page, _ = page_of_results(Results.read(tmp_path), tmp_path)
    assert [one.name for one in page.tables] == ["digits"]
    systems = ALL["systems"]
    assert systems.cell("digits/ours").run == STAND_IN.cell("digits/hyper-attention").run
    with Ledger.open(
        tmp_path / systems.cell("digits/Multilayer Perceptron").run, {"data": {"name": "digits"}}
    ) as ledger:
        ledger.append(trial(0, 80.0))
    page, _ = page_of_results(Results.read(tmp_path), tmp_path)
    assert "systems" in [one.name for one in page.tables]
    assert "digits" not in [one.name for one in page.tables]


@pytest.mark.usefixtures("quick_map")
def test_a_page_is_rendered_once_from_results_and_data_that_are_there(tmp_path, monkeypatch):
    train(tmp_path / STAND_IN.cell("digits/hyper-conv").run, "hyper-conv")
    results, digits = Results.read(tmp_path), hg.datasets.load("digits")
    rendered, drawn, read = [], [], []

    def refuse(*_, **__):
        raise AssertionError("this must not be loaded or read again")

    def count(counts, function):
        return lambda *given, **options: (counts.append(given), function(*given, **options))[1]

    monkeypatch.setattr("hypergnn.report.networks.load", refuse)
    monkeypatch.setattr(ledger, "read", refuse)
    monkeypatch.setattr(Results, "read", refuse)
    monkeypatch.setattr("hypergnn.report.writing.render", count(rendered, render))
    monkeypatch.setattr(Drawing, "inline", count(drawn, Drawing.inline))
    monkeypatch.setattr("hypergnn.report.reproductions.read_curves", count(read, ledger.read_curves))
    path = report.write_results(results, tmp_path / "report.html", datasets={"digits": digits})
    assert 'id="network"' in path.read_text()
    assert len(rendered) == len(read) == 1
    assert len(drawn) == len({id(one[0]) for one in drawn}), "each chart is drawn once"


@pytest.mark.slow
def test_a_reproduction_ends_with_the_path_of_its_page(tmp_path, monkeypatch, capsys):
    from hypergnn.experiments.runner import Reproduction

    fill(tmp_path)
    done = Reproduction(Results.read(tmp_path), interrupted=False)
    monkeypatch.setattr("hypergnn.experiments.runner.reproduce", lambda *_, **__: done)
    command = ["reproduce", "baselines", "--dataset", "cora", "--out", str(tmp_path)]
    assert main(command) == 0
    printed = capsys.readouterr()
    assert printed.out.endswith(f"\npage: {tmp_path / 'report.html'}\n")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert main(command) == 0
    printed = capsys.readouterr()
    assert "page:" not in printed.out
    assert printed.err.startswith("no page was written: a report needs jinja2")


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


def test_a_network_is_refused_without_the_structures_that_it_needs(tmp_path):
    data = hg.datasets.load("digits")
    hg.training.fit(with_graph(data, "gcn"), Config("gcn", max_epochs=1), out=tmp_path)
    with pytest.raises(ValueError, match="the model 'gcn' needs a graph, and digits has none"):
        look(hg.load(tmp_path / "model.safetensors"), data)


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
        (["nowhere"], "RUN must be a folder of results; nowhere is not a folder."),
        (["."], "folder must be that of a reproduction"),
        ([".", "--out", "nowhere/page.html"], "--out must be a file in an existing folder"),
        ([".", "--figures", "file"], "--figures must be a folder or a new name"),
        ([".", "--formats", "png"], "--formats needs --figures DIR"),
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
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"a report needs jinja2.*pip install '\.\[report\]'"):
        report.write(tmp_path)


def test_figures_as_images_need_an_extra_which_is_checked_before_anything_is_written(tmp_path, monkeypatch):
    fill(tmp_path)
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(ImportError, match=r"figures as PNG or PDF needs vl_convert.*pip install '\.\[figures\]'"):
        report.write(tmp_path, figures=tmp_path / "figures", formats=["svg", "png"])
    assert not (tmp_path / "figures").exists()
    assert not (tmp_path / "report.html").exists()
    report.write(tmp_path, figures=tmp_path / "figures")
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".svg"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"figures": "figures", "formats": []}, r"formats must be a list of 'svg', 'png' or 'pdf'; got \[\]"),
        ({"figures": "figures", "formats": "png"}, "formats must be a list of 'svg', 'png' or 'pdf'; got 'png'"),
        ({"figures": "figures", "formats": ["svg", "gif"]}, r"got \['svg', 'gif'\]"),
        ({"formats": ["svg"]}, "formats needs figures, the folder for the files"),
    ],
)
def test_formats_are_those_of_figures(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        report.write(tmp_path, **options)


def test_curves_leave_out_what_is_not_a_number():
    losses = [2.0, None, float("nan"), float("inf"), 1.0]
    chart = curves_chart({0: {"train_loss": losses, "val_loss": [None] * 5}}, "curves", "A run")
    assert chart.chart.summary == "Mean training loss: 2 at first, 1 at the end."
    assert "nan" not in chart.svg
    assert curves_chart({0: {"train_loss": [float("nan")], "val_loss": [None]}}, "curves", "A run") is None
