"""Noiseless answers: declared releases, planned, certified and put on record."""

from sanql.exact.answer import ExactAnswer, ExactExplanation, exact_answer, notes_on
from sanql.exact.cells import recorded_cells, release_cells
from sanql.exact.plan import ExactPlan, plan_exact
from sanql.exact.terms import Terms, certificate_of, certified_claim, claim_of, terms_of, too_small

__all__ = [
    "ExactAnswer",
    "ExactExplanation",
    "ExactPlan",
    "Terms",
    "certificate_of",
    "certified_claim",
    "claim_of",
    "exact_answer",
    "notes_on",
    "plan_exact",
    "recorded_cells",
    "release_cells",
    "terms_of",
    "too_small",
]
