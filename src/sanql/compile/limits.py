"""Contribution limits as SQL: how many groups and rows of each unit count, and sums scaled to them.

    pairs     one row for each unit and group
    heavy     units in more groups than they may be, with the hash below which their groups stay
    kept      the pairs that stay
    crowded   units with more rows than may count
    sized     the number of rows of each pair that count
    rounded   the number of values of each pair that count
    bounded   each pair's contribution, scaled to that number

Which groups of a unit stay is decided by hashes of the unit's own keys under a secret drawn for
this answer. A unit keeps the groups whose hash is *strictly below* its (limit + 1)-th smallest, so
ties can only remove groups, never let one too many through.
"""

from __future__ import annotations

from collections.abc import Sequence

from sanql.compile.key_weights import key_weights
from sanql.compile.keyed_hash import keyed_hash
from sanql.compile.measured_values import value_column
from sanql.compile.quantile_bins import held_values
from sanql.compile.summaries import SummedRows
from sanql.measurements import Measured
from sanql.plan import Level, PublicKeys


class LimitWriter:
    """Writes the limits on what a unit of a level may add to its cells, over the relation `input`."""

    def __init__(
        self,
        level: Level,
        secret: str,
        summed: SummedRows | None = None,
        inputs: Sequence[str] = ("input",),
    ) -> None:
        """Write over rows one by one, or over rows that are `summed` up.

        Where there are several `inputs`, each has all rows of the units that it has.
        """
        self._inputs = inputs
        self._plan = level
        self._summed = summed
        self._keys = [f"k{index}" for index in range(len(level.query.keys))]
        self._secret = secret
        self._limits = level.outline.limits
        self._dropped = {  # the measurements for which rows and groups are dropped
            place: part for place, part in enumerate(level.computed) if part.norm is None
        }

    @property
    def drops(self) -> bool:
        """Whether some measurements are made of the rows and groups that are not dropped, or all are."""
        return not self._scales or any(
            part.of is None and part.kind not in (Measured.KEY_WEIGHTS, Measured.DISTINCT)
            for part in self._dropped.values()
        )

    @property
    def limits_groups(self) -> bool:
        """Whether a unit could be in more groups than it may."""
        keys = self._plan.outline.keys
        if not self._keys:
            return False
        count = keys.count if isinstance(keys, PublicKeys) else None
        return count is None or count > self._limits.groups

    @property
    def in_order(self) -> bool:
        """Whether the values of each pair are in ascending order before any is picked."""
        return self._summed is not None

    @property
    def _scales(self) -> bool:
        """Whether any measurement is bounded by norm."""
        return len(self._dropped) < len(self._plan.computed)

    def pairs(self) -> list[str]:
        """Return the pairs of units and groups that stay, as `kept`."""
        columns = ["u", *self._keys, f"{self._added('n', 'system.main.count(*)')} AS n"]
        for index, measurement in enumerate(self._plan.computed):
            if measurement.expression is None or measurement.kind is Measured.DISTINCT:
                continue
            if measurement.by_bins:
                held = self._added(f"b{index}", held_values(f"x{index}"))
                columns.append(f"{held} AS b{index}")
                continue
            if self._column(index) == index:
                counted = self._added(f"v{index}", f"system.main.count(x{index})")
                columns.append(f"{counted} AS v{index}")
            if measurement.kind is Measured.SUM:
                added = self._added(f"s{index}", f"system.main.sum(x{index})", "HUGEINT")
                columns.append(f"coalesce({added}, 0) AS s{index}")
        chooses = self.limits_groups or self._limits_rows_in_all()
        if self.drops and (chooses or self._weighs()):
            columns.append(f"{self._hash()} AS h")
        grouping = ""
        if self._summed is None or not self._summed.are_pairs:
            grouping = f" GROUP BY {', '.join(['u', *self._keys])}"
        listed = ", ".join(columns)
        body = " UNION ALL ".join(f"SELECT {listed} FROM {each}{grouping}" for each in self._inputs)
        # read twice where the rows of a unit are limited in all: once to find the crowded units
        once = "AS MATERIALIZED" if self._limits_rows_in_all() else "AS"
        if not self.drops:
            return [f"pairs AS ({body})"]
        if self._scales and not self.limits_groups:
            return [f"pairs AS MATERIALIZED ({body})", "kept AS (SELECT * FROM pairs)"]
        if not self.limits_groups:
            return [f"kept {once} ({body})"]
        return [
            f"pairs AS MATERIALIZED ({body})",
            f"heavy AS ({_thresholds('pairs', self._limits.groups)})",
            f"kept {once} (SELECT pairs.* FROM {_without('pairs', 'heavy')})",
        ]

    def _added(self, column: str, of_rows: str, kind: str = "BIGINT") -> str:
        """Return what a pair's rows add up to, where some of them have been added up already."""
        if self._summed is None:
            return of_rows
        return column if self._summed.are_pairs else f"system.main.sum({column})::{kind}"

    def weights(self, groups_max: int) -> list[str]:
        """Return the weights by which keys are selected, of at most `groups_max` groups of each unit."""
        if groups_max == self._limits.groups and self.drops:
            return key_weights(self._keys, "kept")
        return [
            f"spread_out AS ({_thresholds('pairs', groups_max)})",
            f"counted AS (SELECT pairs.* FROM {_without('pairs', 'spread_out')})",
            *key_weights(self._keys, "counted"),
        ]

    def by_row(self, source: str, *beside: str) -> str:
        """Return rows of units that no limit binds, each as a pair of its own, and nobody's.

        They have columns that are `beside` those of a question.
        """
        columns = [*self._keys, *beside, "1 AS n"]
        if self._summed is not None:
            listed = [*self._keys, *beside, *self._summed.beside]
            return f"SELECT {', '.join(listed)} FROM {source}"
        for index, part in enumerate(self._plan.computed):
            if part.expression is None or part.by_bins:
                continue
            if self._column(index) == index:
                columns.append(f"(x{index} IS NOT NULL)::BIGINT AS v{index}")
            if part.kind is Measured.SUM:
                columns.append(f"coalesce(x{index}, 0) AS s{index}")
        return f"SELECT {', '.join(columns)} FROM {source}"

    def bounded(self, small: str | None = None) -> list[str]:
        """Return how many rows `m` of each pair count, and counts and sums scaled to them.

        Whole numbers are made by a random rounding whose mean is the proportion: `r` is uniform
        below n, so (v * m + r) // n is v * m / n on average, and never above m or v. A sum follows
        the w values that count, so that averages keep their meaning: with `d` drawn once more,
        floor((s * w + d % v) / v) is s * w / v on average. v values between whole low and high add
        up to s between v * low and v * high, and adding less than v before rounding down passes no
        whole number above s * w / v but the next: it stays between w * low and w * high.
        """
        drawn = "h" if self._limits_rows_in_all() or self.limits_groups else self._hash()
        kinds = {measurement.kind for measurement in self._dropped.values()}
        rounding = ["*"]
        by_bins = any(measurement.by_bins for measurement in self._dropped.values())
        if by_bins or kinds & {Measured.VALUES, Measured.SUM}:
            rounding.append(f"CASE WHEN m < n THEN ({drawn} % n::UBIGINT)::BIGINT ELSE 0 END AS r")
        if Measured.SUM in kinds:
            rounding.append(f"CASE WHEN m < n THEN {keyed_hash(drawn)} END AS d")
        rounding += [f"{_counted(column)} AS w{column}" for column in self._weighed()]
        columns = [*self._keys, *(f"w{column}" for column in self._weighed())]
        whole = [*self._keys, *(f"v{column}" for column in self._weighed())]
        for index, measurement in self._dropped.items():
            if measurement.kind is Measured.ROWS:
                columns.append(f"m AS m{index}")
                whole.append("n")
            elif measurement.kind is Measured.UNITS and measurement.expression is not None:
                columns.append(f"(v{index} > 0)::BIGINT AS m{index}")
            elif measurement.kind is Measured.SUM:
                scaled = _share(index, measurement.low + measurement.centre)
                text = f"CASE WHEN m < n THEN coalesce({scaled}, 0) ELSE s{index} END"
                if measurement.total is not None:
                    low, high = measurement.total
                    text = f"system.main.greatest({low}, system.main.least({high}, {text}))"
                columns.append(f"{text} AS m{index}")
                whole.append(f"s{index}")
        bounded = f"SELECT {', '.join(columns) or '1 AS present'} FROM rounded"
        if small is not None:  # of which all rows count
            bounded += f" UNION ALL SELECT {', '.join(whole) or '1'} FROM ({small})"
        return [
            *self._sized(),
            f"rounded AS (SELECT {', '.join(rounding)} FROM sized)",
            f"bounded AS ({bounded})",
        ]

    def _column(self, index: int) -> int:
        return value_column(self._plan.computed, index)

    def _hash(self) -> str:
        return keyed_hash(self._secret, "u", *self._keys)

    def _weighs(self) -> bool:
        """Whether keys are selected by weights."""
        return any(part.kind is Measured.KEY_WEIGHTS for part in self._dropped.values())

    def _limits_rows_in_all(self) -> bool:
        """Whether the limit on all rows of a unit says more than the limit in one group."""
        limits = self._limits
        return limits.groups > 1 and limits.rows < limits.groups * limits.rows_per_group

    def _weighed(self) -> list[int]:
        """Return the columns of values of which it matters how many count."""
        kinds = (Measured.VALUES, Measured.SUM)
        return list(
            dict.fromkeys(
                self._column(i)
                for i, measurement in self._dropped.items()
                if measurement.kind in kinds
            )
        )

    def _sized(self) -> list[str]:
        """Return the rows of each pair that count: all, the most in a group, or a fair share.

        A crowded unit's rows are laid end to end in the order of its hashes, and every t/rows-th
        counts, from a random start: exactly `rows` in all, each pair its share on average.
        """
        most, rows = self._limits.rows_per_group, self._limits.rows
        size = f"system.main.least(n, {most})"
        if not self._limits_rows_in_all():
            return [f"sized AS (SELECT *, {size} AS m FROM kept)"]
        order = ", ".join(["h", *self._keys])
        laid = (
            f"SELECT kept.*, t, {keyed_hash(self._secret, 'kept.u')} % t::UBIGINT AS start, "
            f"system.main.sum({size}) OVER (PARTITION BY kept.u ORDER BY {order} "
            "ROWS UNBOUNDED PRECEDING) AS upto FROM kept JOIN crowded ON kept.u = crowded.u"
        )
        start = "start::HUGEINT"
        share = f"(upto * {rows} + {start}) // t - ((upto - {size}) * {rows} + {start}) // t"
        sized = (
            f"SELECT kept.*, {size} AS m FROM kept ANTI JOIN crowded ON kept.u = crowded.u UNION ALL "
            f"SELECT * EXCLUDE (t, start, upto), ({share})::BIGINT AS m FROM laid"
        )
        return [
            f"crowded AS (SELECT u, system.main.sum({size}) AS t FROM kept GROUP BY u "
            f"HAVING t > {rows})",
            f"laid AS ({laid})",
            f"sized AS ({sized})",
        ]


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
