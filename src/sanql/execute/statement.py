"""A plan as one SQL statement whose result is the exact cells: keys and one integer a measurement.

Read the common table expressions from top to bottom:

    input     rows that count, with unit, keys and gridded values
    pairs     one row for each unit and group
    heavy     units in more groups than they may be, with the hash below which their groups stay
    kept      the pairs that stay
    crowded   units with more rows than may count
    sized     the number of rows of each pair that count
    rounded   the number of values of each pair that count
    bounded   each pair's contribution, scaled to that number
    cells     one row for each group

Quantiles take the rows that count leaf by leaf instead (leaves.py).

Which groups of a unit stay is decided by hashes of the unit's own keys under a secret drawn for
this answer. A unit keeps the groups whose hash is *strictly below* its (limit + 1)-th smallest, so
ties can only remove groups, never let one too many through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sanql.execute.draws import draw
from sanql.execute.group_keys import KeyWriter, listing, place
from sanql.execute.leaves import leaf_counts
from sanql.execute.measured_values import Layer, measured_value
from sanql.execute.messages import PublicTable
from sanql.execute.public_first import PublicTables
from sanql.execute.relations import RelationWriter
from sanql.execute.sources import Description, Source
from sanql.parse.shared import PublicQuery
from sanql.plan import Plan
from sanql.plan.keys import PublicKeys
from sanql.plan.measurements import Measured, Measurement
from sanql.policy import ColumnUnit, Table

CELL_LIMIT = 2**62  # where exact sums saturate; saturation only brings neighbours closer


@dataclass(frozen=True)
class Statement:
    """SQL with its parameters; columns k0… are keys, m0… measurements in the plan's order.

    `public` are the tables it reads besides the source's: made of public ones, and finished first.
    """

    sql: str
    parameters: tuple[object, ...]
    public: tuple[PublicTable, ...] = ()

    def in_full(self) -> str:
        """Return all that the engine is told, in order."""
        made = (f"CREATE TEMP TABLE {table.name} AS {table.sql};\n" for table in self.public)
        return "".join(made) + self.sql


def statement(plan: Plan, source: Description | Source, secret: int) -> Statement:
    """Return the statement that computes a plan's exact cells."""
    return _Writer(plan, source, secret).write()


def public_statement(
    query: PublicQuery, source: Description | Source, tables: Mapping[str, Table]
) -> Statement:
    """Return the statement that reads public tables as they are."""
    relations = RelationWriter(source, tables)
    columns = ", ".join(f"rows_in.c{index}" for index in range(query.width))
    order = ", ".join(
        f"rows_in.c{place.index} {'DESC' if place.descending else 'ASC'} "
        f"NULLS {'FIRST' if place.nulls_first else 'LAST'}"
        for place in query.order
    )
    sql = f"SELECT {columns} FROM ({relations.rows(query.rows)}) AS rows_in"
    sql += f" ORDER BY {order}" if order else ""
    sql += f" LIMIT {query.limit}" if query.limit is not None else ""
    sql += f" OFFSET {query.offset}" if query.offset else ""
    return Statement(sql, tuple(relations.emitter.parameters))


class _Writer:
    def __init__(self, plan: Plan, source: Description | Source, secret: int) -> None:
        self._plan = plan
        self._source = source
        self._table = plan.outline.table
        self._public = PublicTables()
        self._relations = RelationWriter(source, plan.outline.tables, public=self._public)
        self._emitter = self._relations.emitter
        self._group_keys = KeyWriter(plan, source, self._relations)
        self._parts: list[str] = []
        self._keys = [f"k{index}" for index in range(len(plan.query.keys))]
        self._secret = f"({secret})::BIGINT"
        self._limits = plan.outline.limits
        self._by_unit = isinstance(self._table.unit, ColumnUnit)

    def write(self) -> Statement:
        self._parts += self._group_keys.domains()
        if self._plan.outline.reads_no_rows:
            return self._zeros()
        self._write_input()
        if self._by_unit:
            self._write_pairs()
            self._write_bounded()
            self._write_cells("bounded")
        else:
            self._write_cells("input")
        for index, part in enumerate(self._plan.measurements):
            if part.kind is Measured.DISTINCT:
                self._write_distinct(index)
            if part.kind is Measured.PICKS:
                self._parts += leaf_counts(index, self._keys, self._secret, self._by_unit)
        sql = "WITH " + ",\n".join(self._parts) + "\n" + self._final()
        return Statement(sql, tuple(self._emitter.parameters), tuple(self._public.made))

    def _zeros(self) -> Statement:
        """Return the statement of cells that are all 0, without a private row."""
        keys = self._plan.outline.keys
        columns = [f"0::BIGINT AS m{index}" for index in range(len(self._plan.measurements))]
        rows = ""
        if isinstance(keys, PublicKeys):
            places = [place(keys, index) for index in range(len(keys.columns))]
            shown = [
                self._group_keys.shown(i, f"{at}.{name}") for i, (at, name) in enumerate(places)
            ]
            columns = [f"{key} AS k{index}" for index, key in enumerate(shown)] + columns
            rows = f" FROM {' CROSS JOIN '.join(dict.fromkeys(at for at, _ in places))}"
        listed = f"WITH {', '.join(self._parts)} " if self._parts else ""
        sql = f"{listed}SELECT {', '.join(columns) or '1 AS present'}{rows}"
        return Statement(sql, tuple(self._emitter.parameters), tuple(self._public.made))

    def _add(self, name: str, body: str) -> None:
        self._parts.append(f"{name} AS ({body})")

    def _write_input(self) -> None:
        query = self._plan.query
        self._relations.enter(query.source, query.where)
        unit = self._relations.unit(query.source)
        columns = [f"{unit} AS u"] if unit is not None else []
        columns += [f"{self._group_keys.grouped(key)} AS k{i}" for i, key in enumerate(query.keys)]
        layers: dict[str, tuple[Layer, ...]] = {}
        for index, part in enumerate(self._plan.measurements):
            if part.expression is not None and self._column_of(index) == index:
                value = measured_value(part, self._emitter, self._group_keys)
                columns.append(f"{value.text} AS x{index}")
                layers[f"x{index}"] = value.above
        listed = []
        keys = self._plan.outline.keys
        if isinstance(keys, PublicKeys):
            for index, column in enumerate(keys.columns):
                if column.filtered:
                    key = self._group_keys.grouped(query.keys[index])
                    listed.append(f"{key} IN (SELECT {listing(keys, index)})")
        for index, other in enumerate(self._plan.outline.beside):
            listed.append(
                f"{self._group_keys.grouped(other.key)} IN (SELECT v0 FROM beside{index})"
            )
        rows = self._relations.filtered(query.source, query.where, listed)
        text = f"SELECT {', '.join(columns) or 'TRUE AS present'} FROM {rows}"
        body = self._relations.once(text)
        cut = [f"{key} AS k{index}" for index, key in self._group_keys.shortened().items()]
        # around the rows, so that what a key or a value is made of is written once
        self._add("input", _layered(body, cut, layers))

    def _column_of(self, index: int) -> int:
        """Return the measurement whose column has this one's values: a sum's serves its count."""
        part = self._plan.measurements[index]
        if part.kind is Measured.VALUES:
            for other, summed in enumerate(self._plan.measurements):
                if summed.kind is Measured.SUM and summed.expression == part.expression:
                    return other
        return index

    def _write_pairs(self) -> None:
        columns = ["u", *self._keys, "system.main.count(*) AS n"]
        for index, part in enumerate(self._plan.measurements):
            if part.expression is None or part.kind in (Measured.DISTINCT, Measured.PICKS):
                continue
            if self._column_of(index) == index:
                columns.append(f"system.main.count(x{index}) AS v{index}")
            if part.kind is Measured.SUM:
                columns.append(f"coalesce(system.main.sum(x{index}), 0) AS s{index}")
        if self._limits_groups() or self._limits_rows_in_all():
            columns.append(f"{self._hash()} AS h")
        grouping = ", ".join(["u", *self._keys])
        body = f"SELECT {', '.join(columns)} FROM input GROUP BY {grouping}"
        # read twice where the rows of a unit are limited in all: once to find the crowded units
        once = "AS MATERIALIZED" if self._limits_rows_in_all() else "AS"
        if not self._limits_groups():
            self._parts.append(f"kept {once} ({body})")
            return
        groups = self._limits.groups
        self._parts.append(f"pairs AS MATERIALIZED ({body})")
        self._add("heavy", _thresholds("pairs", groups))
        self._parts.append(f"kept {once} (SELECT pairs.* FROM {_without('pairs', 'heavy')})")

    def _hash(self) -> str:
        return draw(self._secret, "u", *self._keys)

    def _limits_groups(self) -> bool:
        """Whether a unit could be in more groups than it may."""
        keys = self._plan.outline.keys
        if not self._keys:
            return False
        count = keys.count if isinstance(keys, PublicKeys) else None
        return count is None or count > self._limits.groups

    def _limits_rows_in_all(self) -> bool:
        """Whether the limit on all rows of a unit says more than the limit in one group."""
        limits = self._limits
        return limits.groups > 1 and limits.rows < limits.groups * limits.rows_per_group

    def _write_bounded(self) -> None:
        """Write how many rows `m` of each pair count, and counts and sums scaled to them.

        Whole numbers are made by a random rounding whose mean is the proportion: `r` is uniform
        below n, so (v * m + r) // n is v * m / n on average, and never above m or v. A sum follows
        the w values that count, so that averages keep their meaning: with `d` drawn once more,
        floor((s * w + d % v) / v) is s * w / v on average. v values between whole low and high add
        up to s between v * low and v * high, and adding less than v before rounding down passes no
        whole number above s * w / v but the next: it stays between w * low and w * high.
        """
        self._write_sized()
        drawn = "h" if self._limits_rows_in_all() or self._limits_groups() else self._hash()
        kinds = {part.kind for part in self._plan.measurements}
        rounding = ["*"]
        if kinds & {Measured.VALUES, Measured.SUM, Measured.PICKS}:
            rounding.append(f"CASE WHEN m < n THEN ({drawn} % n::UBIGINT)::BIGINT ELSE 0 END AS r")
        if Measured.SUM in kinds:
            rounding.append(f"CASE WHEN m < n THEN {draw(drawn)} END AS d")
        rounding += [f"{_counted(column)} AS w{column}" for column in self._weighed()]
        self._add("rounded", f"SELECT {', '.join(rounding)} FROM sized")
        columns = [*self._keys, *(f"w{column}" for column in self._weighed())]
        for index, part in enumerate(self._plan.measurements):
            if part.kind is Measured.ROWS:
                columns.append(f"m AS m{index}")
            elif part.kind is Measured.UNITS and part.expression is not None:
                columns.append(f"(v{index} > 0)::BIGINT AS m{index}")
            elif part.kind is Measured.SUM:
                scaled = _share(index, part.low + part.centre)
                text = f"CASE WHEN m < n THEN coalesce({scaled}, 0) ELSE s{index} END"
                if part.total is not None:
                    low, high = part.total
                    text = f"system.main.greatest({low}, system.main.least({high}, {text}))"
                columns.append(f"{text} AS m{index}")
        self._add("bounded", f"SELECT {', '.join(columns) or '1 AS present'} FROM rounded")

    def _weighed(self) -> list[int]:
        """Return the columns of values of which it matters how many count."""
        kinds = (Measured.VALUES, Measured.SUM)
        parts = enumerate(self._plan.measurements)
        return list(dict.fromkeys(self._column_of(i) for i, part in parts if part.kind in kinds))

    def _write_sized(self) -> None:
        """Write the rows of each pair that count: all, the most in a group, or a fair share.

        A crowded unit's rows are laid end to end in the order of its hashes, and every t/rows-th
        counts, from a random start: exactly `rows` in all, each pair its share on average.
        """
        most, rows = self._limits.rows_per_group, self._limits.rows
        size = f"system.main.least(n, {most})"
        if not self._limits_rows_in_all():
            self._add("sized", f"SELECT *, {size} AS m FROM kept")
            return
        self._add(
            "crowded",
            f"SELECT u, system.main.sum({size}) AS t FROM kept GROUP BY u HAVING t > {rows}",
        )
        order = ", ".join(["h", *self._keys])
        self._add(
            "laid",
            f"SELECT kept.*, t, {draw(self._secret, 'kept.u')} % t::UBIGINT AS start, "
            f"system.main.sum({size}) OVER (PARTITION BY kept.u ORDER BY {order} "
            "ROWS UNBOUNDED PRECEDING) AS upto FROM kept JOIN crowded ON kept.u = crowded.u",
        )
        start = "start::HUGEINT"
        share = f"(upto * {rows} + {start}) // t - ((upto - {size}) * {rows} + {start}) // t"
        self._add(
            "sized",
            f"SELECT kept.*, {size} AS m FROM kept ANTI JOIN crowded ON kept.u = crowded.u UNION ALL "
            f"SELECT * EXCLUDE (t, start, upto), ({share})::BIGINT AS m FROM laid",
        )

    def _write_cells(self, source: str) -> None:
        columns = list(self._keys)
        for index, part in enumerate(self._plan.measurements):
            if part.kind is not Measured.PICKS and part.of is None:
                columns.append(f"{self._total(index, part)} AS m{index}")
        grouping = f" GROUP BY {', '.join(self._keys)}" if self._keys else ""
        # an aggregate makes one row however many there are, also where nothing is measured
        listed = ", ".join(columns) or "system.main.count(*) * 0 AS present"
        self._add("cells", f"SELECT {listed} FROM {source}{grouping}")

    def _total(self, index: int, part: Measurement) -> str:
        if part.kind is Measured.DISTINCT:
            # by unit it is joined on later; an aggregate keeps this one row for each group
            return (
                "system.main.count(*) * 0"
                if self._by_unit
                else f"system.main.count(DISTINCT x{index})"
            )
        if part.kind is Measured.UNITS and part.expression is None:
            return "system.main.count(*)"
        if self._by_unit:
            counts = f"system.main.sum(w{self._column_of(index)})"
            if part.kind is Measured.VALUES:
                return counts
            return _less_centre(f"system.main.sum(m{index})", counts, part)
        match part.kind:
            case Measured.ROWS:
                return "system.main.count(*)"
            case Measured.VALUES:
                return f"system.main.count(x{self._column_of(index)})"
            case Measured.SUM:
                sums, counts = f"system.main.sum(x{index})", f"system.main.count(x{index})"
                return _less_centre(sums, counts, part)
            case _:
                raise AssertionError(f"{part.kind} are not added up here")

    def _write_distinct(self, index: int) -> None:
        """Count distinct values, at most `rows` of one unit over all the groups it keeps."""
        if not self._by_unit:
            return
        name, most = f"distinct{index}", self._limits.rows
        hashed = draw(self._secret, "u", *self._keys, f"x{index}")
        keys = "".join(f", {key}" for key in self._keys)
        self._parts.append(
            f"{name}_all AS MATERIALIZED ("
            f"SELECT u{keys}, x{index} AS x, {hashed} AS h FROM "
            f"(SELECT DISTINCT u{keys}, x{index} FROM input WHERE x{index} IS NOT NULL))"
        )
        kept = f"{name}_all"
        if self._limits_groups():
            same = " AND ".join(
                [
                    "a.u = kept.u",
                    *(f"a.{key} IS NOT DISTINCT FROM kept.{key}" for key in self._keys),
                ]
            )
            self._parts.append(
                f"{name}_kept AS MATERIALIZED (SELECT a.* FROM {kept} a SEMI JOIN kept ON {same})"
            )
            kept = f"{name}_kept"
        self._add(f"{name}_heavy", _thresholds(kept, most))
        grouping = f" GROUP BY {', '.join(self._keys)}" if self._keys else ""
        self._add(
            name,
            f"SELECT {''.join(key + ', ' for key in self._keys)}system.main.count(DISTINCT x) AS d "
            f"FROM {_without(kept, f'{name}_heavy')}{grouping}",
        )

    def _final(self) -> str:
        keys = self._plan.outline.keys
        source = "cells"
        key_columns = [f"cells.{key}" for key in self._keys]
        if isinstance(keys, PublicKeys):
            places = [place(keys, index) for index in range(len(keys.columns))]
            domains = " CROSS JOIN ".join(dict.fromkeys(place for place, _ in places))
            key_columns = [f"{place}.{column}" for place, column in places]
            same = " AND ".join(
                f"cells.k{i} IS NOT DISTINCT FROM {text}" for i, text in enumerate(key_columns)
            )
            source = f"{domains} LEFT JOIN cells ON {same}"
        columns = [
            f"{self._group_keys.shown(i, text)} AS k{i}" for i, text in enumerate(key_columns)
        ]
        for index, part in enumerate(self._plan.measurements):
            if part.of is not None:
                continue  # made of another measurement's cells once they are back
            if part.kind is Measured.PICKS:
                source += f" LEFT JOIN lists{index} ON {self._same(key_columns, f'lists{index}')}"
                columns.append(f"coalesce(lists{index}.leaves, []::BIGINT[]) AS l{index}")
                columns.append(f"coalesce(lists{index}.counts, []::BIGINT[]) AS m{index}")
                continue
            exact = f"cells.m{index}"
            if part.kind is Measured.DISTINCT and self._by_unit:
                exact = f"distinct{index}.d"
                same = self._same(key_columns, f"distinct{index}")
                source += f" LEFT JOIN distinct{index} ON {same}"
            cell = f"coalesce({exact}, 0)"
            if part.kind is Measured.SUM:
                cell = (
                    f"system.main.greatest(-{CELL_LIMIT}, system.main.least({CELL_LIMIT}, {cell}))"
                )
            columns.append(f"CAST({cell} AS BIGINT) AS m{index}")
        return f"SELECT {', '.join(columns) or '1 AS present'} FROM {source}"

    def _same(self, key_columns: list[str], table: str) -> str:
        """Return the condition that a row of a table belongs to a group."""
        pairs = zip(key_columns, self._keys, strict=True)
        return (
            " AND ".join(f"{ours} IS NOT DISTINCT FROM {table}.{key}" for ours, key in pairs)
            or "TRUE"
        )


def _layered(body: str, cut: Sequence[str], layers: Mapping[str, Sequence[Layer]]) -> str:
    """Return rows with columns replaced: each layer is written over the names of the one before."""
    depth = max(map(len, layers.values()), default=0)
    for level in range(max(depth, bool(cut))):
        made = [f"{above[level](x)} AS {x}" for x, above in layers.items() if level < len(above)]
        replaced = ", ".join([*cut, *made] if level == 0 else made)
        body = f"SELECT * REPLACE ({replaced}) FROM ({body})"
    return body


def _counted(column: int) -> str:
    """Return how many of a pair's values in a column count."""
    return f"CASE WHEN m < n THEN (v{column} * m + r) // n ELSE v{column} END"


def _share(index: int, low: int) -> str:
    """Return floor((s * w + d % v) / v), NULL where there are no values.

    The engine's own // goes toward zero, so it is asked for what the values are above their lowest.
    """
    sums, counted, values = f"s{index}", f"w{index}", f"v{index}"
    above = f"({sums} - {values}::HUGEINT * {low})" if low else sums
    drawn = f"(d % {values}::UBIGINT)::HUGEINT"
    share = f"({above}::HUGEINT * {counted} + {drawn}) // {values}"
    if low:
        share = f"{share} + {counted}::HUGEINT * {low}"
    return f"CASE WHEN {values} > 0 THEN {share} END"


def _less_centre(sums: str, counts: str, part: Measurement) -> str:
    """Return the sum of x - centre, from the sum and the number of x; once a cell is enough.

    A pair's sum scaled to w of its v values stays between w * low and w * high for whole bounds
    (`_write_bounded`), so the centred sum stays within its own.
    """
    if part.kind is not Measured.SUM or part.centre == 0:
        return sums
    return f"{sums} - {counts}::HUGEINT * {part.centre}"


def _thresholds(source: str, most: int) -> str:
    """Return the units with more than `most` rows here, and the hash below which `most` lie.

    Only the units that have too many are ranked, by a sort that may spill. (`min(h, n)` would keep
    the smallest hashes of every unit, however few it has, in memory that cannot.)
    """
    many = f"SELECT u FROM {source} GROUP BY u HAVING system.main.count(*) > {most}"
    ranked = (
        f"SELECT a.u, a.h, system.main.row_number() OVER (PARTITION BY a.u ORDER BY a.h) AS place "
        f"FROM {source} a SEMI JOIN ({many}) b ON a.u = b.u"
    )
    return f"SELECT u, h AS below FROM ({ranked}) WHERE place = {most + 1}"


def _without(source: str, heavy: str) -> str:
    """Return the rows of a table but those a unit has too many: at or above its threshold."""
    return f"{source} ANTI JOIN {heavy} ON {source}.u = {heavy}.u AND {source}.h >= {heavy}.below"
