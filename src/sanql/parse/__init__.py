"""SQL text → our own small typed tree; the only place that sees the grammar library."""

from sanql.parse.expressions.operators import operator
from sanql.parse.expressions.refusals import COMMON_AGGREGATES
from sanql.parse.question import Question, parse
from sanql.parse.relations.joins import STRICT, names_key
from sanql.parse.relations.scope import UNIT, derived_item, table_item
from sanql.parse.relations.units import individuals
from sanql.parse.statistics.aggregates import AGGREGATES
from sanql.parse.statistics.contributions import unclamped
from sanql.parse.statistics.spellings import QUANTILES, canonical_spelling
from sanql.parse.text.listing import asks_what_there_is
from sanql.parse.text.parameters import Asked, Parameters, Value
from sanql.parse.text.places import places_within
from sanql.parse.text.select import read, statements, tree_of

__all__ = [
    "AGGREGATES",
    "COMMON_AGGREGATES",
    "QUANTILES",
    "STRICT",
    "UNIT",
    "Asked",
    "Parameters",
    "Question",
    "Value",
    "asks_what_there_is",
    "canonical_spelling",
    "derived_item",
    "individuals",
    "names_key",
    "operator",
    "parse",
    "places_within",
    "read",
    "statements",
    "table_item",
    "tree_of",
    "unclamped",
]
