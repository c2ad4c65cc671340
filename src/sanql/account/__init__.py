"""Charges as data, their composition, the budget filter and the ledger."""

from sanql.account.audit_exact import VerifiedExact
from sanql.account.chain import Record
from sanql.account.charge import Charge
from sanql.account.conversion import epsilon_upper, gaussian_rho_lower
from sanql.account.events import Event, FailureEvent, GaussianEvent, LaplaceEvent, SelectionEvent
from sanql.account.exact_book import ExactBook, ExactClaim, ExactEntry
from sanql.account.filter import Filter, Spent
from sanql.account.ledger import Balance, Ledger, Reservation
from sanql.account.numbers import parse_delta, parse_epsilon
from sanql.account.totals import Totals
from sanql.account.verify import Verification, export, verify
from sanql.account.versions import Version

__all__ = [
    "Balance",
    "Charge",
    "Event",
    "ExactBook",
    "ExactClaim",
    "ExactEntry",
    "FailureEvent",
    "Filter",
    "GaussianEvent",
    "LaplaceEvent",
    "Ledger",
    "Record",
    "Reservation",
    "SelectionEvent",
    "Spent",
    "Totals",
    "Verification",
    "VerifiedExact",
    "Version",
    "epsilon_upper",
    "export",
    "gaussian_rho_lower",
    "parse_delta",
    "parse_epsilon",
    "verify",
]
