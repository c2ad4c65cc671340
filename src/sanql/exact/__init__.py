"""Noiseless answers: declared releases, planned, certified and put on record."""

from sanql.exact.answer import differences_from_sql, exact_answer, exact_columns
from sanql.exact.cells import Released, recorded_cells, release_cells
from sanql.exact.meaning import meaning_of_release
from sanql.exact.plan import ExactPlan, plan_exact
from sanql.exact.terms import (
    Terms,
    cells_too_small,
    certificate_of,
    certified_claim,
    claim_of,
    terms_of,
)

__all__ = [
    "ExactPlan",
    "Released",
    "Terms",
    "cells_too_small",
    "certificate_of",
    "certified_claim",
    "claim_of",
    "differences_from_sql",
    "exact_answer",
    "exact_columns",
    "meaning_of_release",
    "plan_exact",
    "recorded_cells",
    "release_cells",
    "terms_of",
]
