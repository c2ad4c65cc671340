"""Accuracy and meaning before spending."""

from sanql.explain.explanation import Expected, Explanation, explain, explain_public

__all__ = ["Expected", "Explanation", "explain", "explain_public"]
