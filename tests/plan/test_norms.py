"""How well rows are counted where units have many rows in many groups: by norm, and by dropping.

The data are events like those of planes at destinations: some thousand units, few with very many rows,
each with places of its own. Errors are worked out from the plan's own numbers, without an engine: what
limits take away, and what noise adds on average.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from sanql.measurements.limits import ContributionLimits
from sanql.parse import parse
from sanql.plan.level import Level
from sanql.plan.norms import norm_of
from sanql.plan.plan import outline, price
from sanql.policy.model import Column, ColumnUnit, ListedDomain, Table

PLACES = 104
UNITS = 4043
Counts = NDArray[np.int64]


def flights() -> Counts:
    """Return how many rows each unit has in each place: 330,000 in all, some 600 of one unit at most."""
    rng = np.random.default_rng(1)
    sizes = rng.gamma(0.75, 1, UNITS)
    rows = np.clip(sizes / sizes.sum() * 336_776, 1, 600).astype(int)
    common = 1 / (np.arange(PLACES) + 4)
    own = [rng.dirichlet(8 * common / common.sum() + 1e-9) for _ in range(UNITS)]
    return np.array([rng.multinomial(n, share) for n, share in zip(rows, own, strict=True)])


def planned(groups: int | None, *, dropping: bool, delta: str = "1e-8") -> Level:
    domain = ListedDomain(tuple(f"{n:03}" for n in range(PLACES)))
    columns = {"place": Column("place", "text", domain=domain)}
    table = Table("flights", ColumnUnit("plane"), columns, 256, None, groups)
    sql = "SELECT place, COUNT(*) FROM flights GROUP BY place"
    outlined = outline(parse(sql, {"flights": table}).query, {"flights": table}, "add-remove")
    if dropping:
        (level,) = outlined.levels
        level = replace(level, measuring=replace(level.measuring, unit_norms=None))
        outlined = replace(outlined, levels=(level,))
    return price(outlined, Fraction("0.5"), Fraction(delta)).levels[0]


def mean_error(level: Level, counts: Counts) -> float:
    """Return the mean absolute error of a count: what limits take and what noise adds, on average."""
    (part,) = level.measurements
    rng = np.random.default_rng(2)
    if part.norm is None:
        limits = level.outline.limits
        drawn = np.where(counts > 0, rng.random(counts.shape), 2.0)
        kept = np.where(drawn.argsort(axis=1).argsort(axis=1) < limits.groups, counts, 0)
        factor = np.minimum(1, limits.rows / np.maximum(1, kept.sum(axis=1)))
        left = kept * factor[:, None]
    else:
        norm = math.sqrt(part.norm.bound) if part.norm.order == 2 else part.norm.bound
        lengths = np.linalg.norm(counts, part.norm.order, axis=1)
        left = counts * np.minimum(1, norm / lengths)[:, None]
    deviation = level.noises[0].standard_deviation / part.scale
    noise = rng.normal(0, deviation, (300, PLACES))  # its shape hardly matters
    return float(np.abs(left.sum(axis=0) - counts.sum(axis=0) + noise).mean())


@pytest.mark.slow
@pytest.mark.parametrize("groups", [4, 16])
def test_counts_of_events_err_far_less_than_where_groups_are_dropped(groups: int) -> None:
    counts = flights()
    by_norm = mean_error(planned(groups, dropping=False), counts)
    assert by_norm < 753  # what a norm of 64 with Gaussian noise was found to have
    assert by_norm < mean_error(planned(groups, dropping=True), counts) / (2 if groups == 4 else 1)


def test_noise_is_that_of_the_norm_and_no_more_than_of_limits() -> None:
    for delta in ("0", "1e-8", "1e-3"):
        by_norm, dropping = (planned(None, dropping=d, delta=delta) for d in (False, True))
        deviation = by_norm.noises[0].standard_deviation / by_norm.measurements[0].scale
        assert deviation <= dropping.noises[0].standard_deviation * (1 + 1e-6)


@pytest.mark.parametrize(
    ("limits", "norm", "squared"),
    [
        (ContributionLimits(104, 256, 256), 256, 6428),  # between 256 and 256 / sqrt 104
        (ContributionLimits(1, 256, 256), 256, 256**2),  # one group: there is nothing in between
        (ContributionLimits(4, 40, 10), 40, 400),  # as many in each group: likewise
    ],
)
def test_the_norm_follows_from_limits_alone(
    limits: ContributionLimits, norm: int, squared: int
) -> None:
    assert norm_of(limits, 1, limits.groups) == norm
    assert norm_of(limits, 2, limits.groups) == pytest.approx(squared, rel=1e-3)
