"""What types the parameters of a question have, where whoever prepares it does not say.

Database tools prepare a text first and ask what its parameters are. A parameter has the type of what it
is compared or computed with: of a column, of a constant, or of what it is cast to. Where nothing tells,
it is text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from sanql.parse.text.parameters import QuestionText
from sanql.parse.text.select import read_tree
from sanql.policy import Table
from sanql.question import TYPES, Type

_ALIKE = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between,
    exp.In, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Coalesce, exp.Greatest,
    exp.Least,
)  # fmt: skip
_TEXTS = (exp.Like, exp.ILike, exp.SimilarTo, exp.RegexpLike, exp.DPipe, exp.Lower, exp.Upper)
_THROUGH = (exp.Paren, exp.Neg)


def parameter_types(asked: QuestionText, tables: Mapping[str, Table]) -> dict[str, Type]:
    """Return the type of each parameter of a text, by its name."""
    tree = read_tree(asked, tables)
    columns = _columns(tree, tables)
    found: dict[str, Type] = {}
    for number, node in enumerate(_in_order(tree), 1):
        name = str(number if node.this is None else node.this)
        kind = _beside(node, columns)
        if kind is not None or name not in found:
            found[name] = kind or Type.TEXT
    return found


def _in_order(tree: exp.Expression) -> list[exp.Expression]:
    return sorted(tree.find_all(exp.Placeholder), key=lambda node: node.meta.get("start", 0))


def _columns(tree: exp.Expression, tables: Mapping[str, Table]) -> dict[str, Type]:
    """Return the types of the columns of all tables that are named, where those agree."""
    known = {name.lower(): table for name, table in tables.items()}
    types: dict[str, set[Type]] = {}
    for read in tree.find_all(exp.Table):
        table = known.get(str(read.name).lower())
        for name, column in table.columns.items() if table is not None else ():
            if column.type in TYPES:
                types.setdefault(name.lower(), set()).add(TYPES[column.type])
    return {name: next(iter(kinds)) for name, kinds in types.items() if len(kinds) == 1}


def _beside(node: exp.Expression, columns: Mapping[str, Type]) -> Type | None:
    """Return the type that a parameter has by what stands around it."""
    inner, around = node, node.parent
    while isinstance(around, _THROUGH):
        inner, around = around, around.parent
    match around:
        case exp.Cast() | exp.TryCast():
            return _cast_to(around)
        case exp.Limit() | exp.Offset() | exp.Fetch():
            return Type.INTEGER
        case _ if isinstance(around, _TEXTS):
            return Type.TEXT
        case _ if isinstance(around, _ALIKE):
            return next(_kinds(around, inner, columns), None)
    return None


def _kinds(
    around: exp.Expression, own: exp.Expression, columns: Mapping[str, Type]
) -> Iterator[Type]:
    for other in around.iter_expressions():
        kind = None if other is own else _type_of(other, columns)
        if kind is not None:
            yield kind


def _type_of(node: exp.Expr, columns: Mapping[str, Type]) -> Type | None:
    match node:
        case exp.Column():
            return columns.get(str(node.name).lower())
        case exp.Literal():
            return _literal(node)
        case exp.Boolean():
            return Type.BOOLEAN
        case exp.Cast() | exp.TryCast():
            return _cast_to(node)
        case exp.Count() | exp.Extract() | exp.Length():
            return Type.INTEGER
        case exp.Avg() | exp.Sum() | exp.Div():
            return Type.REAL
        case exp.Paren() | exp.Neg() | exp.Add() | exp.Sub() | exp.Mul() | exp.Max() | exp.Min():
            return next(_kinds(node, node, columns), None)
    return None


def _literal(node: exp.Literal) -> Type:
    if node.args.get("is_string"):
        return Type.TEXT
    return Type.INTEGER if str(node.this).isdecimal() else Type.REAL


def _cast_to(node: exp.Expression) -> Type | None:
    to = node.args.get("to")
    kinds = exp.DataType
    if not isinstance(to, exp.DataType):
        return None
    for named, kind in (
        (kinds.INTEGER_TYPES, Type.INTEGER),
        (kinds.REAL_TYPES, Type.REAL),
        (kinds.TEXT_TYPES, Type.TEXT),
        ({kinds.Type.BOOLEAN}, Type.BOOLEAN),
        ({kinds.Type.DATE, kinds.Type.DATE32}, Type.DATE),
        (kinds.TEMPORAL_TYPES, Type.TIMESTAMP),
    ):
        if to.this in named:
            return kind
    return None
