"""The verdicts on cells and claims: one vocabulary for the terminal, the documentation and the page."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """A verdict on a cell, compared with its published number, or on a claim that one cell is better than another.

    Example:
        >>> print(Verdict.NOT_SHOWN)
        not shown
        >>> Verdict.NOT_SHOWN.meaning
        'neither order is significant'
    """

    REPRODUCED = "reproduced"
    ABOVE = "above"
    BELOW = "below"
    EQUAL = "equal"
    DIFFERENT = "counted differently"
    QUOTED = "quoted"
    NOT_RUN = "not run"
    FAILED = "failed"
    NOT_APPLICABLE = "does not apply"

    HOLDS = "holds"
    NOT_SHOWN = "not shown"
    REVERSED = "reversed"
    NOT_TESTED = "not tested"

    @property
    def meaning(self) -> str:
        """The verdict in a few more words."""
        return _MEANINGS[self]


CLAIM_VERDICTS = (Verdict.HOLDS, Verdict.NOT_SHOWN, Verdict.REVERSED, Verdict.NOT_TESTED)
"""The verdicts on claims."""

_MEANINGS = {
    Verdict.REPRODUCED: "the published mean lies in our 95 % interval, widened by the published spread if there is one",
    Verdict.ABOVE: "our mean is above that range",
    Verdict.BELOW: "our mean is below that range",
    Verdict.EQUAL: "our count equals the published one",
    Verdict.DIFFERENT: "our count differs from the published one",
    Verdict.QUOTED: "published by others and not measured here",
    Verdict.NOT_RUN: "not measured yet",
    Verdict.FAILED: "a trial failed: it raised an error, or returned something else than probabilities",
    Verdict.NOT_APPLICABLE: "the system cannot run on such data",
    Verdict.HOLDS: "the order that the paper claims is significant at the 5 % level",
    Verdict.NOT_SHOWN: "neither order is significant",
    Verdict.REVERSED: "the opposite order is significant",
    Verdict.NOT_TESTED: "there are too few trials, or all have the same accuracy",
}
