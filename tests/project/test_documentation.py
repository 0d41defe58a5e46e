"""The documentation holds: its blocks run, its commands exist, its site is built strictly and needs no network."""

import argparse
import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from filelock import FileLock
from support import browser

from hypergnn.cli import check, compare, data, explain, predict, report, reproduce, spark, train
from hypergnn.models import KINDS

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.joinpath("docs").rglob("*.md")])
MODULES = [
    "construct",
    "datasets",
    "distributed",
    "estimators",
    "explanations",
    "functional",
    "io",
    "layers",
    "pyg",
    "report",
    "spark",
    "training",
]


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and content of each fenced block."""
    return re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", page.read_text())


def lines_of_code(page: Path) -> list[str]:
    """Lines of blocks without a language, and of indented ones."""
    text = page.read_text()
    plain = "\n".join(content for language, content in blocks(page) if not language)
    rest = re.sub(r"(?ms)^```.*?^```$", "", text)
    return [*plain.splitlines(), *re.findall(r"(?m)^ {4}(\S.*)$", rest)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_are_of_kinds_that_are_run(page):
    for language, content in blocks(page):
        assert language in ("", "python", "math"), f"nothing runs blocks of {language}"
        # The one block without prompts, for pasting, is run by test_own_csv.
        assert language != "python" or content.startswith(">>>") or "LabelSpreading" in content, content


def test_commands_are_understood():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    for command in (reproduce, report, train, compare, predict, explain, spark, check, data):
        command.register(commands)
    typed = [line for page in PAGES for line in lines_of_code(page) if line.startswith("hypergnn ")]
    assert len(typed) > 20
    for line in typed:
        command = re.split(r" {2,}| #", line)[0]  # what follows explains it
        parser.parse_args(shlex.split(command)[1:])


def test_the_page_on_training_names_every_network():
    top = ROOT.joinpath("docs", "training.md").read_text().partition("\n## ")[0]
    assert [model for model in KINDS if f"`{model}`" not in top] == []


def test_targets_of_make_exist():
    targets = set(re.findall(r"(?m)^([a-z]+):", ROOT.joinpath("Makefile").read_text()))
    named = {name for page in PAGES for name in re.findall(r"(?:`| {4}|\n)make ([a-z]+)", page.read_text())}
    assert len(named) > 5
    assert named <= targets


PACKAGE = ROOT / "src" / "hypergnn"
ARCHITECTURE = re.sub(r"(?ms)^```.*?^```$", "", ROOT.joinpath("docs", "architecture.md").read_text())
FILE = r"[\w./]+\.(?:py|md)"


def found(path: str) -> list[Path]:
    """Where a path of the page is: in the package or the project; a file name alone, anywhere in the package."""
    places = [base / path for base in (PACKAGE, ROOT, PACKAGE / "kernels") if (base / path).exists()]
    return places or ([] if "/" in path else list(PACKAGE.rglob(path)))


def test_what_the_architecture_names_exists():
    sources = [path.read_text() for room in (PACKAGE, ROOT / "tests") for path in room.rglob("*.py")]
    known = {word for source in sources for word in re.findall(r"\w+", source)}
    spans = {" ".join(span.split()) for span in re.findall(r"`([^`]+)`", ARCHITECTURE)}
    assert len(spans) > 150
    for span in spans:
        if re.fullmatch(rf"{FILE}|[\w./]+/", span):
            assert found(span), f"{span} is no file or folder"
        elif "…" not in span and not span.startswith(("make ", "_loops")) and ": " not in span:
            unknown = set(re.findall(r"[A-Za-z_]\w{2,}", span)) - known
            assert not unknown, f"{span} names {unknown}, which no code has"


def test_the_files_that_the_architecture_names_hold_what_it_says():
    text = " ".join(ARCHITECTURE.split())
    after = re.findall(rf"`([\w.]+)` (?:in|of) `({FILE})`", text) + re.findall(rf"`([\w.]+)` \(`({FILE})`", text)
    before = [(name, file) for file, name in re.findall(rf"`({FILE}): ([\w.]+)`", text)]
    assert len(after) > 10
    assert len(before) > 20
    for name, file in (*after, *before):
        sources = [path.read_text() for path in found(file)]
        for part in name.split("."):
            defined = rf"(?m)^\s*(?:def|class) {part}\b|^\s*{part}\b.* =|^\s*{part}: "
            assert any(re.search(defined, source) for source in sources), f"{file} does not define {part}"


@pytest.fixture(scope="session")
def site(tmp_path_factory, worker_id):
    """The built documentation; built once, whichever worker is the first to need it."""
    if worker_id == "master":
        return build(tmp_path_factory.mktemp("site"))
    folder = tmp_path_factory.getbasetemp().parent / "site"
    with FileLock(f"{folder}.lock"):
        return folder if folder.exists() else build(folder)


def build(folder: Path) -> Path:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_every_public_name_is_in_the_reference(site):
    headings = {name for page in site.glob("api/*.html") for name in re.findall(r'id="([\w.]+)"', page.read_text())}
    for module in map(import_module, ["hypergnn", *(f"hypergnn.{name}" for name in MODULES)]):
        for name in module.__all__:
            thing = getattr(module, name)
            if callable(thing):  # under this name, that of the module it is written in, or that of its package
                home = thing.__module__
                places = {module.__name__, home, home.rpartition(".")[0]}
                assert {f"{place}.{name}" for place in places} & headings, name


@pytest.mark.slow
def test_no_role_of_a_docstring_is_left_as_it_is(site):
    for page in site.glob("api/*.html"):
        assert not re.findall(r":(?:attr|class|data|exc|func|meth|mod|obj):.*", page.read_text()), page.name


@pytest.mark.slow
def test_pages_load_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 25
    for page in pages:
        assert not re.findall(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="?(?:https?:)?//[^">]+', page.read_text())


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("name", ["operators", "examples", "api/layers"])
def test_pages_open_in_a_browser_that_is_offline(site, name):
    browser.require()
    with browser.opened(site / f"{name}.html") as (page, complaints):
        shown = page.locator("article img, article math")
        sizes = [shown.nth(number).bounding_box() for number in range(shown.count())]
    assert not complaints
    assert all(size["width"] > 20 and size["height"] > 10 for size in sizes)
    assert len(sizes) >= {"operators": 9, "examples": 3, "api/layers": 0}[name]
