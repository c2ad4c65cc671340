"""The independent auditor of a ledger: every balance recomputed by another path."""

from sanql.audit.ledger.account import verify_account
from sanql.audit.ledger.exact import VerifiedExact
from sanql.audit.ledger.exporting import export
from sanql.audit.ledger.findings import Verification
from sanql.audit.ledger.listing import RecordChoice, list_records
from sanql.audit.ledger.verification import verify

__all__ = [
    "RecordChoice",
    "Verification",
    "VerifiedExact",
    "export",
    "list_records",
    "verify",
    "verify_account",
]
