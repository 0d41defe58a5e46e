"""A finding: the case, and how it ended. Each kind at each place in the code is stored once."""

from __future__ import annotations

import hashlib
import json
import traceback
from pathlib import Path
from typing import NamedTuple

from fuzz.mutations import Case

ABOUT = "finding.json"


class Finding(NamedTuple):
    """How a case ended."""

    parser: str
    kind: str
    """The name of the signal or of the exception, or ``hang``."""
    trace: str
    """Where it happened."""

    @classmethod
    def of(cls, parser: str, error: BaseException) -> Finding:
        """The finding of an exception."""
        return cls(parser, type(error).__name__, "".join(traceback.format_exception(error)))

    def place(self) -> str:
        """The innermost line of the package in the trace, or of anything if there is none."""
        lines = [line.strip() for line in self.trace.splitlines() if line.strip().startswith("File ")]
        if not lines:
            return self.kind
        own = [line for line in lines if "/hypergnn/" in line] or lines
        # Python writes the innermost call of an exception last, and that of a signal first.
        return own[0] if self.trace.lstrip().startswith(("Fatal", "Current", "Thread")) else own[-1]

    def store(self, folder: Path, case: Case) -> Path | None:
        """Write the files of the case and what happened; ``None`` if the same was stored before."""
        digest = hashlib.sha256(f"{self.kind} {self.place()}".encode()).hexdigest()[:8]
        home = folder / f"{self.parser}-{self.kind}-{digest}"
        try:
            home.mkdir(parents=True)
        except FileExistsError:
            return None
        for name, content in case.items():
            path = home / "case" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        (home / ABOUT).write_text(json.dumps(self._asdict(), indent=2) + "\n")
        return home
