"""Identifiers in conditions: `id IN (1, 2)`, `id > 50`, `p.id = dim.g`.

An identifier has no declared type. Beside numbers it is read as a whole number, beside anything else as
text; one that is none is NULL, and no condition holds for it.
"""

from __future__ import annotations

from collections.abc import Set
from fractions import Fraction

from sqlglot import exp

from sanql.errors import Refused
from sanql.question import BIGINT_RANGE, NUMERIC, Call, Facts, Identifier, Type

COMPARED = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Like,
    exp.ILike, exp.Between, exp.In,
)  # fmt: skip
WHOLE = Facts(Type.INTEGER, *BIGINT_RANGE, nullable=True, grid=Fraction(1))
TEXT = Facts(Type.TEXT, nullable=True)


def compared_sides(node: exp.Expression) -> list[exp.Expression]:
    """Return what a comparison compares."""
    if isinstance(node, exp.Between):
        return [node.this, node.args["low"], node.args["high"]]
    if isinstance(node, exp.In):
        return [node.this, *(node.args.get("expressions") or ())]
    return [node.this, node.expression]


def kind_beside(kinds: Set[Type]) -> str:
    """Return the cast by which identifiers are compared with values of these types.

    Real numbers are refused: two identifiers beyond 2^53 would be equal to the same one.
    """
    if Type.REAL in kinds:
        raise Refused(
            "unit_column",
            "the privacy unit is compared with whole numbers and texts, and this is neither",
            "write a whole number without a point, or a text",
        )
    return "cast_bigint" if kinds and kinds <= {*NUMERIC, Type.NULL} else "cast_text"


def identifier_value(identity: Identifier, kind: str) -> Call:
    """Return the value of an identifier, for a comparison."""
    return Call(kind, (identity,), WHOLE if kind == "cast_bigint" else TEXT)
