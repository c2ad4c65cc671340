"""SQL text → our own small typed tree; the only place that sees the grammar library."""

from sanql.parse.options import Options
from sanql.parse.parameters import Asked, Parameters
from sanql.parse.question import Question, parse
from sanql.parse.tree import Query

__all__ = ["Asked", "Options", "Parameters", "Query", "Question", "parse"]
