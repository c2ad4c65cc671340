"""Attacks on the whole system, with statistics that say when a claim is broken."""

from sanql.audit.canaries import CanaryAudit, audit_answer, guess_presence

__all__ = ["CanaryAudit", "audit_answer", "guess_presence"]
