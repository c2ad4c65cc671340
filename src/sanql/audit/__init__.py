"""Attacks on the whole system, with statistics that say when a claim is broken."""

from sanql.audit.canaries import CanaryAudit, guess_presence, play

__all__ = ["CanaryAudit", "guess_presence", "play"]
