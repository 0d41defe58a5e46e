"""Charts: their marks stand where the numbers are, on the page and in figures, and no name becomes markup."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from hypergnn.report import charts, figures
from hypergnn.report.colours import COLOURS, PALETTE, UNKNOWN
from hypergnn.report.drawing import STEP, WIDEST
from hypergnn.report.page import Chart
from hypergnn.report.plane import Plane
from hypergnn.report.scales import Scale
from hypergnn.report.svg import Svg, number, shortened, tag, text_width

ATTACK = "\"><script>alert('1')</script>&\x00\ud800"
SVG = "{http://www.w3.org/2000/svg}"


def row(name="GCN", mean=81.0, low=80.5, high=81.5, published=80.0, spread=0.5, **others):
    ends = (None, None) if published is None else (published - spread, published + spread)
    return {
        "row": name,
        "mean": mean,
        "low": low,
        "high": high,
        "published": published,
        "from": ends[0],
        "to": ends[1],
    } | others


ROWS = [row(), row("GAT", 83.0, 82.0, 84.0, None), row("quoted", None, None, None, 79.0)]
TRIALS = [{"row": name, "seed": seed, "value": 80.0 + seed % 7} for name in ("a", "b") for seed in range(20)]
SETTINGS = [row(name, 70.0 + x, 69.0 + x, 71.0 + x, 68.0 + x, x=x) for name in ("a", "b") for x in (2, 4, 16)]
LOSSES = [
    {"epoch": epoch, "loss": 2.0 / epoch + seed, "part": part, "seed": seed}
    for part in ("training", "validation")
    for seed in (0, 1)
    for epoch in range(1, 50 - 20 * seed)
]
POINTS = [{"x": 0.1, "y": 0.9, "colour": -1}, {"x": 1.0, "y": 0.0, "colour": 11}]
MAKERS = {
    "dots": lambda: charts.dots(ROWS),
    "trials": lambda: charts.trials(TRIALS, ["a", "b"]),
    "lines": lambda: charts.lines(SETTINGS, "width", doubling=True),
    "curves": lambda: charts.curves(LOSSES),
    "map": lambda: charts.embedding(POINTS, ["theory"], 400),
}


@pytest.fixture(params=MAKERS)
def drawing(request):
    return MAKERS[request.param]()


def marks(drawing, kind, width=400):
    """The elements of a class in the figure of a drawing."""
    root = ElementTree.fromstring(drawing.figure("title", "key", width))
    return [one for one in root.iter() if kind in (one.get("class") or "").split()]


def value_at(x, axis):
    """The value at a place, read off the labels of the axis."""
    places, values = zip(*axis, strict=True)
    slope, offset = np.polyfit(places, values, 1)
    return slope * x + offset


def ticks(drawing, axis="x"):
    """Places and values of the labels below the plane, or beside it."""
    anchor = {"x": "middle", "y": "end"}[axis]
    labels = [one for one in marks(drawing, "label") if one.get("text-anchor") == anchor and one.get(axis)]
    return [(float(one.get(axis)), float(one.text)) for one in labels if re.fullmatch(r"[\d.-]+", one.text)]


def test_a_figure_is_xml_that_stands_alone(drawing):
    text = drawing.figure("The title", "What it means", 400)
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert root.find(f"{SVG}title").text == "The title"
    assert root.find(f"{SVG}desc").text == f"What it means. {drawing.summary}"
    assert "var(" not in text
    assert COLOURS["light"]["accent"] in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "%" not in "".join(f"{one.get('x')}{one.get('cx')}{one.get('x1')}" for one in root.iter())


def test_on_the_page_a_chart_has_a_label_its_numbers_in_words_and_no_style_of_its_own(drawing):
    text = drawing.inline("About it.")
    root = ElementTree.fromstring(text)
    assert (root.get("role"), root.get("aria-label")) == ("img", "About it.")
    assert root.find("desc").text == drawing.summary
    assert "style" not in text
    assert "<text" in text or drawing.kind == "map"


def test_dots_stand_at_the_measured_and_published_numbers():
    drawing = MAKERS["dots"]()
    axis = ticks(drawing)
    at = [value_at(float(one.get("cx")), axis) for one in marks(drawing, "measured")]
    assert np.allclose(at, [81.0, 83.0], atol=0.02)
    ends = [[value_at(float(one.get(end)), axis) for end in ("x1", "x2")] for one in marks(drawing, "interval")]
    assert np.allclose(ends, [[80.5, 81.5], [82.0, 84.0]], atol=0.02)
    spread = [[value_at(float(one.get(end)), axis) for end in ("x1", "x2")] for one in marks(drawing, "spread")]
    assert np.allclose(spread, [[79.5, 80.5], [78.5, 79.5]], atol=0.02)
    root = ElementTree.fromstring(drawing.figure("", "", 400))
    stated = [one.get("x") for one in root.iter(f"{SVG}svg") if one.find(f"{SVG}path[@class='published']") is not None]
    assert np.allclose([value_at(float(x), axis) for x in stated], [80.0, 79.0], atol=0.02)
    assert [one.text for one in marks(drawing, "name")] == ["GCN", "GAT", "quoted"]


def test_page_and_figure_place_marks_alike():
    inside = ElementTree.fromstring(MAKERS["dots"]().inline(""))
    shares = [float(one.get("cx").removesuffix("%")) / 100 for one in inside.iter("circle")]
    pixels = [float(one.get("cx")) for one in marks(MAKERS["dots"](), "measured")]
    assert np.allclose(np.multiply(shares, 400), pixels, atol=0.05)


def test_each_trial_is_a_dot_in_its_row_and_the_line_is_the_mean():
    drawing = MAKERS["trials"]()
    first, second = marks(drawing, "trials")
    assert len(first) == len(second) == 20
    down = [[float(one.get("cy")) for one in group] for group in (first, second)]
    assert 0 < min(down[0]) < max(down[0]) < 42 < min(down[1]) < max(down[1]) < 84
    values = [value_at(float(one.get("cx")), ticks(drawing)) for one in first]
    assert np.allclose(values, [one["value"] for one in TRIALS[:20]], atol=0.05)
    lines = [value_at(float(one.get("x1")), ticks(drawing)) for one in marks(drawing, "mean")]
    assert np.allclose(lines, np.mean(values), atol=0.05)
    assert "<title>seed 3: 83.0 %</title>" in drawing.inline("")


def test_lines_go_through_their_means_on_a_logarithmic_axis():
    drawing = MAKERS["lines"]()
    axis = [(down - 4, value) for down, value in ticks(drawing, "y")]  # labels stand below their lines
    points = [(float(one.get("cx")), float(one.get("cy"))) for one in marks(drawing, "point")[:3]]
    assert np.allclose([value_at(down, axis) for _, down in points], [72, 74, 86], atol=0.1)
    near, far = np.diff([across for across, _ in points])
    assert far == pytest.approx(2 * near, rel=0.01)  # 2 → 4 is one doubling, 4 → 16 are two
    assert [one.get("d") for one in marks(drawing, "line") if one.get("d")] == [
        "M" + "L".join(f"{number(x, 1)} {number(y, 1)}" for x, y in points)
    ] * 2
    assert len(marks(drawing, "ring")) == 6
    assert "width 16\na: measured 86.00, 95 % interval 85.00 to 87.00, published 84.00\nb:" in drawing.inline("")


def test_curves_name_the_mean_loss_of_the_trials_that_still_run():
    text = MAKERS["curves"]().inline("")
    assert "<title>epoch 1\ntraining 2.5, 2 trials\nvalidation 2.5, 2 trials</title>" in text
    assert re.search(r"<title>epoch 41\ntraining 0.0488, 1 trial\n", text)
    assert text.count('class="thin"') == 4
    assert 'class="guide"' not in MAKERS["curves"]().figure("", "", 400)


def test_a_map_has_the_colours_of_the_classes():
    root = ElementTree.fromstring(MAKERS["map"]().figure("", "", 400))
    dots = list(root.iter(f"{SVG}circle"))
    assert [one.get("fill") for one in dots] == [UNKNOWN, PALETTE[1], PALETTE[0]]
    assert [float(dots[0].get(name)) for name in ("cx", "cy")] == pytest.approx(
        [400 * 0.12 / 1.04, 400 * 0.12 / 1.04], abs=0.1
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: charts.dots([row(ATTACK)]),
        lambda: charts.trials([{"row": ATTACK, "seed": 0, "value": 80.0}], [ATTACK]),
        lambda: charts.lines([row(ATTACK, x=1)], ATTACK),
        lambda: charts.curves([{"epoch": 1, "loss": 1.0, "part": ATTACK, "seed": 0}]),
        lambda: charts.embedding(POINTS, [ATTACK], 400),
    ],
    ids=MAKERS,
)
def test_no_name_becomes_markup(make):
    drawing = make()
    for text in (drawing.inline(ATTACK), drawing.figure(ATTACK, ATTACK, 400)):
        assert all(one.tag.removeprefix(SVG) != "script" for one in ElementTree.fromstring(text).iter())
        text.encode()


def test_a_long_name_is_cut_and_its_row_says_it_in_full():
    drawing = charts.dots([row("a method with a name " * 4)])
    assert drawing.left == WIDEST
    (name,) = marks(drawing, "name")
    assert name.text.endswith("…")
    assert text_width(name.text) <= STEP * WIDEST
    assert "a method with a name a method with a name a" in drawing.inline("")


@pytest.mark.parametrize(
    "rows",
    [
        [row(mean=81.0, low=None, high=None, published=None)],
        [row(mean=0.0, low=0.0, high=0.0, published=0.0, spread=0.0)],
    ],
)
def test_a_single_number_stands_in_the_middle(rows):
    (dot,) = marks(charts.dots(rows), "measured")
    assert float(dot.get("cx")) == 200


@pytest.mark.parametrize("low", [-3.0, 0.0, 81.7, 1e-4])
@pytest.mark.parametrize("length", [1e-3, 0.7, 1.0, 33.0, 1999.0, 1e7])
@pytest.mark.parametrize("most", [4, 7, 9])
def test_ticks_are_round_evenly_spaced_distinct_and_on_the_axis(low, length, most):
    scale = Scale(low, low + length)
    values, labels = zip(*scale.ticks(most), strict=True)
    assert 2 <= len(values) <= most
    assert len(set(labels)) == len(labels)
    assert np.allclose(np.diff(values), values[1] - values[0])
    assert all(-1e-6 <= scale(value) <= 1 + 1e-6 for value in values)
    assert all(abs(float(label) - value) <= 1e-3 * length for value, label in zip(values, labels, strict=True))
    step = values[1] - values[0]
    assert min(abs(step / 10 ** np.floor(np.log10(step) + 1e-9) - base) for base in (1, 2, 5, 10)) < 1e-6


def test_numbers_that_are_not_finite_do_not_stretch_an_axis():
    assert Scale.over([1.0, float("nan"), float("inf"), 3.0], margin=0.0) == Scale(1.0, 3.0)


def test_hovered_columns_meet_in_the_middle_and_cover_the_plane():
    columns = [ElementTree.fromstring(one).find("rect") for one in Plane(100).columns([0.2, 0.4, 0.9], "abc")]
    spans = [(one.get("x"), one.get("width")) for one in columns]
    assert spans == [("0%", "30%"), ("30%", "35%"), ("65%", "35%")]


def test_text_is_escaped_unless_it_is_svg():
    assert tag("text", {"a": '"<'}, "<b>", Svg("<b/>")) == '<text a="&quot;&lt;">&lt;b&gt;<b/></text>'
    assert shortened("", 10) == ""
    assert shortened("wide", 1) == "…"


def test_figures_are_named_after_their_charts(tmp_path):
    chart = Chart("Trials: Cora, λ = 3e-4", MAKERS["trials"](), "Cora")
    figures.save([chart], [], tmp_path / "new", ["svg", "svg"])
    (path,) = (tmp_path / "new").iterdir()
    assert path.name == "trials-cora-3e-4.svg"
    assert path.read_text() == MAKERS["trials"]().figure("Cora", "", 460)
