"""One release of a continual count as a plan: a sum of weights by age, with noise fixed at the start.

The first release has the charge of all; each other one has none, and is made only where every release
before it is on record under a name that says the same count, noise and price (`Stream.digest`). So the
charge stands on the chain before the first number leaves, and no number leaves twice with other noise.
Where records were lost and the ledger goes on, releases may be among them: `dataset` says how often that
was, so that the count begins, and is charged, anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sanql.account import Charge
from sanql.computed_once import computed_once
from sanql.continual.stream import Stream
from sanql.continual.weights import STEPS, weights
from sanql.measurements import Measured
from sanql.parse import parse
from sanql.plan import Level, Priced, mechanism_of_norm, outline
from sanql.policy import ColumnUnit, Table
from sanql.question import Query
from sanql.results import Budget


@dataclass(frozen=True)
class ContinualRelease:
    """The release of one period, to be measured like the plan of a question.

    Its name does not hang on the version of the data that it reads: each period is released once. It is
    planned only where it is missing.
    """

    stream: Stream
    place: int
    tables: Mapping[str, Table]
    dataset: str

    @computed_once
    def levels(self) -> tuple[Level, ...]:
        """What is measured: one sum."""
        return (_level(self),)

    @computed_once
    def charge(self) -> Charge:
        """What is charged for it: the first is charged with all."""
        if self.place == 0:
            return self.stream.charge
        return Charge((), Fraction(0), Fraction(0))

    @property
    def within(self) -> Budget:
        """The epsilon and delta of all releases together."""
        return Budget(self.stream.declared.epsilon, self.stream.declared.delta)

    @property
    def answers(self) -> int:
        """How many questions it answers."""
        return 1

    @computed_once
    def name(self) -> str:
        """Its name, whatever version of the data is read."""
        table = self.tables[self.stream.declared.table]
        return self.stream.digest(self.place, self.dataset, table)

    def digest(self, data: str) -> str:
        """Return its name, which is the same of every version of the data."""
        return self.name

    def first_digest(self, fingerprint: str) -> str:
        """Return its name: version 0.1.0 knew none such."""
        return self.name


def _level(release: ContinualRelease) -> Level:
    """Return what is measured; a condition that cannot be asked is refused like any."""
    stream, tables = release.stream, release.tables
    declared = stream.declared
    query = parse(release_sql(stream, release.place, tables[declared.table]), tables).query
    assert isinstance(query, Query)  # noqa: S101  (it is one sum over one private table)
    rows = declared.rows_per_unit if declared.of == "rows" else None
    (level,) = outline(query, tables, stream.neighbours, rows_asked=rows).levels
    (measured,) = level.measuring.measurements
    if measured.kind is not Measured.SUM or measured.scale != 1 or level.by_weights is not None:
        raise AssertionError("a release is one sum of whole numbers")
    return Level(level, Priced((stream.noise,), None, release.charge, mechanism_of_norm(2)))


def release_sql(stream: Stream, place: int, table: Table) -> str:
    """Return what is summed for a period: the weights, by age, of all that there was by its last day."""
    declared = stream.declared
    assert isinstance(table.unit, ColumnUnit)  # noqa: S101  (the policy refuses others)
    unit, by, name = (_quoted(each) for each in (table.unit.column, declared.by, declared.table))
    day = stream.last_day(place).isoformat()
    where = "" if declared.where is None else f" AND ({declared.where})"
    rows = f"FROM {name} WHERE {by} <= DATE '{day}'{where}"
    if declared.of == "units":
        counted, kept = [f"{unit}, MIN({by}) AS came", rows, f"GROUP BY {unit}"], ""
    else:
        ranked = f"ROW_NUMBER() OVER (PARTITION BY {unit} ORDER BY {by}) AS place"
        counted = [f"{unit}, {by} AS came, {ranked}", rows]
        kept = f"WHERE place <= {declared.rows_per_unit}"
    summed = f"SUM({_weight(stream, place)})"
    return " ".join(["SELECT", summed, "FROM (SELECT", *counted, ") AS counted", kept])


def _weight(stream: Stream, place: int) -> str:
    """Return the weight of a row by the day that it came to be: what is before the start came with it."""
    own = weights(stream.declared.releases)[: place + 1]
    cases = [
        f"WHEN came >= DATE '{stream.first_day(place - age).isoformat()}' THEN {weight}"
        for age, weight in enumerate(own[:-1])
        if weight != own[age + 1]
    ]
    otherwise = f"CAST({own[-1]} AS INTEGER)"
    whole = f"CASE {' '.join(cases)} ELSE {own[-1]} END" if cases else otherwise
    return f"GREATEST(0, LEAST({STEPS}, {whole}))"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
