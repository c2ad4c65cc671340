"""Few very large units below the noise of a profile: a norm is chosen as if they may be there."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sanql.mechanisms.noise import DiscreteLaplace
from sanql.plan.best_norm import Lengths, NormCost, best_norm
from sanql.plan.known_units import KnownUnits, lengths_over_groups
from sanql.plan.unit_spread import OCTAVES
from sanql.policy.model import Column, ColumnUnit, Table
from sanql.profile.hidden import hidden_units
from sanql.profile.histogram import SizeCounts
from sanql.profile.norms import lengths_hidden, lengths_of
from sanql.question import Query, Scan

SEEDED = np.random.default_rng(16)
SMALL = SEEDED.geometric(1 / 8, 2970)
LARGE = SEEDED.integers(150, 520, 30)  # one in a hundred, with three tenths of all rows
LIMIT, SCALE, EPSILON = 400, 4, 0.5
TABLE = Table("sales", ColumnUnit("who"), {"day": Column("day", "date")}, LIMIT, None, 12)
TABLES = {"sales": TABLE}


def counted(sizes: np.ndarray, rng: np.random.Generator) -> SizeCounts:
    """Return noisy counts as the rows of a profile at an epsilon of 2, for some columns, have them."""
    found = np.bincount(np.searchsorted(OCTAVES, sizes), minlength=len(OCTAVES))
    heads = 1 - math.exp(-1 / SCALE)
    noise = rng.geometric(heads, len(OCTAVES)) - rng.geometric(heads, len(OCTAVES))
    return SizeCounts(OCTAVES, tuple(map(int, found + noise)), DiscreteLaplace(Fraction(SCALE)))


def error(sizes: np.ndarray, norm: int, groups: int) -> float:
    """Return the error of a count in an average group, noise and what is lost, by hand."""
    lost = np.maximum(0, sizes - norm).sum() / groups
    return math.hypot(lost, math.sqrt(2) / EPSILON * norm)


def chosen(profile: SizeCounts, groups: int) -> int:
    known = KnownUnits(lengths_of(profile), hidden=lengths_hidden(profile))
    rows, _ = over_one_group(known)
    return best_norm(rows, NormCost(math.sqrt(2) / EPSILON, groups), LIMIT)


def over_one_group(known: KnownUnits) -> tuple[Lengths, Lengths]:
    query = Query(Scan(0, "sales", private=True), None, (), (), ())
    return lengths_over_groups(query, known, TABLES)


@pytest.mark.parametrize("groups", [1, 5, 12])
def test_large_units_in_the_noise_of_a_profile_make_no_answer_worse_than_none(groups: int) -> None:
    """Red where bins below noise are taken for empty: the norm of the others loses a quarter of rows."""
    rng, sizes = np.random.default_rng(3), np.concatenate([SMALL, LARGE])
    with_profile = [error(sizes, chosen(counted(sizes, rng), groups), groups) for _ in range(20)]
    assert np.median(with_profile) < 1.1 * error(sizes, LIMIT, groups)
    assert max(with_profile) < 1.5 * error(sizes, LIMIT, groups)


@pytest.mark.parametrize(("groups", "share"), [(1, 1.01), (5, 0.4), (12, 0.25)])
def test_where_there_are_none_answers_are_the_better_for_it(groups: int, share: float) -> None:
    """Red where as many are taken for granted as noise could hide."""
    rng = np.random.default_rng(4)
    errors = [error(SMALL, chosen(counted(SMALL, rng), groups), groups) for _ in range(20)]
    assert np.median(errors) < share * error(SMALL, LIMIT, groups)


def test_counts_weigh_guesses_of_how_many_are_hidden() -> None:
    noise = DiscreteLaplace(Fraction(SCALE))

    def hidden(*beyond: int) -> list[float]:
        counts = (0, 400, 300, 200, *beyond)
        return [round(each, 2) for each in hidden_units(SizeCounts(OCTAVES[:8], counts, noise), 4)]

    empty, some = hidden(0, 0, 0, 0), hidden(0, 0, 14, 9)
    assert max(empty) < 3 < some[2] < 14 and some[2] > 2 * empty[2]
    assert hidden(0, 0, 60, 0)[2] == pytest.approx(60, rel=0.15)  # beyond doubt
    assert hidden(-9, -9, -9, -9) == empty  # as far from any guess as from none


def test_no_more_rows_are_hidden_than_are_seen_where_noise_tells_nothing() -> None:
    """Twenty units of 2^19 rows are within noise, and would be all of the table."""
    counts = (0, 400, 300, 200) + (0,) * (len(OCTAVES) - 4)
    profile = SizeCounts(OCTAVES, counts, DiscreteLaplace(Fraction(32)))
    seen = sum(each.units * each.rows for each in lengths_of(profile))
    assert sum(each.units * each.rows for each in lengths_hidden(profile)) < 3 * seen
    assert max(each.rows for each in over_one_group(
        KnownUnits(lengths_of(profile), hidden=lengths_hidden(profile)))[0]) <= 2 * LIMIT  # fmt: skip


def test_nothing_is_promised_of_what_is_hidden() -> None:
    profile = counted(np.concatenate([SMALL, LARGE]), np.random.default_rng(3))
    rows = lengths_of(profile)
    assert KnownUnits(rows, hidden=lengths_hidden(profile)).units == KnownUnits(rows).units
