"""What a data owner declares, as frozen facts that the rest of SanQL may rely on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sanql.computed_once import computed_once
from sanql.kernel import ColumnType
from sanql.policy.origin import Origin
from sanql.policy.postgres_address import LedgerDatabase, LedgerPlace
from sanql.results import Budget

if TYPE_CHECKING:
    from sanql.policy.exact import Exact

Neighbours = Literal["add-remove", "change-one"]
Accounting = Literal["pure", "renyi"]
Value = bool | int | Fraction | str | date | datetime


@dataclass(frozen=True)
class ListedDomain:
    """Public keys written out in the policy; every one of them appears in an answer."""

    values: tuple[Value, ...]


@dataclass(frozen=True)
class TableDomain:
    """Public keys that are the distinct values of a column of a public table."""

    table: str
    column: str


Domain = ListedDomain | TableDomain


@dataclass(frozen=True)
class Column:
    """A column analysts may use, with the facts the owner vouches for or has San enforce.

    Bounds are enforced: a value outside is read as the nearest bound. They are int, Fraction (for
    `decimal` and `float`), date or datetime. Precision is the grid sums are computed on (`decimal`
    and `float` only); every bound is a whole number of its steps. `total_bounds` limits what one
    unit adds to SUM of this column in one group. Where the owner has `bounds_auto`, San finds bounds
    privately for a question that needs them. A text of more than `bytes_max` bytes (None stands for the
    default) is read as its beginning. Where a column is not `nullable`, a missing value is read as the
    lower bound.
    """

    name: str
    type: ColumnType
    bounds: tuple[Value, Value] | None = None
    precision: Fraction | None = None
    domain: Domain | None = None
    total_bounds: tuple[Fraction, Fraction] | None = None
    bounds_auto: bool = False
    bytes_max: int | None = None
    nullable: bool = True


@dataclass(frozen=True)
class AutoBounds:
    """What finding the bounds of one column may cost."""

    epsilon: Fraction


@dataclass(frozen=True)
class RowUnit:
    """Each row is protected by itself."""


@dataclass(frozen=True)
class ColumnUnit:
    """Whoever the column identifies is protected, with all their rows; NULL identifies nobody."""

    column: str


@dataclass(frozen=True)
class ViaUnit:
    """Whoever the row of another table belongs to that `column` refers to by that table's `key`.

    A row that refers to nothing belongs to nobody and is left out. Where several rows there have
    the key, a row here belongs to the unit of each of them, and counts, within limits, with each.
    """

    column: str
    table: str
    key: str


Unit = RowUnit | ColumnUnit | ViaUnit


@dataclass(frozen=True)
class Kind:
    """A kind of privacy unit, such as patients, with what may be spent of everybody's privacy in it."""

    name: str
    budget: Budget


@dataclass(frozen=True)
class SecondKind:
    """Whom else each row of a table belongs to: a unit of another kind, and how much of it may count.

    So many rows of one unit may count in a group, as of the first kind.
    """

    kind: str
    column: str
    rows_per_group_max: int


@dataclass(frozen=True)
class Summaries:
    """What a prepared copy adds up beforehand of each unit: its rows, and sums `of` some columns.

    It does so over all rows of the unit, and apart for each value of the columns that it is `by`. The
    values of the columns that it is `quantiles_of` are put in order for each unit. No cell hangs on it.
    """

    by: tuple[str, ...]
    of: tuple[str, ...]
    quantiles_of: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """Up to `size` units that may stay away together; `column`, where given, has their name in common.

    That no more than `size` units have a name in common is the owner's word: nothing enforces it.
    """

    size: int
    column: str | None = None


@dataclass(frozen=True)
class Protections:
    """What certificates are to say besides one unit: of data whose `public_attributes` are known, and
    of whole groups."""

    public_attributes: tuple[str, ...] = ()
    group: Group | None = None


@dataclass(frozen=True)
class Table:
    """A table analysts may ask about.

    `unit` is None exactly when the table is public; a public table without columns offers all that
    its source has. `rows_per_unit_max` limits a unit's rows in one answer, `rows_per_group_max` its
    rows in one group, `groups_per_unit_max` its groups. A loaded private table has the first and the
    last (both 1 when the unit is the row), unless the owner is undecided: then nothing can be asked of
    it but what limits would suit. `key` names a column by which other tables refer to one row of this
    one; that it is one row is enforced where anything depends on it. `unique` says that the owner
    declares one row for each unit: the limits are enforced all the same, and should cut nothing.

    A group whose key is selected privately appears for no fewer units than
    `units_per_selected_group_min`, as the dataset declares it.

    In a dataset with several kinds of unit `kind` is that of `unit`. Where each row belongs to a unit of
    a `second` kind as well, limits are on rows in one group, of each kind its own.
    """

    name: str
    unit: Unit | None
    columns: Mapping[str, Column]
    rows_per_unit_max: int | None = None
    rows_per_group_max: int | None = None
    groups_per_unit_max: int | None = None
    key: str | None = None
    unique: bool = False
    summaries: Summaries | None = None
    kind: str | None = None
    second: SecondKind | None = None
    protections: Protections | None = None
    units_per_selected_group_min: int = 1

    @computed_once
    def kinds(self) -> tuple[str, ...]:
        """The kinds of unit that its rows belong to; none where the dataset has one kind only."""
        second = () if self.second is None else (self.second.kind,)
        return () if self.kind is None else tuple(sorted((self.kind, *second)))

    @computed_once
    def public(self) -> bool:
        """Whether the table holds nothing about anybody."""
        return self.unit is None


@dataclass(frozen=True)
class StatedAttacker:
    """What a budget may tell an attacker, as its owner states it: a belief or a test, of a group."""

    prior: Fraction | None = None
    posterior_at_most: Fraction | None = None
    false_alarms: Fraction | None = None
    hits_at_most: Fraction | None = None
    group_of: int = 1


@dataclass(frozen=True)
class Analyst:
    """Somebody who asks; without a budget of their own, the dataset's is the only limit.

    `epsilon_per_query` is what a question of theirs costs over the PostgreSQL wire where it does not say.
    """

    name: str
    budget: Budget | None
    epsilon_per_query: Fraction | None = None


@dataclass(frozen=True)
class Coalition:
    """Analysts who might pool their answers; their charges add up in one more account."""

    name: str
    members: frozenset[str]
    budget: Budget


@dataclass(frozen=True)
class SparkCluster:
    """The machines that compute in place of this one: their master, and the folder of the layout.

    The folder is found from the policy's, and is the same one on every machine.
    """

    master: str
    layout: str


@dataclass(frozen=True)
class EngineLimits:
    """What one worker process may use before it is killed and replaced.

    With `spark` it is a process of an executor, and there are as many as the cluster has room for. With
    an `encryption_key_file` copies are encrypted at rest.
    """

    memory_bytes: int
    deadline_seconds: float
    workers: int
    spark: SparkCluster | None = None
    encryption_key_file: str | None = None


ContinualOf = Literal["rows", "units"]


@dataclass(frozen=True)
class Continual:
    """A count of everything so far, released once for each of so many periods, all for one price.

    It is of the rows of a table, at most so many of each unit, or of its units, that satisfy `where`;
    `by` is the column of dates that says in which period a row came to be. `start` names the first one.
    """

    name: str
    table: str
    of: ContinualOf
    where: str | None
    by: str
    per: str
    start: str
    releases: int
    rows_per_unit: int
    epsilon: Fraction
    delta: Fraction


ALERTS_DEFAULT = (Fraction(4, 5),)


@dataclass(frozen=True)
class Policy:
    """The whole declaration: what is protected, how well, and for whom.

    A policy that is `scratch` is a rehearsal: its account claims no data, and never answers from them.
    `ledger` is the file of the account or, where a `ledger_database` keeps it, the name that files which
    belong to this machine have in common: stamps, prepared copies, the head that is pinned here. Data
    that are no files here have an `origin`, and `source` is the folder in which a snapshot is kept.
    Where there are several `kinds` of privacy unit each has a budget of its own, and `budget` is what is
    within all of them.
    """

    path: Path
    name: str
    source: str
    ledger: Path
    neighbours: Neighbours
    budget: Budget
    accounting: Accounting
    tables: Mapping[str, Table]
    analysts: Mapping[str, Analyst]
    coalitions: Mapping[str, Coalition]
    engine: EngineLimits
    delta_per_query: Fraction | None
    failures_max: int
    exact: Mapping[str, Exact] = field(default_factory=dict)
    auto_bounds: AutoBounds | None = None
    failures_total_max: int | None = None
    epsilon_per_query_min: Fraction = Fraction(1, 1000)
    head: Path | None = None
    scratch: bool = False
    second_signature: bool = False
    ledger_database: LedgerDatabase | None = None
    origin: Origin | None = None
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    exact_together: Budget | None = None
    continual: Mapping[str, Continual] = field(default_factory=dict)
    alerts_at: tuple[Fraction, ...] = ALERTS_DEFAULT
    attackers: Mapping[str, StatedAttacker] = field(default_factory=dict)

    @property
    def ledger_place(self) -> LedgerPlace:
        """Where the account is kept: a database, or else the file `ledger`."""
        return self.ledger if self.ledger_database is None else self.ledger_database
