"""Files of results with values of the wrong type are refused when they are read, not when a page is made of them."""

import json
import re

import pytest

from hypergnn.experiments.markdown import results_page
from hypergnn.experiments.results import Origin, Results
from hypergnn.training import TrialRecord

RUN = "cora/gcn-00000000"
TRIAL = TrialRecord(seed=0, epochs=3, best_epoch=2, seconds=0.5, test_accuracy=80.0)


@pytest.mark.parametrize(
    ("row", "place", "value"),
    [
        (0, ("measures", "numbers", "timing:cora/ratio"), "fast"),
        (0, ("measures", "numbers", "timing:cora/ratio"), True),
        (0, ("measures", "numbers"), 7),
        (0, ("environments", 0), "one"),
        (1, ("configuration", "data"), float("nan")),
        (1, ("configuration",), []),
        (1, ("run",), 3),
        (1, ("seconds",), "long"),
        (1, ("trials", 0, 4), "80"),
    ],
)
def test_results_of_the_wrong_type_are_refused(tmp_path, row, place, value):
    origin = Origin([{"cpu": "one"}], 2.5, {"data": "cora"})
    Results({RUN: [TRIAL]}, {"timing:cora/ratio": 9.0}, {RUN: origin}).write(tmp_path)
    path = tmp_path / "results.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    holder = rows[row]
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    path.write_text("".join(json.dumps({k: v for k, v in one.items() if k != "check"}) + "\n" for one in rows))
    with pytest.raises(ValueError, match=re.escape(str(tmp_path))):
        Results.read(tmp_path)


def test_an_environment_may_lack_what_the_page_shows():
    results = Results({RUN: [TRIAL]}, {}, {RUN: Origin([{"cpu": "one"}])})
    assert "- one, unknown cores" in results_page(results)
