"""How each node of the SQL grammar becomes an operator of ours; what is absent is refused by name."""

from sanql.parse.expressions.operators import operator
from sanql.parse.expressions.refusals import unknown_construct

__all__ = ["operator", "unknown_construct"]
