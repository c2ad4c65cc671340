"""Attacks on the whole system, with statistics that say when a claim is broken."""

from sanql.audit.attack import (
    ALPHA,
    PEOPLE,
    Doors,
    SystemAudit,
    audit_system,
    kept_audit_path,
)
from sanql.audit.canaries import CanaryAudit, audit_answer, guess_presence
from sanql.audit.deployed import served_by_process
from sanql.audit.games import AttackFound

__all__ = [
    "ALPHA",
    "PEOPLE",
    "AttackFound",
    "CanaryAudit",
    "Doors",
    "SystemAudit",
    "audit_answer",
    "audit_system",
    "guess_presence",
    "kept_audit_path",
    "served_by_process",
]
