"""SEMI and ANTI joins, and comparisons with ANY and ALL of a subquery, as the conditions that they are.

Each is rewritten on the tree as EXISTS or IN, which the binder reads, and refuses, like one that was
typed: a row is kept or not by rows of its own unit, or by public ones.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from sanql.errors import Refused
from sanql.parse.text.places import place_of

KINDS = ("SEMI", "ANTI")
PRESERVING = ("RIGHT", "FULL")


REPLACED = (exp.Any, exp.All, exp.Join)


def with_equivalents(select: exp.Select, nodes: Iterable[exp.Expression]) -> exp.Select:
    """Return the question with these constructs, found among its `nodes`, in the words that are bound."""
    for node in nodes:
        around = node.parent
        if isinstance(node, exp.Join):
            kind = str(node.args.get("kind") or "").upper()
            if kind in KINDS and not node.args.get("side") and isinstance(around, exp.Select):
                _as_condition(around, node)
        elif isinstance(around, exp.EQ | exp.NEQ):
            _compared_with_any(around)
    return select


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
