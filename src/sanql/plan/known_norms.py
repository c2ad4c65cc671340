"""Norms and limits of units chosen by what is known of them, instead of by a rule (norms.py).

A profile tells how long units' rows are, with noise, and is public: so is what is chosen by it. It is
enforced like any other norm or limit, whatever the data are; nothing else of a plan hangs on it, and it
is no more than limits make it. best_norm.py says which is chosen, at the price of the question.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sanql.account import gaussian_rho_lower
from sanql.measurements import Measured, Measurement, OwnNorm, UnitNorms, sensitivity_of_key_weights
from sanql.plan.average_norms import norms_of_averages
from sanql.plan.best_norm import (
    DIFFERENCE_OF_AVERAGE,
    DIFFERENCE_OF_RANKS,
    NormCost,
    best_norm,
)
from sanql.plan.chosen_values import groups_known
from sanql.plan.keys import OneGroup, PrivateKeys, PublicKeys, keys_of
from sanql.plan.known_units import (
    KnownUnits,
    average_size,
    grouped_columns,
    groups_left,
    lengths_over_groups,
    private_table,
    spread_of_values,
    spread_out,
)
from sanql.plan.level import LevelOutline
from sanql.plan.norms import counted_rows
from sanql.plan.plan import Outline
from sanql.plan.relative_weights import weighed_by_sizes
from sanql.policy import Budget
from sanql.question import AggregateRef, Call, ColumnRef, Expr, Query, conjuncts
from sanql.statistics import CHOSEN_ABOVE, Estimate, Measuring

DELTA_TYPICAL = Fraction(1, 10**9)  # where a question has none, and no Gaussian noise either
SMALL = 8  # times as far apart as an average value is large are the bounds of small ones
UNITS_PER_VALUE = 16  # so many more units than values: one value of each finds them all
RANKS_OFF = 4
"""How many times as far as a noisy count a picked value is off, in rows."""
_COUNTED = (Measured.ROWS, Measured.VALUES, Measured.SUM)
_RANKED = (Measured.PICKS, Measured.LADDER)


@dataclass(frozen=True)
class ChosenLimits:
    """Limits as a question could have stated them; None where it is better without."""

    groups: int | None = None
    rows: int | None = None
    values: int | None = None


NO_LIMITS = ChosenLimits()


def with_known_norms(outlined: Outline, known: Mapping[str, KnownUnits], price: Budget) -> Outline:
    """Return an outline whose units have the norms that suit what is known of the table that it reads."""
    levels = []
    for level in outlined.levels:
        units = _known_of(level.query, known)
        levels.append(level if units is None else _with_norms_of(level, units, price))
    return replace(outlined, levels=tuple(levels))


def limits_by_profile(
    outlined: Outline, known: Mapping[str, KnownUnits], price: Budget
) -> ChosenLimits:
    """Return limits that suit what is known, of what is bounded by dropping: none where several are."""
    level = outlined.levels[0]
    units = _known_of(level.query, known)
    if units is None or len(outlined.levels) > 1 or level.other:
        return NO_LIMITS
    return ChosenLimits(
        _groups(level, units, price), _rows(level, units, price), _values(level, units)
    )


def _known_of(query: Query, known: Mapping[str, KnownUnits]) -> KnownUnits | None:
    return known.get(private_table(query) or "")


def _with_norms_of(level: LevelOutline, units: KnownUnits, price: Budget) -> LevelOutline:
    measuring = _with_norms(level, level.measuring, units, price)
    by_weights = level.by_weights and _with_norms(level, level.by_weights, units, price)
    if by_weights is not None:
        by_weights = _weighing_groups(level, by_weights, units)
    return replace(level, measuring=measuring, by_weights=by_weights)


def _weighing_groups(level: LevelOutline, measuring: Measuring, units: KnownUnits) -> Measuring:
    """Return weights of no more groups than units are in: the threshold of keys falls with them.

    Lengths are about as many as the largest units seen have: half as many again are as good as all.
    """
    longest = [units.most_groups(name) for name in grouped_columns(level.query)]
    if len(longest) < len(level.query.keys) or not all(longest):
        return measuring
    most = math.prod(math.ceil(3 * each / 2) for each in longest)
    parts = tuple(
        replace(
            part,
            groups_max=most,
            sensitivity=sensitivity_of_key_weights(most, level.neighbours),
        )
        if part.groups_max is not None and most < part.groups_max
        else part
        for part in measuring.measurements
    )
    return replace(measuring, measurements=parts)


def _with_norms(
    level: LevelOutline, measuring: Measuring, units: KnownUnits, price: Budget
) -> Measuring:
    norms = measuring.unit_norms
    if norms is None:
        return measuring
    total, _, squared = norms.setting.limits.row_norms
    counted = counted_rows(measuring)
    rows, over_groups = lengths_over_groups(level.query, units, level.tables, counted)
    costs = [_cost(level, measuring, units, price, order) for order in (1, 2)]
    l1 = best_norm(rows, costs[0], total)
    chosen = replace(norms, l1=l1, taken_l1=costs[0].taken(rows, l1))
    if norms.l2_squared is not None and over_groups:
        l2 = best_norm(over_groups, costs[1], max(1, math.isqrt(squared)))
        chosen = replace(
            chosen, l2_squared=min(squared, l2**2), taken_l2=costs[1].taken(over_groups, l2)
        )
    elif norms.l2_squared is not None:
        chosen = replace(chosen, l2_squared=min(norms.l2_squared, l1**2))
    chosen = _with_own(chosen, level, measuring, units, costs)
    averages = norms_of_averages(chosen, level.query, level.tables, measuring, units, costs)
    found = replace(measuring, unit_norms=replace(chosen, averages=averages))
    return found if units.accuracy_asked else weighed_by_sizes(found)


def _with_own(
    norms: UnitNorms,
    level: LevelOutline,
    measuring: Measuring,
    units: KnownUnits,
    costs: Sequence[NormCost],
) -> UnitNorms:
    """Return norms with those of sums by themselves: of as many rows as suit, of an average value.

    No row is dropped for such a sum, and rows of small values count for little: more rows than limits
    name may fit into what these could add.
    """
    own = []
    for part in measuring.measurements:
        size = average_size(part.expression, level.query, units)
        if part.kind is not Measured.SUM or part.expression is None or not size:
            continue
        step = max(1, math.ceil(size / part.grid))
        lengths = lengths_over_groups(level.query, units, level.tables, part.expression)
        values = spread_of_values(part.expression, level.query, units)
        by_rows, over_groups = (spread_out(each, values) for each in lengths)
        cost, cost_l2 = (replace(each, means=False) for each in costs)
        l1 = best_norm(by_rows, cost)
        l2 = best_norm(over_groups, cost_l2) if over_groups else None
        own.append(
            OwnNorm(
                part.expression,
                l1 * step,
                None if l2 is None else (l2 * step) ** 2,
                step,
                cost.taken(by_rows, l1),
                (1.0, 0.0) if l2 is None else cost_l2.taken(over_groups, l2),
            )
        )
    return replace(norms, own=tuple(own))


def _cost(
    level: LevelOutline, measuring: Measuring, units: KnownUnits, price: Budget, order: int
) -> NormCost:
    parts = sum(not part.sensitivity.zero for part in measuring.measurements)
    groups = groups_known(level) or groups_left(level.query, units, level.tables)
    means = _shows_means(level.query, measuring)
    cost = NormCost(_deviation(price, order, max(1, parts)), max(1, groups), means)
    apart = [
        DIFFERENCE_OF_AVERAGE * float(size / (part.size * part.grid))
        for part in measuring.measurements
        if (size := average_size(part.expression, level.query, units)) and part.kind is Measured.SUM
    ]
    if any(part.kind in _RANKED for part in measuring.measurements):
        apart.append(DIFFERENCE_OF_RANKS)
    return replace(cost, difference=max(apart)) if means and apart else cost


def _deviation(price: Budget, order: int, parts: int) -> float:
    """Return the deviation of the noise of a norm of one, where so many numbers are measured."""
    if order == 1:
        return math.sqrt(2) * parts / float(price.epsilon)
    rho = gaussian_rho_lower(price.epsilon, price.delta or DELTA_TYPICAL)
    return math.sqrt(parts / (2 * float(rho))) if rho else math.inf


def _shows_means(query: Query, measuring: Measuring) -> bool:
    """Return whether all numbers of an answer are means or quantiles of rows, or quotients of counts."""
    shown = [output.expression for output in query.outputs]
    return bool(measuring.estimates) and all(
        _is_mean(each, measuring) for each in [*shown, *conjuncts(query.having)]
    )


def _is_mean(expression: Expr, measuring: Measuring) -> bool:
    match expression:
        case AggregateRef(index):
            estimate = measuring.estimates[index]
            return estimate.needs_rows or _kinds(measuring, estimate) <= {*_RANKED}
        case Call("divide", (above, below)) if _has_number(above) and _has_number(below):
            return True
        case Call(args=arguments):
            return all(_is_mean(each, measuring) for each in arguments)
        case _:
            return True


def _has_number(expression: Expr) -> bool:
    match expression:
        case AggregateRef():
            return True
        case Call(args=arguments):
            return any(map(_has_number, arguments))
        case _:
            return False


def _kinds(measuring: Measuring, estimate: Estimate) -> set[Measured]:
    return {measuring.measurements[place].kind for place in estimate.measurements}


def _rows(level: LevelOutline, units: KnownUnits, price: Budget) -> int | None:
    """Return how many rows of a unit should count where there are no groups, or of quantiles by keys."""
    measured = level.measuring.measurements
    by_norm = all(part.kind is Measured.SUM for part in measured)
    ranked = all(part.kind in _RANKED for part in measured)
    if (
        not (isinstance(level.keys, OneGroup) or (ranked and isinstance(level.keys, PublicKeys)))
        or by_norm
        or any(part.kind not in _COUNTED + _RANKED or part.total is not None for part in measured)
    ):
        return None
    lengths, _ = lengths_over_groups(level.query, units, level.tables)
    cost = _cost(level, level.measuring, units, price, 1)
    sums = [part for part in measured if part.kind is Measured.SUM]
    if cost.means and sums and all(_is_small(part, level.query, units) for part in sums):
        return None  # sums have norms of their own, and rows with them
    if any(part.kind in _RANKED for part in measured):
        cost = replace(cost, deviation=RANKS_OFF * cost.deviation)
    return best_norm(lengths, cost, level.limits.rows)


def _is_small(part: Measurement, query: Query, units: KnownUnits) -> bool:
    """Return whether values are known to be small beside their bounds."""
    size = None if units.accuracy_asked else average_size(part.expression, query, units)
    return size is not None and 0 < SMALL * size <= (part.high - part.low) * part.grid


def _groups(level: LevelOutline, units: KnownUnits, price: Budget) -> int | None:
    """Return in how many groups of a column a unit should be counted.

    Of keys that are selected only where nothing but units is shown: what selects them has its own limit.
    """
    columns, measuring = grouped_columns(level.query), level.measuring
    shown = set[Measured]().union(*(_kinds(measuring, each) for each in measuring.estimates))
    match level.keys:
        case PublicKeys():
            counted = any(part.kind is Measured.UNITS for part in measuring.measurements)
        case PrivateKeys():
            counted = shown == {Measured.UNITS}
        case OneGroup():
            counted = False
    if len(level.query.keys) != 1 or not counted:
        return None
    lengths = units.groups.get(columns[0]) if columns else None
    if not lengths:
        return None
    return best_norm(lengths, _cost(level, level.measuring, units, price, 1), level.limits.groups)


def _values(level: LevelOutline, units: KnownUnits) -> int | None:
    """Return how many distinct values of a unit should count, where so few do that it need not be chosen.

    One is enough where there are public values, and far more units than these. None is needed beyond what
    units have, where groups do not tell them apart.
    """
    counted = [
        part.expression
        for part in level.measuring.measurements
        if part.choices and part.expression is not None
    ]
    found = [_values_of(each, level, units) for each in counted]
    enough = [values for values in found if values is not None]
    return max(enough) if enough and len(enough) == len(found) else None


def _values_of(counted: Expr, level: LevelOutline, units: KnownUnits) -> int | None:
    keys, groups = keys_of((counted,), level.tables), groups_known(level)
    public = keys.count if isinstance(keys, PublicKeys) else None
    if public and groups and UNITS_PER_VALUE * public * groups <= units.units:
        return 1
    match counted:
        case ColumnRef(origin=(table, column)) if (
            table == private_table(level.query) and groups == 1
        ):
            most = max(
                (math.ceil(each.length) for each in units.groups.get(column, ())), default=None
            )
            return most if most and most <= CHOSEN_ABOVE else None
        case _:
            return None
