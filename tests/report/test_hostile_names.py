"""Names with markup stand on the page as text: without a browser, by parsing it; with one, by letting it try to run."""

import base64
import hashlib
import json
from html.parser import HTMLParser

import numpy as np
import pytest
import torch
from support import browser

from hypergnn import Hypergraph
from hypergnn.datasets import Dataset
from hypergnn.experiments.verdicts import Verdict
from hypergnn.models import Config, Network
from hypergnn.persistence.models import SavedModel
from hypergnn.report.explorer import network, structure
from hypergnn.report.insight import look
from hypergnn.report.page import CellView, ComparisonView, Fact, Finding, Page, RowView, TableView, render

HOSTILE = (
    "</script><script>window.ran = 1</script>",
    '"><img src=x onerror="window.ran = 1">',
    "'><svg/onload=window.ran=1>",
    "javascript:window.ran=1",
    "</title></style><iframe srcdoc='<script>parent.ran=1</script>'>",
    "<!--<script>window.ran=1//",
    "{{ 7 * 7 }}${window.ran=1}",
    "\u2028</ScRiPt ><a href=javascript:window.ran=1>x</a>",
)


class Elements(HTMLParser):
    """All elements of a page with their attributes, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.texts: list[str] = []
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside = tag if tag in ("script", "style") else ""
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._inside = "" if tag == self._inside else self._inside

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts[-1] += data
        elif not self._inside:
            self.texts.append(data)


def hostile_page(name: str) -> str:
    """A page on which every text that can come from data is hostile."""
    H = Hypergraph.from_hyperedges(
        [[0, 1, 2], [2, 3, 4, 5]],
        n_vertices=6,
        vertex_names=[f"{name}{n}" for n in range(6)],
        hyperedge_names=[name, "e"],
    )
    parts = {"train": np.array([0, 1]), "val": np.array([2, 3]), "test": np.array([4, 5])}
    x, y = np.eye(6, dtype=np.float32), np.arange(6) % 2
    data = Dataset(
        "20news", x, y, (name, "b"), None, H, **parts, source=name, feature_names=tuple(f"{name}{n}" for n in range(6))
    )
    torch.manual_seed(0)
    model = SavedModel(Network(Config("hyper-attention"), 6, 2), data.class_names, {"seed": name, "data": name})
    places = np.random.default_rng(0).random((6, 2), dtype=np.float32)
    shown = network(look(model, data), places, name)
    cell = CellView(name=name, measured=name, lines=[name], verdict=Verdict.REPRODUCED)
    test = ComparisonView(name, name, name, name, name, Verdict.HOLDS)
    table = TableView(name, name, name, name, name, name, [name], [RowView(name, [cell])], True, tests=[test])
    return render(
        Page(
            name,
            name,
            facts=[Fact(name, name)],
            findings=[Finding(Verdict.HOLDS, name), Finding(Verdict.REVERSED, name)],
            findings_note=name,
            tables=[table],
            trials_note=name,
            curves_note=name,
            datasets={data.name: structure(data)},
            networks=[shown],
            left_out=[name],
            environment=[(name, name)],
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_name_adds_no_element_and_no_handler(name):
    plain, hostile = Elements(hostile_page("plain")), Elements(hostile_page(name))
    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in plain.elements]
    for (tag, own), (_, usual) in zip(hostile.elements, plain.elements, strict=True):
        assert own.keys() == usual.keys(), tag
        for key, value in own.items():
            assert not key.startswith("on")
            if key in ("href", "src", "action", "srcdoc"):
                assert (value or "").startswith(("#", "data:")), (tag, key)
    assert sum(name in text for text in hostile.texts) > 5


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_only_scripts_with_a_hash_in_the_policy_can_run(name):
    page = Elements(hostile_page(name))
    (policy,) = [own["content"] for tag, own in page.elements if own.get("http-equiv") == "Content-Security-Policy"]
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split("; ")}
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == ["'none'"]
    assert set(rules["img-src"]) <= {"data:", "blob:"}
    assert not {"'unsafe-inline'", "'unsafe-eval'", "'unsafe-hashes'", "*"} & set(rules["script-src"])
    stricter = {"require-trusted-types-for", "trusted-types"}
    assert set(rules) - stricter == {"default-src", "style-src", "script-src", "img-src", "base-uri", "form-action"}
    kinds = [own.get("type") for tag, own in page.elements if tag == "script"]
    for kind, script in zip(kinds, page.scripts, strict=True):
        if kind == "application/json":
            assert "<" not in script
            json.loads(script)
        else:
            digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in rules["script-src"]
            assert name not in script


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("name", [HOSTILE[0], HOSTILE[1], " ".join(HOSTILE)], ids=["script", "image", "all"])
def test_no_name_runs_in_a_browser(tmp_path, name):
    said = []
    (tmp_path / "page.html").write_text(hostile_page(name))
    with browser.opened(tmp_path / "page.html") as (shown, complaints):
        shown.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        assert shown.text_content("h1") == name
        shown.fill("#find", "3")
        shown.press("#find", "Enter")
        for option in shown.locator("#network option").all():
            shown.select_option("#network", value=option.get_attribute("value"))
        for opener in shown.locator("#card button").all()[:6]:
            if opener.is_visible():
                opener.click()
        shown.wait_for_timeout(200)
        assert shown.evaluate("window.ran") is None
        assert shown.locator("iframe, object, embed, img").count() == 0
        assert (said, complaints) == ([], [])
