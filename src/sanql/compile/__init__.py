"""Plan → Statement: one SQL statement over integers whose result is the exact cells."""

from sanql.compile.cells import CELL_LIMIT
from sanql.compile.exact_cells import compile_exact_release
from sanql.compile.expressions.emitter import ENGINE_TYPES, SQL_LENGTH_MAX, Emitter
from sanql.compile.outer import PUBLIC_ROWS_MAX, OuterStatement, compile_outer, public_reads
from sanql.compile.released import ReleasedAnswer, rows_given
from sanql.compile.statement import compile_plan, compile_public_query
from sanql.compile.summaries import summaries_of, summing

__all__ = [
    "CELL_LIMIT",
    "ENGINE_TYPES",
    "PUBLIC_ROWS_MAX",
    "SQL_LENGTH_MAX",
    "Emitter",
    "OuterStatement",
    "ReleasedAnswer",
    "compile_exact_release",
    "compile_outer",
    "compile_plan",
    "compile_public_query",
    "public_reads",
    "rows_given",
    "summaries_of",
    "summing",
]
