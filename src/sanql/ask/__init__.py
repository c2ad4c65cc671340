"""Session + Request → Answer: the orchestrators, each of which reads like the sentence it is."""

from sanql.ask.answer import ask, ask_with, repeated_at_hand
from sanql.ask.answer_batch import ask_batch, ask_batch_with
from sanql.ask.batch import AskedText, BatchRequest, read_batch
from sanql.ask.batch_explanation import explain_batch
from sanql.ask.columns import answer_columns, interval_columns
from sanql.ask.data import Data
from sanql.ask.explain import explain_request, plan_request
from sanql.ask.limit_suggestions import EPSILON_TYPICAL, suggest_limits
from sanql.ask.measure_profiles import profile_tables
from sanql.ask.own_history import history, read_again, recorded_certificate
from sanql.ask.release_continual import counts_on_record, release_counts
from sanql.ask.request import Request, read_request
from sanql.ask.schema import schema_of
from sanql.ask.session import Session, budgets_of, closed
from sanql.ask.spooled_rows import SpooledAnswer, spool_publicly

__all__ = [
    "EPSILON_TYPICAL",
    "AskedText",
    "BatchRequest",
    "Data",
    "Request",
    "Session",
    "SpooledAnswer",
    "answer_columns",
    "ask",
    "ask_batch",
    "ask_batch_with",
    "ask_with",
    "budgets_of",
    "closed",
    "counts_on_record",
    "explain_batch",
    "explain_request",
    "history",
    "interval_columns",
    "plan_request",
    "profile_tables",
    "read_again",
    "read_batch",
    "read_request",
    "recorded_certificate",
    "release_counts",
    "repeated_at_hand",
    "schema_of",
    "spool_publicly",
    "suggest_limits",
]
