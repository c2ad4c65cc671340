"""The plan of an answer: what is measured under which limits, with which noise, at which price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from sanql.account import Charge
from sanql.errors import Refused
from sanql.mechanisms import Noise
from sanql.parse import Query
from sanql.parse.relations import Scan
from sanql.plan.chosen import check_nulls
from sanql.plan.digest import first_question_digest, question_digest
from sanql.plan.keys import Beside, Keys, OneGroup, PrivateKeys, PublicKeys, keys_of
from sanql.plan.limits import Limits, limits_of
from sanql.plan.measurements import Estimate, Measurement, Measuring
from sanql.plan.measuring import measure
from sanql.plan.price import Priced, price
from sanql.plan.reading import reading
from sanql.plan.rest import check_rest, with_rest
from sanql.plan.sensitivity import Sensitivity, Setting
from sanql.policy import ColumnUnit, Neighbours, RowUnit, Table, ViaUnit


@dataclass(frozen=True)
class Outline:
    """Everything about an answer that does not depend on epsilon."""

    query: Query
    table: Table  # what the question reads, seen as one table
    tables: Mapping[str, Table]
    neighbours: Neighbours
    keys: Keys
    limits: Limits
    measuring: Measuring
    other: bool = False  # one row more holds what the groups that do not appear have together
    beside: tuple[Beside, ...] = ()  # keys of other levels whose public values a row must have

    @property
    def levels(self) -> tuple[Outline, ...]:
        """The outlines of all grouping sets: this one."""
        return (self,)

    @property
    def selects_keys(self) -> bool:
        """Whether unknown keys must be selected privately, which needs a delta."""
        return self.measuring.selection is not None and not self.free

    @property
    def free(self) -> bool:
        """Whether nothing in the answer depends on any unit."""
        return all(part.sensitivity.zero for part in self.measuring.measurements)

    @property
    def reads_no_rows(self) -> bool:
        """Whether all numbers are 0 whatever the private rows are, so that none need be read.

        It costs nothing, so it must not read them: how long that takes can depend on them, and nobody
        would have paid. What else is free counts or adds up a constant over all rows of a table under
        change-one, however many; that reads nothing of them but their number.
        """
        return not self.table.public and all(
            part.always_zero for part in self.measuring.measurements
        )


@dataclass(frozen=True)
class Plan:
    """A bounded, priced answer that has only to be run."""

    outline: Outline
    priced: Priced

    @property
    def levels(self) -> tuple[Plan, ...]:
        """The plans of all grouping sets: this one."""
        return (self,)

    @property
    def query(self) -> Query:
        """The question."""
        return self.outline.query

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """What the engine computes for every group."""
        return self.outline.measuring.measurements

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """How each aggregate is computed from noisy measurements."""
        return self.outline.measuring.estimates

    @property
    def noises(self) -> tuple[Noise, ...]:
        """The noise of each measurement."""
        return self.priced.noises

    @property
    def charge(self) -> Charge:
        """What the answer costs."""
        return self.priced.charge

    def digest(self, data: str) -> str:
        """Return the name of this question, asked of a version of the data (digest.py)."""
        return question_digest(self.levels, data)

    def first_digest(self, fingerprint: str) -> str:
        """Return the name that version 0.1.0 gave this question."""
        return first_question_digest(self.levels, fingerprint)


def outline(
    query: Query,
    tables: Mapping[str, Table],
    neighbours: Neighbours,
    groups_asked: int | None = None,
    other: bool = False,
    beside: tuple[Beside, ...] = (),
) -> Outline:
    """Return what must be measured to answer a question, with sensitivities.

    A row that lacks a public value of a key `beside` is left out, as by a condition in WHERE.
    """
    assert not query.sets  # noqa: S101  (levels.py makes one question of each set)
    table = reading(query.source, tables)
    check_nulls(query.where)
    keys = keys_of(query.keys, tables, None if table.public else query.source, query.where)
    limits = limits_of(table, keys, groups_asked)
    setting = Setting(
        neighbours=neighbours,
        limits=limits,
        one_group=isinstance(keys, OneGroup),
        always_present=neighbours == "change-one"
        and isinstance(table.unit, RowUnit)
        and isinstance(query.source, Scan)
        and query.where is None
        and not beside
        and isinstance(keys, OneGroup | PrivateKeys),
        merged=other,
    )
    groups = keys.count if isinstance(keys, PublicKeys) else 1 if setting.one_group else None
    measuring = measure(
        query.aggregates, table, tables, setting, isinstance(keys, PrivateKeys), groups
    )
    if table.public:
        measuring = _insensitive(measuring)
    outlined = Outline(query, table, tables, neighbours, keys, limits, measuring, other, beside)
    if other:
        check_rest(outlined.selects_keys)
        return replace(outlined, measuring=with_rest(measuring, setting))
    return outlined


def _insensitive(measuring: Measuring) -> Measuring:
    zero = Sensitivity(0, 0, 0)
    parts = tuple(replace(part, sensitivity=zero) for part in measuring.measurements)
    return replace(measuring, measurements=parts)


def plan(outlined: Outline, epsilon: Fraction, delta: Fraction) -> Plan:
    """Return the least noisy plan within (epsilon, delta)."""
    check_delta(outlined.selects_keys, delta)
    return Plan(outlined, price(outlined.measuring, epsilon, delta))


def check_delta(selects_keys: bool, delta: Fraction) -> None:
    """Refuse to select keys without a delta."""
    if selects_keys and delta == 0:
        raise Refused(
            "delta_needed",
            "the groups of this question are not declared, so they are selected privately, "
            "which needs a delta above zero",
            "pass a delta (for example 1e-9), or let the owner declare the column's domain or bounds",
        )


def unit_in_words(table: Table) -> str:
    """Return whose presence is protected, in words."""
    match table.unit:
        case ColumnUnit(column):
            return f"everything about one {column}"
        case ViaUnit(column, referred, _):
            return f"everything about whoever {column} leads to in {referred}"
        case RowUnit():
            return "one row"
        case None:
            return "nobody: the table is public"
