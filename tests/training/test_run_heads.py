import json
import re

import pytest

from hypergnn.training import ledger


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("configuration", 7),
        ("configuration", ["gcn"]),
        ("configuration", {"rate": float("nan")}),
        ("environments", ["here"]),
        ("environments", {"0": {}}),
        ("environments", "here"),
        ("environments", [{"cores": float("inf")}]),
    ],
)
def test_a_run_must_be_described_by_objects(tmp_path, key, value):
    with ledger.Ledger.open(tmp_path, {"model": "gcn"}):
        pass
    path = tmp_path / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    before = path.read_bytes()
    for read in (ledger.read, lambda folder: ledger.Ledger.open(folder, {"model": "gcn"})):
        with pytest.raises(ValueError, match=re.escape(str(path))):
            read(tmp_path)
    assert path.read_bytes() == before
