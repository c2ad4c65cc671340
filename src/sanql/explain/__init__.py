"""Accuracy and meaning before spending."""

from sanql.explain.explanation import Expected, Explanation, explain

__all__ = ["Expected", "Explanation", "explain"]
