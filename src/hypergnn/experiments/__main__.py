"""``python -m hypergnn.experiments RESULTS PAGE README``: generate the page and the README's part from the records."""

from __future__ import annotations

import sys
from pathlib import Path

from hypergnn.experiments.ensembles import read_ensembles
from hypergnn.experiments.markdown import results_page, with_table
from hypergnn.experiments.results import recorded
from hypergnn.persistence.files import write_atomic


def main(folder: str, page: str, readme: str) -> None:
    """Write both files."""
    results = recorded(folder)
    write_atomic(page, results_page(results, read_ensembles(folder)).encode())
    write_atomic(readme, with_table(Path(readme).read_text(encoding="utf-8"), results).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
