"""Progress where somebody looks: in a notebook one line, elsewhere lines on standard error."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

import hypergnn as hg
from hypergnn._utils import progress
from hypergnn.models import Config
from hypergnn.training import Progress


class Notebook:
    """What a notebook would have shown."""

    def __init__(self):
        self.shown = []

    def display(self, bundle, *, raw, display_id):
        assert display_id
        self.update(bundle, raw=raw)
        return self

    def update(self, bundle, *, raw):
        assert raw
        self.shown.append(bundle["text/plain"])


@pytest.fixture
def notebook(monkeypatch):
    """A notebook, as far as can be seen from here."""
    notebook, top, display = Notebook(), ModuleType("IPython"), ModuleType("IPython.display")
    top.get_ipython = lambda: SimpleNamespace(kernel=object())
    display.display = notebook.display
    monkeypatch.setitem(sys.modules, "IPython", top)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return notebook


def fit(**options):
    return hg.training.fit(hg.datasets.load("digits"), Config(hidden=2, max_epochs=3), trials=2, **options)


@pytest.mark.slow
def test_a_notebook_has_one_line_that_changes(notebook, capsys):
    fit(progress=True)
    assert notebook.shown[0] == "starting"
    assert notebook.shown[-1].startswith("2/2 trials, ")
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
def test_a_notebook_is_not_sent_every_epoch(notebook, monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN", 1e9)
    fit(progress=True)
    assert len(notebook.shown) == 3
    assert notebook.shown[-1].startswith("2/2 trials, ")


def test_a_terminal_of_ipython_is_no_notebook(notebook, monkeypatch, capsys):
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", SimpleNamespace)
    fit(progress=True)
    assert not notebook.shown
    assert "2/2 trials" in capsys.readouterr().err


@pytest.mark.slow
def test_lines_elsewhere_and_both_listeners_are_told(capsys):
    heard = []
    fit(progress=True, on_progress=heard.append)
    assert heard[-1].done == 2
    assert "2/2 trials" in capsys.readouterr().err
    fit()
    assert capsys.readouterr() == ("", "")


def test_time_left_counts_the_epochs_of_trials_that_are_running():
    half = Progress(done=1, total=20, running=15, epochs=4800, test_accuracy=(80.0,), trial_epochs=(300,))
    assert progress.seconds_left(half, started=0, elapsed=60.0) == pytest.approx(15.0)
    assert progress.seconds_left(half, started=1, elapsed=60.0) == pytest.approx(60 * 900 / 4800)
    assert progress.seconds_left(Progress(0, 4, 4, 100, (), ()), started=0, elapsed=60.0) is None
    assert progress.seconds_left(Progress(3, 4, 1, 500, (80.0,) * 3, (100,) * 3), started=0, elapsed=60.0) == 0
    assert progress.seconds_left(Progress(4, 4, 0, 390, (80.0,) * 4, (100,) * 4), started=0, elapsed=60.0) is None


def test_the_last_line_counts_all_epochs(tmp_path):
    heard = []
    for trials in (2, 3):  # the third in a session of its own
        data, config = hg.datasets.load("digits"), Config(hidden=2, max_epochs=3)
        hg.training.fit(data, config, trials=trials, out=tmp_path, on_progress=heard.append)
        assert heard[-1].epochs == sum(heard[-1].trial_epochs[-1 if trials == 3 else 0 :])
