"""SEMI and ANTI joins, comparisons with ANY and ALL, and steps of a range, as the conditions they are.

Each is rewritten on the tree as EXISTS or IN, which the binder reads, and refuses, like one that was
typed: a row is kept or not by rows of its own unit, or by public ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.expressions.casts import COMPARISONS, is_time
from sanql.parse.relations.series import SERIES, with_series_listed
from sanql.parse.text.places import place_of
from sanql.question import number_literal

KINDS = ("SEMI", "ANTI")
PRESERVING = ("RIGHT", "FULL")


REPLACED = (exp.Any, exp.All, exp.Join, exp.RangeBucket, exp.In, exp.Cast, *SERIES)
STEPS_MAX = 100
WRITTEN_MAX = 2_000


def with_equivalents(select: exp.Select, nodes: Iterable[exp.Expression]) -> exp.Select:
    """Return the question with these constructs, found among its `nodes`, in the words that are bound."""
    nodes = list(nodes)
    with_series_listed([node for node in nodes if isinstance(node, SERIES)])
    for node in nodes:
        around = node.parent
        if isinstance(node, exp.Cast):
            _times_beside(node)
        elif isinstance(node, exp.In):
            _in_list(node)
        elif isinstance(node, exp.Join):
            kind = str(node.args.get("kind") or "").upper()
            if kind in KINDS and not node.args.get("side") and isinstance(around, exp.Select):
                _as_condition(around, node)
        elif isinstance(node, exp.RangeBucket):
            _steps(node)
        elif isinstance(around, exp.EQ | exp.NEQ):
            _compared_with_any(around)
        elif isinstance(around, exp.Like | exp.ILike):
            _like_any(around, node)
    return select


def _times_beside(node: exp.Cast) -> None:
    """Read texts that a time of day is compared with as times: t::TIME < '08:30'."""
    if is_time(node) and isinstance(node.parent, COMPARISONS):
        for each in list(node.parent.iter_expressions()):
            if isinstance(each, exp.Literal) and each.args.get("is_string"):
                each.replace(exp.cast(each.copy(), exp.DataType.Type.TIME))


def _in_list(node: exp.In) -> None:
    """Replace x IN UNNEST([1, 2]) by IN (1, 2), and (x, y) IN ((1, 2), (3, 4)) by comparisons."""
    unnest: exp.Expression | None = node.args.get("unnest")
    inside = unnest.expressions if unnest is not None else []
    listed = inside[0] if len(inside) == 1 else None
    if isinstance(listed, exp.Array) and listed.expressions:
        node.set("unnest", None)
        node.set("expressions", [each.copy() for each in listed.expressions])
    values, choices = node.this, node.expressions
    if not isinstance(values, exp.Tuple) or not choices:
        return
    if len(choices) * sum(1 for _ in values.walk()) > WRITTEN_MAX:
        return  # written out once for each choice, it would be a book
    width = len(values.expressions)
    if any(not isinstance(c, exp.Tuple) or len(c.expressions) != width for c in choices):
        return  # refused by name where it is bound
    tests = [exp.paren(exp.and_(*map(_equal, values.expressions, c.expressions))) for c in choices]
    node.replace(exp.paren(exp.or_(*tests, copy=False)))


def _equal(one: exp.Expression, other: exp.Expression) -> exp.Expression:
    return exp.EQ(this=one.copy(), expression=other.copy())


def _compared_with_any(node: exp.Binary) -> None:
    """Replace x = ANY (SELECT …) by IN, x <> ALL (SELECT …) by NOT IN, and lists alike."""
    equal = isinstance(node, exp.EQ)
    kind = exp.Any if equal else exp.All
    listed = node.expression
    if not isinstance(listed, kind):
        return
    inner = listed.this
    while isinstance(inner, exp.Paren | exp.Subquery):
        inner = inner.this
    if isinstance(inner, exp.Array):
        member = exp.In(
            this=node.this.copy(), expressions=[each.copy() for each in inner.expressions]
        )
    elif isinstance(inner, exp.Select | exp.Union):
        member = exp.In(this=node.this.copy(), query=exp.Subquery(this=inner.copy()))
    else:
        return  # refused by name where it is bound
    member.meta.update(node.meta)
    node.replace(member if equal else exp.Not(this=member))


def _like_any(like: exp.Expression, listed: exp.Expression) -> None:
    """Replace x LIKE ANY ('a%', 'b%') by patterns with OR between them, and ALL by AND.

    Of NOT LIKE ANY databases think differently, and it is refused by name.
    """
    inner = listed.this
    patterns = inner.expressions if isinstance(inner, exp.Tuple | exp.Array) else [inner.unnest()]
    if like.args.get("negate") or not patterns or isinstance(inner.unnest(), exp.Query):
        return
    tests = [type(like)(this=like.this.copy(), expression=each.copy()) for each in patterns]
    for test in tests:
        test.meta.update(like.meta)
    joined = exp.or_ if isinstance(listed, exp.Any) else exp.and_
    like.replace(exp.paren(joined(*tests, copy=False)))


def _steps(node: exp.RangeBucket) -> None:
    """Replace RANGE_BUCKET(x, [1, 5]), how many of ascending numbers are no larger than x, by CASE."""
    value, listed = node.this, node.expression
    ends = listed.expressions if isinstance(listed, exp.Array) else []
    numbers = [_number(end) for end in ends]
    known = [number for number in numbers if number is not None]
    if len(known) != len(ends) or not 0 < len(ends) <= STEPS_MAX or known != sorted(known):
        return  # refused by name where it is bound
    there = exp.Is(this=value.copy(), expression=exp.Null())
    steps = [exp.If(this=there, true=exp.Null())]
    steps += [
        exp.If(
            this=exp.LT(this=value.copy(), expression=end.copy()), true=exp.Literal.number(place)
        )
        for place, end in enumerate(ends)
    ]
    made = exp.Case(ifs=steps, default=exp.Literal.number(len(ends)))
    made.meta.update(node.meta)
    node.replace(made)


def _number(node: exp.Expression) -> Fraction | None:
    if isinstance(node, exp.Neg):
        inner = _number(node.this)
        return None if inner is None else -inner
    if not isinstance(node, exp.Literal) or node.args.get("is_string"):
        return None
    value = number_literal(str(node.this)).value
    return Fraction(value) if isinstance(value, int | Fraction) else None


def _as_condition(select: exp.Select, join: exp.Join) -> None:
    """Replace a SEMI or ANTI join by EXISTS or NOT EXISTS in WHERE."""
    kind = str(join.args["kind"]).upper()
    joins = select.args["joins"]
    behind = joins[joins.index(join) + 1 :]
    if any(str(each.args.get("side") or "").upper() in PRESERVING for each in behind):
        raise _refused(join, kind, "a RIGHT or FULL JOIN behind it keeps rows that it leaves out")
    before = [select.args["from_"].this, *(each.this for each in joins[: joins.index(join)])]
    condition = _condition(join, before, kind)
    inner = exp.Select(expressions=[exp.alias_(exp.Literal.number(1), "one")])
    inner.set("from_", exp.From(this=join.this.copy()))
    inner.set("where", exp.Where(this=condition))
    found: exp.Expression = exp.Exists(this=inner)
    found.meta.update(join.meta)
    if kind == "ANTI":
        found = exp.Not(this=found)
    known = select.args.get("where")
    tests = [known.this.copy()] if known is not None else []
    select.set("where", exp.Where(this=exp.and_(*tests, found)))
    select.set("joins", [each for each in joins if each is not join])


def _condition(join: exp.Join, before: list[exp.Expression], kind: str) -> exp.Expr:
    """Return what a row must fulfil; each column says whose it is, as names mean other things inside."""
    theirs = str(join.this.alias_or_name)
    names = [str(each.alias_or_name).lower() for each in before]
    extra = {name for name, value in join.args.items() if value} - {"this", "on", "using", "kind"}
    if extra or not theirs or theirs.lower() in names or join.this.args.get("joins"):
        raise _refused(join, kind, "both sides need names of their own")
    using = [str(name.name) for name in join.args.get("using") or ()]
    if using and len(before) == 1:
        ours = str(before[0].alias_or_name)
        pairs = [(exp.column(name, table=ours), exp.column(name, table=theirs)) for name in using]
        return exp.and_(*(exp.EQ(this=left, expression=right) for left, right in pairs))
    on = join.args.get("on")
    if on is None or any(not column.table for column in on.find_all(exp.Column)):
        raise _refused(join, kind, "every column of its condition must name its table")
    return exp.Paren(this=on.copy())


def _refused(join: exp.Join, kind: str, why: str) -> Refused:
    return Refused(
        "join_unsupported",
        f"this {kind} JOIN is not supported: {why}",
        "write WHERE EXISTS (SELECT 1 FROM b WHERE b.id = a.id …), or NOT EXISTS",
        place_of(join),
    )
