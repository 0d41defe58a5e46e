"""The explorer of the page in a browser: its texts about a vertex, its map, links and keyboard."""

import numpy as np
import pytest
import torch
from support import browser

import hypergnn as hg
from hypergnn import Graph, Hypergraph
from hypergnn.datasets import Dataset
from hypergnn.models import KINDS, Config, Network
from hypergnn.persistence.models import SavedModel
from hypergnn.report.colours import COLOURS
from hypergnn.report.explorer import STEPS, network, structure
from hypergnn.report.insight import look
from hypergnn.report.page import Page, render

DIGITS = hg.datasets.load("digits")
ATTACK = '"><img src=x onerror=alert(1)>'
LARGE = range(10, 160)
WANTED = {
    "hyper-conv": "the structure alone determines the weight of a hyperedge. Open",
    "hyper-attention": "means more than an equal share. Open",
    "gcn": "does not use hyperedges; it averages over linked vertices.",
    "gat": "does not use hyperedges; it attends to linked vertices.",
    "gcn+hyper-conv": "the weight of a hyperedge. It also uses links between two vertices",
    "gat+hyper-attention": "It also attends to linked vertices",
    "mlp": "uses only the features of the vertex itself.",
    "hyper-sage": "the structure alone determines the weight of a hyperedge. Open",
    "hyper-monet": "The weight that this network gives a hyperedge is not listed. Open",
    "dynamic-hyper-conv": "The weight that this network gives a hyperedge is not listed. Open",
    "hyper-diffusion": "the structure alone determines the weight of a hyperedge. Open",
    "grand": "does not use hyperedges; it averages over linked vertices.",
    "hyper-grand": "the structure alone determines the weight of a hyperedge. Open",
    "grand+hyper-grand": "the weight of a hyperedge. It also uses links between two vertices",
}
"""What the card of a vertex says, by network."""
INK = [int(COLOURS["light"]["ink"][at : at + 2], 16) for at in (1, 3, 5)]


def postings():
    """Postings with words as hyperedges, one of them large, and names that are HTML; the last posting is isolated."""
    words = [LARGE, [3, 50, 60], [1, 2, 3, 4, 5], [7]]
    H = Hypergraph.from_hyperedges(words, n_vertices=200, hyperedge_names=["large", ATTACK, "small", "alone"])
    draw = np.random.default_rng(0)
    graph = Graph.from_links(*draw.integers(0, 200, (2, 300)), n_vertices=200)
    parts = {"train": range(0, 50), "val": range(50, 100), "test": range(100, 200)}
    split = {name: np.array(ids) for name, ids in parts.items()}
    x, y = draw.random((200, 5), dtype=np.float32), np.arange(200) // 50
    return Dataset("20news", x, y, (ATTACK, "b", "c", "d"), graph, H, **split, source="drawn")


def looked_at(data, model):
    """A network that nobody has trained: it has all that there is to see."""
    torch.manual_seed(0)
    about = {"seed": 3}
    return look(SavedModel(Network(Config(model), data.n_features, data.n_classes), data.class_names, about), data)


def places_of(number, data):
    return np.random.default_rng(number).random((data.hypergraph.n_vertices, 2), dtype=np.float32)


def written(path, data, models):
    """A page with these networks, and nothing else."""
    insights = {model: looked_at(data, model) for model in models}
    networks = [
        network(insight, places_of(number, data), model) for number, (model, insight) in enumerate(insights.items())
    ]
    path.write_text(render(Page("A run", ATTACK, networks=networks, datasets={data.name: structure(data)})))
    return path, insights


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    return written(tmp_path_factory.mktemp("digits") / "page.html", DIGITS, ("hyper-attention", "hyper-conv"))


@pytest.fixture(scope="module")
def news(tmp_path_factory):
    return written(tmp_path_factory.mktemp("news") / "page.html", postings(), tuple(KINDS))[0]


def on_map(shown, what):
    return shown.evaluate(f"document.getElementById('map').map.{what}")


def pixel(shown, x, y):
    """The colour of a pixel of the map."""
    return shown.evaluate(
        f"[...document.getElementById('map').getContext('2d').getImageData({x:.0f}, {y:.0f}, 1, 1).data].slice(0, 3)"
    )


def near(vertex, data=DIGITS):
    """Those that share a hyperedge with a vertex."""
    H = data.hypergraph
    own = H.hyperedge[H.vertex == vertex]
    return set(H.vertex[torch.isin(H.hyperedge, own)].tolist()) - {vertex}


def is_ringed(shown, vertex, number):
    """Whether the map rings a vertex and those around it, and has the places of the network of this number."""
    places = np.array(shown.evaluate("[...document.getElementById('map').map.places]")) / STEPS
    return (
        np.allclose(places.reshape(-1, 2), places_of(number, DIGITS), atol=1 / STEPS)
        and on_map(shown, "chosen") == vertex
        and set(on_map(shown, "near")) == near(vertex)
    )


@pytest.mark.browser
@pytest.mark.slow
def test_choosing_a_vertex_shows_its_classes_and_attention(digits):
    path, insights = digits
    insight = insights["hyper-attention"]
    own = DIGITS.hypergraph.vertex.numpy() == 7
    expected = dict(zip(DIGITS.hypergraph.hyperedge.numpy()[own].tolist(), insight.attention[own], strict=True))
    with browser.opened(path) as (shown, complaints):
        card = shown.locator("#card")
        shown.fill("#find", "7")
        shown.click("#matches button >> nth=0")
        assert card.locator("h3").inner_text() == "Image 7"
        truth, prediction = card.locator(".verdicts dd").all_inner_texts()
        guess = int(insight.probability[7].argmax())
        assert truth == DIGITS.class_names[DIGITS.y[7]]
        assert prediction == DIGITS.class_names[guess] + (" wrong" if guess != DIGITS.y[7] else "")
        assert shown.inner_text("#status") == f"Image 7: truth {truth}, prediction {DIGITS.class_names[guess]}"
        shares = [float(text.removesuffix(" %")) for text in card.locator(".shares .percent").all_inner_texts()]
        assert shares == pytest.approx(100 * insight.probability[7], abs=0.501)
        rows = card.locator("tr[data-hyperedge]").all()
        assert len(rows) == min(len(expected), 12)
        for row in rows:
            heat = np.array(row.locator(".heat").all_inner_texts(), float)
            assert np.allclose(heat, 100 * expected[int(row.get_attribute("data-hyperedge"))], atol=0.11)
        assert "Each column sums to 100 over the hyperedges of the vertex" in card.inner_text()
        assert complaints == []


@pytest.mark.browser
@pytest.mark.slow
def test_an_opened_hyperedge_has_its_members_and_they_can_be_chosen(digits):
    H = DIGITS.hypergraph
    with browser.opened(digits[0]) as (shown, complaints):
        card = shown.locator("#card")
        shown.fill("#find", "7")
        shown.press("#find", "Enter")
        row = card.locator("tr[data-hyperedge]").first
        members = set(H.vertex[H.hyperedge == int(row.get_attribute("data-hyperedge"))].tolist())
        row.locator("button").click()
        listed = card.locator(".members:visible [data-vertex]")
        numbers = [int(one.get_attribute("data-vertex")) for one in listed.all()]
        assert (numbers[0], set(numbers), len(numbers)) == (7, members, 11)
        assert f"{len(members)} members" in row.inner_text()
        other = listed.nth(1)
        assert other.get_attribute("aria-label") == f"{numbers[1]}, {DIGITS.class_names[DIGITS.y[numbers[1]]]}"
        other.press("Enter")
        assert card.locator("h3").inner_text() == f"Image {numbers[1]}"
        assert shown.evaluate("document.activeElement.innerText") == f"Image {numbers[1]}"
        assert shown.evaluate("location.hash") == f"#digits-{numbers[1]}-hyper-attention"
        assert is_ringed(shown, numbers[1], 0)
        assert complaints == []


@pytest.mark.browser
@pytest.mark.slow
def test_hyperedges_beyond_the_first_are_listed_when_asked_for(digits):
    degrees = DIGITS.hypergraph.incidence.offsets.diff()
    vertex = int(degrees.argmax())
    with browser.opened(digits[0]) as (shown, complaints):
        shown.fill("#find", str(vertex))
        shown.press("#find", "Enter")
        rows = shown.locator("tr[data-hyperedge]")
        assert rows.count() == 12
        shown.click("#card .more")
        assert rows.count() == degrees[vertex] > 12
        assert shown.evaluate("document.activeElement.innerText") == rows.nth(12).locator("button").inner_text()
        assert complaints == []


@pytest.mark.browser
@pytest.mark.slow
def test_a_click_on_the_map_chooses_the_vertex_there(digits):
    path, insights = digits
    with browser.opened(path) as (shown, complaints):
        shown.locator("#map").scroll_into_view_if_needed()
        for vertex in (42, 1200):
            box = shown.locator("#map").bounding_box()
            x, y = (places_of(0, DIGITS)[vertex] + 0.02) / 1.04
            at = {"x": float(x) * box["width"], "y": float(1 - y) * box["height"]}
            shown.locator("#map").click(position=at)
            assert shown.get_attribute("#card", "data-vertex") == str(vertex)
            assert shown.inner_text("#tip") == f"Image {vertex}: {DIGITS.class_names[DIGITS.y[vertex]]}"
            assert is_ringed(shown, vertex, 0)
        assert pixel(shown, at["x"], at["y"] - 9) == INK  # the ring
        assert on_map(shown, "colours") == DIGITS.y.tolist()
        shown.select_option("#colour-by", "prediction")
        packed = np.rint(STEPS * insights["hyper-attention"].probability)
        assert on_map(shown, "colours") == packed.argmax(axis=1).tolist()
        assert is_ringed(shown, 1200, 0)
        assert complaints == []


@pytest.mark.browser
@pytest.mark.slow
def test_changing_the_network_keeps_the_vertex_and_asking_for_a_mistake_finds_one(digits):
    path, insights = digits
    with browser.opened(path) as (shown, complaints):
        shown.fill("#find", "42")
        shown.press("#find", "Enter")
        shown.select_option("#network", label="hyper-conv")
        assert shown.inner_text("#card h3") == "Image 42"
        shown.fill("#find", "43")
        shown.press("#find", "Enter")
        assert is_ringed(shown, 43, 1)
        assert shown.locator("#card .heat").count() == 0
        assert "has no attention" in shown.inner_text("#card")
        assert shown.evaluate("location.hash") == "#digits-43-hyper-conv"
        shown.click("#mistake")
        vertex = int(shown.get_attribute("#card", "data-vertex"))
        assert insights["hyper-conv"].probability[vertex].argmax() != DIGITS.y[vertex]
        assert "wrong" in shown.inner_text("#card .verdicts")
        assert complaints == []


@pytest.mark.browser
@pytest.mark.slow
def test_links_lead_to_a_vertex_and_a_network_and_colours_keep_it(digits):
    with browser.opened(digits[0]) as (shown, complaints):
        shown.goto("about:blank")
        shown.goto(f"{digits[0].as_uri()}#digits-42")
        assert shown.inner_text("#card h3") == "Image 42"
        assert is_ringed(shown, 42, 0)
        shown.evaluate("location.hash = '#digits-99-hyper-conv'")
        browser.wait_until(shown, lambda: shown.inner_text("#card h3") == "Image 99")
        assert shown.evaluate("document.getElementById('network').selectedOptions[0].label") == "hyper-conv"
        top = "document.getElementById('explorer').getBoundingClientRect().top"
        browser.wait_until(shown, lambda: abs(shown.evaluate(top)) < 200)
        assert is_ringed(shown, 99, 1)
        before = shown.locator("#map").screenshot()
        shown.emulate_media(color_scheme="dark")
        browser.wait_until(shown, lambda: shown.locator("#map").screenshot() != before)
        assert is_ringed(shown, 99, 1)
        for nowhere in ("#digits-5000", "#cora-1", "#digits-1-gat"):
            shown.evaluate(
                f"history.replaceState(null, '', '{nowhere}'); dispatchEvent(new HashChangeEvent('hashchange'))"
            )
            assert shown.inner_text("#card h3") == "Image 99"
        assert complaints == []


@pytest.mark.browser
@pytest.mark.slow
def test_a_large_hyperedge_shows_some_members_evenly_chosen_and_more_when_asked(news):
    with browser.opened(news) as (shown, complaints):
        shown.fill("#find", "120")
        shown.press("#find", "Enter")
        row = shown.locator("tr[data-hyperedge='0']")
        row.locator("button").click()
        listed = shown.locator(".members:visible [data-vertex]")
        numbers = [int(one.get_attribute("data-vertex")) for one in listed.all()]
        assert numbers[0] == 120
        assert len(set(numbers)) == 60
        assert numbers[1:] == sorted(numbers[1:])
        assert np.diff(numbers[1:]).max() <= 4
        assert (numbers[1], numbers[-1]) == (10, 157)
        assert "60 of 150 members" in shown.inner_text(".members:visible")
        assert "Not ringed: 1 hyperedge with more than 60 members." in shown.inner_text("#ring-note")
        shown.click(".more-members")
        numbers = [int(one.get_attribute("data-vertex")) for one in listed.all()]
        assert (numbers[0], set(numbers)) == (120, set(LARGE))
        assert shown.locator(".more-members:visible").count() == 0
        assert shown.evaluate("document.activeElement.dataset.vertex") == "120"
        shown.fill("#find", "7")
        shown.press("#find", "Enter")
        assert "1 member\n" in shown.inner_text("#card") + "\n"
        shown.fill("#find", "199")
        shown.press("#find", "Enter")
        assert "None: it is isolated." in shown.inner_text("#card")
        assert complaints == []


def test_what_the_explorer_says_is_tested_for_every_network():
    assert WANTED.keys() == KINDS.keys()


@pytest.mark.browser
@pytest.mark.slow
def test_the_explorer_says_what_each_network_reads(news):
    with browser.opened(news) as (shown, complaints):
        shown.fill("#find", "120")
        shown.press("#find", "Enter")
        for model, words in WANTED.items():
            shown.select_option("#network", label=model)
            assert words in shown.inner_text("#card")
            assert (shown.locator("#card .heat").count() > 0) == ("hyper-attention" in model)
        assert "seed 3" in shown.inner_text("#map-note")
        assert complaints == []


@pytest.mark.browser
@pytest.mark.slow
def test_no_name_becomes_a_part_of_the_page(news):
    said = []
    with browser.opened(news) as (shown, complaints):
        shown.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        shown.fill("#find", ATTACK[:5])
        assert ATTACK in shown.inner_text("#matches")
        shown.click("#matches button >> nth=0")
        assert f"“{ATTACK}”" in shown.inner_text("#card")
        shown.locator("#map").scroll_into_view_if_needed()
        box = shown.locator("#map").bounding_box()
        for share in np.linspace(0.02, 0.98, 40):
            shown.mouse.move(box["x"] + share * box["width"], box["y"] + 0.5 * box["height"])
        shown.wait_for_timeout(200)
        assert shown.locator("img").count() == 0
        assert (said, complaints) == ([], [])


@pytest.mark.browser
@pytest.mark.slow
def test_a_page_runs_no_script_but_its_own(news, tmp_path):
    text = news.read_text().replace("</footer>", "</footer><script>document.title = 'another'</script>")
    (tmp_path / "page.html").write_text(text)
    with browser.opened(tmp_path / "page.html") as (shown, complaints):
        assert shown.title() == "A run"
        assert shown.locator("#card h3").count() == 1
        assert len(complaints) == 1
        assert "Content Security Policy" in complaints[0]


@pytest.mark.browser
@pytest.mark.slow
def test_fingers_find_what_they_touch_on_a_phone(news):
    with browser.opened(news, viewport=browser.PHONE, scheme="dark") as (shown, complaints):
        shown.select_option("#network", label="hyper-attention")
        shown.fill("#find", "120")
        shown.press("#find", "Enter")
        opener = shown.locator("tr[data-hyperedge='0'] button")
        opener.click()
        for one in (opener, *shown.locator(".members:visible button").all()[:5]):
            assert one.bounding_box()["height"] >= 36
        for one in ("#find", "#network"):
            assert shown.evaluate(f"getComputedStyle(document.querySelector('{one}')).fontSize") == "16px"
        shown.evaluate("document.getElementById('network').options[0].label = 'a long name '.repeat(9)")
        edge = shown.locator("#network").bounding_box()
        assert edge["x"] + edge["width"] <= browser.PHONE["width"] - 16
        shown.evaluate("document.querySelector('#card .scroll').scrollLeft = 200")
        box = shown.locator(".members:visible").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= browser.PHONE["width"]
        assert shown.evaluate("document.documentElement.scrollWidth") == browser.PHONE["width"]
        assert complaints == []


@pytest.mark.parametrize(("model", "heads"), [("gat+hyper-attention", 9), ("gat", 0), ("mlp", 0)])
def test_attention_to_hyperedges_is_packed_where_a_network_has_it(model, heads):
    insight = looked_at(postings(), model)
    packed = network(insight, places_of(0, insight.data), model)
    assert len(packed["heads"]) == heads
    assert ("attention" in packed) == (heads > 0)
    assert (packed["reads"], packed["attends"]) == (KINDS[model].structures, KINDS[model].has_attention)
    if heads:
        total = np.zeros((200, heads))
        np.add.at(total, insight.data.hypergraph.vertex.numpy(), insight.attention)
        own = insight.data.hypergraph.incidence.offsets.diff().numpy() > 0
        assert np.allclose(total[own], 1, atol=1e-5)


@pytest.mark.parametrize(
    ("config", "is_structural"),
    [
        (Config("hyper-conv"), True),
        (Config("hyper-conv", weights="inverse-frequency"), True),
        (Config("hyper-conv", weights="learned"), False),
        (Config("hyper-sage"), True),
        (Config("hyper-sage", pool="max"), False),
        (Config("hyper-sage", pool="attention"), False),
        (Config("hyper-monet"), False),
        (Config("dynamic-hyper-conv"), False),
        (Config("hyper-attention", residual="initial"), False),
    ],
)
def test_only_networks_without_learned_weights_are_said_to_go_by_the_structure(config, is_structural):
    data = postings()
    model = SavedModel(Network(config, data.n_features, data.n_classes), data.class_names, {"seed": 3})
    packed = network(look(model, data), places_of(0, data), config.model)
    assert (packed["structural"], "attention" in packed) == (is_structural, False)
