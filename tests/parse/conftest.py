"""A table with a column of every type, and short ways to parse a question about it."""

from support.every_type import ask, refusal, tables

__all__ = ["ask", "refusal", "tables"]
