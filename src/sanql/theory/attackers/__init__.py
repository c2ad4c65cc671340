"""Attackers one can run; each returns what was learned, in the real and in the ideal world."""

from sanql.theory.attackers.outcome import Learned

__all__ = ["Learned"]
