import json
import os
import re
import subprocess
import sys

import pytest
from support import real_data

import hypergnn
from hypergnn import datasets
from hypergnn.cli import main
from hypergnn.datasets import download
from hypergnn.datasets.catalogue import WITHOUT_FILES

EXPECTED = ["2708 vertices", "2708 hyperedges", "1433 features", "7 classes", "140/500/1000"]


def test_describe_cora(capsys):
    real_data.load("cora")
    assert main(["data", "describe", "cora"]) == 0
    printed = capsys.readouterr().out
    assert [number for number in EXPECTED if number in printed] == EXPECTED


@pytest.mark.slow
def test_describe_cora_from_the_package_index(capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("HYPERGNN_DATA", raising=False)
    monkeypatch.setenv("HYPERGNN_CACHE", str(tmp_path))
    monkeypatch.setattr(download, "from_url", real_data.no_url)
    code = main(["data", "describe", "cora"])
    printed = capsys.readouterr()
    if code == 2 and not real_data.IN_CI:
        pytest.skip(printed.err)
    assert code == 0
    assert [number for number in EXPECTED if number in printed.out] == EXPECTED
    assert "LINQS data from the package index" in printed.out
    assert main(["data", "fetch", "cora", "citeseer", "digits"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "cora: LINQS data from the cache, 2 files checked",
        "citeseer: Planetoid data from the cache, 7 files checked",
        "digits: nothing to download",
    ]


def test_describe_as_json(capsys):
    assert main(["data", "describe", "digits", "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["split"] == {"train": 200, "val": 500, "test": 1000}
    assert numbers["classes"]["9"] == 180


def test_list_says_what_is_available(capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("HYPERGNN_DATA", raising=False)
    monkeypatch.setenv("HYPERGNN_CACHE", str(tmp_path))
    assert main(["data", "list", "--json"]) == 0
    rows = {row["name"]: row["source"] for row in json.loads(capsys.readouterr().out)}
    assert rows == dict.fromkeys(datasets.available()) | WITHOUT_FILES
    assert main(["data", "list"]) == 0
    head, first, *others = capsys.readouterr().out.splitlines()
    assert head.split() == ["name", "description", "source"]
    assert first.startswith("cora ")
    assert first.endswith("  to be downloaded")
    assert any(one.startswith("digits ") and one.endswith("  scikit-learn, no download") for one in others)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["data", "describe", "corra"], "name must be one of 'cora', 'citeseer', 'pubmed', '20news', 'digits'"),
        (["data", "fetch", "digits", "corra"], "NAME must be one of 'cora', 'citeseer', 'pubmed', '20news', 'digits'"),
        (["data", "describe", "digits", "--data-dir", "."], "data_dir must be omitted for digits"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(capsys, command, message):
    assert main(command) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"hypergnn: {message}")
    assert printed.err.count("\n") == 1


def test_a_list_of_reasons_keeps_its_lines(capsys, monkeypatch, tmp_path):
    def refuse(*_, **__):
        raise download.SourceError("offline")

    monkeypatch.setattr(download, "from_url", refuse)
    monkeypatch.setattr(download, "from_wheel", refuse)
    monkeypatch.delenv("HYPERGNN_DATA", raising=False)
    monkeypatch.setenv("HYPERGNN_CACHE", str(tmp_path))
    assert main(["data", "describe", "20news"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    first, second, *_ = printed.err.splitlines()
    assert first == "hypergnn: No source has the files of 20news. Tried:"
    assert second.startswith("- the cache: ")


COMMANDS = ["", "reproduce", "report", "train", "compare", "predict", "explain", "spark", "check", "data"]
ACTIONS = ["data list", "data fetch", "data describe"]
STEPS = ["spark propagate", "spark predict"]


def test_all_commands_are_known_here(capsys):
    ends = [(group, [one.split()[1] for one in of_group]) for group, of_group in (("data", ACTIONS), ("spark", STEPS))]
    for command, names in (("", COMMANDS[1:]), *ends):
        with pytest.raises(SystemExit):
            main([*command.split(), "--help"])
        assert re.findall(r"(?m)^ {4}(\w+)", capsys.readouterr().out) == names


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [f"{name} --help" for name in COMMANDS + ACTIONS + STEPS] + ["train --help-settings", "train --help-more"],
)
def test_help_fits_a_screen_and_loads_nothing_heavy(command):
    script = (
        "import sys; from hypergnn.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print(sorted({'torch', 'numpy', 'scipy', 'sklearn', 'rich'} & set(sys.modules)), file=sys.stderr)"
    )
    environment = {**os.environ, "COLUMNS": "80", "LINES": "32"}
    done = subprocess.run(
        [sys.executable, "-c", script, *command.split()], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.startswith("usage: hypergnn")
    assert done.stdout.count("\n") <= 32
    assert "\nexample" in done.stdout or "train --help-" in command
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stderr == "[]\n"


def test_public_names_are_there_when_asked_for():
    assert all(getattr(hypergnn, name) for name in hypergnn.__all__)
    assert set(hypergnn.__all__) < set(dir(hypergnn))
    with pytest.raises(AttributeError, match="no attribute 'HypergraphConvolution'"):
        _ = hypergnn.HypergraphConvolution


def test_module_is_the_command():
    command = [sys.executable, "-m", "hypergnn", "data"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "usage: hypergnn data" in done.stderr
