"""A plan in a few lines that a reviewer can check by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from fractions import Fraction

from sanql.measurements.measurement import Measurement
from sanql.mechanisms import NoNoise
from sanql.plan.keys import KeyColumn, OneGroup, PrivateKeys, PublicKeys
from sanql.plan.level import Level
from sanql.plan.lookups import Lookup
from sanql.plan.plan import Plan
from sanql.policy.model import ColumnUnit, RowUnit, TableDomain
from sanql.question.expressions import Call, ColumnRef, Expr, KeyRef, Literal, Subquery, Window
from sanql.question.public_query import PublicQuery
from sanql.question.relations import Scan


def summary(plan: Plan | PublicQuery) -> tuple[str, ...]:
    """Return what a plan reads, whom it protects within which limits, its groups and measurements.

    Sensitivities are the most one unit can move all cells together (L1), one cell (Linf), and all
    cells by the sum of squares (L2²), in steps of the measurement's grid, or parts of them.
    """
    if isinstance(plan, PublicQuery):
        return (f"reads {', '.join(_tables(plan.rows))}; protects nobody; rows as they are",)
    if not plan.several:
        return _level(plan.levels[0])
    levels = zip(plan.names, plan.levels, strict=True)
    return tuple(f"{name} {line}" for name, level in levels for line in _level(level))


def _level(plan: Level) -> tuple[str, ...]:
    parts = zip(plan.measurements, plan.noises, strict=True)
    return (
        f"reads {', '.join(_tables(plan.query))}; protects {_unit(plan)}",
        f"groups: {_keys(plan)}{_beside(plan)}",
        *(f"{_measurement(part)}; {_mechanism(noise)}" for part, noise in parts),
    )


def key_columns(plan: Plan | PublicQuery) -> list[int]:
    """Return the columns of the answer that are group keys."""
    if isinstance(plan, PublicQuery):
        return []
    outputs = enumerate(plan.query.outputs)
    return [index for index, output in outputs if isinstance(output.expression, KeyRef)]


def is_ordered(plan: Plan | PublicQuery) -> bool:
    """Return whether the question says in which order the rows come."""
    return bool(plan.order if isinstance(plan, PublicQuery) else plan.query.order)


def _tables(node: object) -> list[str]:
    return list(dict.fromkeys(scan.table for scan in _scans(node)))


def _scans(node: object) -> Iterator[Scan]:
    """Yield every table that is read anywhere in a question."""
    if isinstance(node, Scan):
        yield node
    elif isinstance(node, tuple):
        for item in node:
            yield from _scans(item)
    elif isinstance(node, Window):
        yield from _scans((node.args, node.partition, node.order))
    elif is_dataclass(node):
        for field in fields(node):
            if field.name != "unit_of":  # the FROM around, which is there anyway
                yield from _scans(getattr(node, field.name))


def _unit(plan: Level) -> str:
    limits = plan.outline.limits
    match plan.outline.table.unit:
        case ColumnUnit(column):
            return (
                f"{column}, at most {_many(limits.rows, 'row')} in "
                f"{_many(limits.groups, 'group')}, {limits.rows_per_group} in one"
            )
        case RowUnit():
            return "a row"
        case _:
            return "nobody"


def _many(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _keys(plan: Level) -> str:
    match plan.outline.keys:
        case OneGroup():
            return "one"
        case PrivateKeys():
            return "selected privately, by " + ", ".join(map(_text, plan.query.keys))
        case PublicKeys(columns):
            pairs = zip(plan.query.keys, columns, strict=True)
            return "public, " + " × ".join(f"{_values(c)} of {_text(key)}" for key, c in pairs)


def _beside(plan: Level) -> str:
    """Return the keys of other levels that a row must have to count."""
    listed = (
        f"{_values(each.column)} of {_text(each.key)}" for each in plan.outline.filtering_keys
    )
    return "".join(f"; rows have one of {each}" for each in listed)


def _values(column: KeyColumn) -> str:
    if isinstance(column.values, TableDomain):
        return f"all {column.values.table}.{column.values.column}"
    if isinstance(column.values, Lookup):
        return f"those in {', '.join(_tables(column.values.source))}"
    if len(column.values) > 4:
        return f"{len(column.values)} values"
    return "/".join(_shown(value) for value in column.values)


def _shown(value: object) -> str:
    return "NULL" if value is None else str(value)


def _measurement(part: Measurement) -> str:
    what = part.kind.value
    if part.expression is not None:
        what += f" of {_text(part.expression)}"
    if part.fractions:
        what += f" at {', '.join(map(str, part.fractions))}"
    if part.grid != 1:
        what += f" in steps of {_number(part.grid)}"
    if part.centre:
        what += f" from {part.centre}"
    if part.norm is not None:
        norm = f"L1 {part.norm.bound}" if part.norm.order == 1 else f"L2² {part.norm.bound}"
        what += f" scaled to {norm}{'' if part.norm.alone else ' rows'} in parts of 1/{part.scale}"
    norms = part.sensitivity
    return f"{what}: L1 {norms.l1}, Linf {norms.linf}, L2² {norms.l2_squared}"


def _mechanism(noise: object) -> str:
    return "exact" if isinstance(noise, NoNoise) else type(noise).__name__


def _number(value: Fraction) -> str:
    return str(float(value)) if len(str(float(value))) < 9 else str(value)


def _text(expression: Expr) -> str:
    """Return an expression as operators applied to columns."""
    match expression:
        case ColumnRef():
            return expression.name if expression.stored else _computed(expression)
        case Literal(value):
            return _number(value) if isinstance(value, Fraction) else repr(value)
        case Call(op, args):
            return f"{op}({', '.join(map(_text, args))})"
        case Subquery():
            return f"({expression.ask.value} in {', '.join(_tables(expression.rows))})"
        case Window():
            return f"{expression.function} over the unit's rows"
        case _:
            return getattr(expression, "name", type(expression).__name__)


def _computed(column: ColumnRef) -> str:
    return column.origin[1] if column.origin is not None else f"a subquery's {column.name}"
