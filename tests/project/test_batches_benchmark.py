"""The sampler in NumPy that the loader is compared with draws the same kind of batches."""

import json
import re

import numpy as np
import pytest
import torch

from benchmarks import beyond, every, report, scaling
from benchmarks.batches import communities
from benchmarks.inputs import skewed
from benchmarks.plain_sampler import PlainSampler
from hypergnn.functional import hypergraph_conv


def test_the_plain_sampler_is_unbiased_too():
    H = skewed(200, 150, 900)
    x = torch.rand(200, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    sampler, made = PlainSampler(H, x.numpy(), np.zeros(200, np.int64)), np.arange(200)
    blocks = [sampler._block(made, 2, 3) for _ in range(150)]
    draws = torch.stack([hypergraph_conv(x[block.read], block) for block in blocks])
    error = draws.std(0) / 150**0.5
    assert bool(((draws.mean(0) - hypergraph_conv(x, H)).abs() <= 4 * error + 1e-9).all())
    batch = next(sampler.batches(16, [(2, 2), (2, 3)]))
    assert (batch.vertices.shape[0], batch.blocks[1].n_receivers) == (16, 16)
    assert batch.x.shape[0] == batch.blocks[0].n_vertices


def test_generated_data_has_a_split_and_all_classes():
    data = communities(500)
    assert (data.train.size, data.val.size, data.test.size, data.n_classes) == (50, 50, 400, 10)
    assert set(data.y.tolist()) == set(range(10))


def test_every_case_can_be_chosen():
    assert {"batches.speed", "several.shard-step", "spark.wide", "libraries.growth"} <= set(every.ALL)
    assert {line.full_name for line in beyond.LINES} <= set(every.USUAL)
    with pytest.raises(SystemExit):
        every.main(["--cases", "batches.nothing"])


def test_chosen_cases_go_to_their_suites(monkeypatch):
    seen = []
    for suite in every.MAINS:
        monkeypatch.setitem(every.MAINS, suite, lambda given, suite=suite: seen.append((suite, given)) or 0)
    assert every.main(["--cases", "spark.wide", "batches.speed", "spark.hub", "--quick"]) == 0
    assert seen == [
        ("batches", ["--cases", "speed", "--quick"]),
        ("spark", ["--cases", "wide", "hub", "--scale", "0.01", "--repetitions", "1"]),
    ]


def test_the_page_shows_what_was_recorded(tmp_path):
    nothing = beyond.section(beyond.recorded(tmp_path))
    assert nothing.startswith("`make bench` measures")
    assert "taking turns" not in nothing
    machine = {"cpu": "a CPU", "cores": 2}
    speed = {"ratio": 6.25, "sampling_ratio": 3.0, "quick": False, "machine": machine}
    pubmed = {"difference": -0.75, "quick": False}
    (tmp_path / "batches.json").write_text(json.dumps({"cases": {"speed": speed, "pubmed": pubmed}}))
    (tmp_path / "spark.json").write_text(json.dumps({"cases": {"wide": {"ratio": 9.0, "scale": 0.01}}}))
    text = beyond.section(beyond.recorded(tmp_path))
    assert "| ≥ 5 | 6.25 | yes | `batches.speed` |" in text
    assert "| ≤ 0.5 | 0.75 | no | `batches.pubmed` |" in text
    assert "| ≥ 3.5 | 9, small sizes | | `spark.wide` |" in text
    assert "not measured" in text
    assert "\n\nMeasured on a CPU with 2 cores.\n\nEach case is measured in one run" in text
    results = json.loads(report.RESULTS.read_text())
    assert re.search("## Batches.*batches.speed.*## Method", report.page(results, beyond.recorded(tmp_path)), re.S)


def test_the_page_on_scaling_is_made_of_what_was_recorded():
    assert scaling.PAGE.read_text() == scaling.page()
    nothing = scaling.page({}, {"cases": {}})
    assert "`python -m benchmarks.every --cases several.shard-growth several.shard-step` compares" in nothing
    assert "| | limit in the tests |" in nothing
    assert "| size of the file | 0.35 GB |" in nothing
    assert not any(words in nothing for words in ("The bytes agree", "not measured", "the hypergraph itself"))
    measured = {
        **{"vertices": 5_000, "hyperedges": 2_500, "incidences": 100_000, "copies": 1_835, "start_bytes": 400_000_000},
        "peak_bytes": {"one": 410_000_000, "two": 405_000_000},
        "exchange": {"bytes_sent": 469_760},
        "seconds": {"one": 0.004, "two": 0.003},
    }
    cases = {"shard-growth": {"quick": True, "100000": measured}, "structure": {"build": {"file_bytes": 3.3e8}}}
    stream = {"peers": {"copy": {"theirs": [1e-10]}, "triad": {"theirs": [2e-10]}}}
    text = scaling.page({"several": {"cases": cases}}, {"cases": {"bandwidth": stream}})
    row = "| 100,000 | 1,835 | 470 kB | 470 kB | 10.2 MB | 10 MB | 13.1 ms | 4 ms |"
    assert row in text
    assert "This was a quick run with small sizes" in text
    assert "| size of the file | 0.33 GB | 0.35 GB |" in text
    assert "| the hypergraph itself | not measured |  |" in text
    assert "two processes:\n\n| incidences |" in text
    assert "The bytes agree\nbecause" in text


def test_extrapolations_are_the_formulas():
    text = scaling.page({}, {"cases": {}})
    assert "8 machines, 12.7 GB each; κ = 1 M: 6.4 GB cross per machine; 1.3 s + 512 ms a step" in text
    assert scaling.memory(scaling.Sizes(10, 5, 100), 64, 2) == 1200 + 6 * 10 * 256 + 2 * 5 * 256
