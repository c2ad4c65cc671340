"""What is handed to whoever asks, and how it is shown; no engine is needed for any of it."""

from sanql.results.accounts import Accounts
from sanql.results.answer import Answer
from sanql.results.balance import (
    AccountKind,
    Balance,
    Budget,
    PacedBudget,
    after_everything,
    alerts_of,
    remaining_in_words,
    spent_to_dict,
)
from sanql.results.batch import BatchExplanation, BatchQuestion
from sanql.results.cells import finite
from sanql.results.certificate import UNKNOWN_KEYS, Certificate, ExactCertificate
from sanql.results.content import Interval, ShownColumn
from sanql.results.erasure import Erasure
from sanql.results.exact import ExactAnswer, ExactExplanation
from sanql.results.explanation import Expected, Explanation, LevelExplained
from sanql.results.history import HistoryEntry
from sanql.results.needed import need
from sanql.results.parameters import parameters_in_words
from sanql.results.price import LEAST_PRICE
from sanql.results.profile import ReceivedProfile
from sanql.results.reading import answer_from_dict, certificate_from_dict, explanation_from_dict
from sanql.results.schema import Schema, SchemaColumn, SchemaTable
from sanql.results.suggestion import Advice, LimitChoice, Suggestion

__all__ = [
    "LEAST_PRICE",
    "UNKNOWN_KEYS",
    "AccountKind",
    "Accounts",
    "Advice",
    "Answer",
    "Balance",
    "BatchExplanation",
    "BatchQuestion",
    "Budget",
    "Certificate",
    "Erasure",
    "ExactAnswer",
    "ExactCertificate",
    "ExactExplanation",
    "Expected",
    "Explanation",
    "HistoryEntry",
    "Interval",
    "LevelExplained",
    "LimitChoice",
    "PacedBudget",
    "ReceivedProfile",
    "Schema",
    "SchemaColumn",
    "SchemaTable",
    "ShownColumn",
    "Suggestion",
    "after_everything",
    "alerts_of",
    "answer_from_dict",
    "certificate_from_dict",
    "explanation_from_dict",
    "finite",
    "need",
    "parameters_in_words",
    "remaining_in_words",
    "spent_to_dict",
]
