"""SQL text → Question, our own small typed tree; the only place that sees the grammar library."""

from sanql.parse.expressions.operators import operator
from sanql.parse.expressions.refusals import COMMON_AGGREGATES
from sanql.parse.question import Question, parse
from sanql.parse.relations.joins import STRICT, names_key
from sanql.parse.relations.scope import UNIT, derived_item, table_item
from sanql.parse.relations.units import groups_of_individuals
from sanql.parse.statistics.aggregates import AGGREGATES
from sanql.parse.statistics.contributions import unclamped
from sanql.parse.statistics.spellings import QUANTILES, canonical_spelling
from sanql.parse.text.commands import Command, read_command, read_commands
from sanql.parse.text.listing import asks_what_there_is
from sanql.parse.text.normalised import normalised
from sanql.parse.text.options import with_options_of
from sanql.parse.text.parameter_types import parameter_types
from sanql.parse.text.parameters import Parameters, QuestionText, Value
from sanql.parse.text.places import places_within
from sanql.parse.text.select import read_select, statements, syntax_tree

__all__ = [
    "AGGREGATES",
    "COMMON_AGGREGATES",
    "QUANTILES",
    "STRICT",
    "UNIT",
    "Command",
    "Parameters",
    "Question",
    "QuestionText",
    "Value",
    "asks_what_there_is",
    "canonical_spelling",
    "derived_item",
    "groups_of_individuals",
    "names_key",
    "normalised",
    "operator",
    "parameter_types",
    "parse",
    "places_within",
    "read_command",
    "read_commands",
    "read_select",
    "statements",
    "syntax_tree",
    "table_item",
    "unclamped",
    "with_options_of",
]
