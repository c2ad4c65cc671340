"""Refusals that teach: why, where, and the nearest question that would be answered."""

from sanql.teach.nearest.search import teach

__all__ = ["teach"]
