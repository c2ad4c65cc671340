"""The independent auditor of a ledger: every balance recomputed by another path."""

from sanql.audit.ledger.account import verify_account
from sanql.audit.ledger.exact import VerifiedExact
from sanql.audit.ledger.exporting import export
from sanql.audit.ledger.verification import Verification, verify

__all__ = ["Verification", "VerifiedExact", "export", "verify", "verify_account"]
