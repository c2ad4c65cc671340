"""Options as typed → AnswerOptions: what may be asked of an answer besides its content.

Imports nothing heavy: commands show their help from it.
"""

from sanql.options.defaults import changed_defaults, with_defaults
from sanql.options.moments import read_lasting, read_moment
from sanql.options.parameter_values import (
    no_constant,
    no_decimal,
    own_scalar,
    parameters_invalid,
)
from sanql.options.read import ClauseOption, read_clause, read_options
from sanql.options.table import OPTIONS, AnswerOptions, Number, Option, Options
from sanql.options.values import Accuracy

__all__ = [
    "OPTIONS",
    "Accuracy",
    "AnswerOptions",
    "ClauseOption",
    "Number",
    "Option",
    "Options",
    "changed_defaults",
    "no_constant",
    "no_decimal",
    "own_scalar",
    "parameters_invalid",
    "read_clause",
    "read_lasting",
    "read_moment",
    "read_options",
    "with_defaults",
]
