"""Questions tried by the owner before anybody asks them: true against private answers.

The real account is never charged, and nothing of it is ever shown to an analyst: no server imports this.
"""

from sanql.rehearsal.contents import OUTSIDE, ColumnTried, EpsilonTried, QuestionTried, Rehearsal
from sanql.rehearsal.page import page_of_rehearsal, percent
from sanql.rehearsal.trying import EPSILONS, RUNS, WITHIN, rehearse_questions

__all__ = [
    "EPSILONS",
    "OUTSIDE",
    "RUNS",
    "WITHIN",
    "ColumnTried",
    "EpsilonTried",
    "QuestionTried",
    "Rehearsal",
    "page_of_rehearsal",
    "percent",
    "rehearse_questions",
]
