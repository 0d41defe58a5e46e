"""Mutants of explanations."""

from support.mutation import Mutant
from support.places import argument, call, result

TESTS = "explanations/test_explanations.py"
SIGNED = f"{TESTS}::test_contributions_are_shown_with_their_sign_and_the_largest_first"

MUTANTS = [
    Mutant(
        "explanation: largest positive ones first",
        "hypergnn.explanations:Explanation._causes",
        call("abs"),
        "cause.contribution",
        SIGNED,
    ),
    Mutant(
        "explanation: last head only",
        "hypergnn.explanations.explanation:_Cause.of",
        argument("cls", 1),
        "parts[-1][0].contribution",
        SIGNED,
    ),
    Mutant(
        "explanation: names of hyperedges not used",
        "hypergnn.explanations.question:hyperedge_in_words",
        result("str"),
        "f'hyperedge {number}'",
        SIGNED,
    ),
]
