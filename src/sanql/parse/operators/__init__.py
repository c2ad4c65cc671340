"""How each node of the SQL grammar becomes an operator of ours; what is absent is refused by name."""

from sanql.parse.operators.binding import operator
from sanql.parse.operators.refusals import unknown_construct

__all__ = ["operator", "unknown_construct"]
