"""Norms of units chosen by what is known of them, instead of by a rule (norms.py).

A profile tells how long units' rows are, with noise, and is public: so is a norm that is chosen by it. It
is enforced like any other, whatever the data are. Nothing else of a plan hangs on it, and it is no more
than limits make it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sanql.plan.level import LevelOutline
from sanql.plan.plan import Outline
from sanql.question import ColumnRef, Expr, Scan
from sanql.statistics import Measuring


@dataclass(frozen=True)
class KnownNorms:
    """Norms that lose few rows of a table: in L1, and in L2 over the groups of columns."""

    l1: int
    l2: Mapping[str, int]


def with_known_norms(outlined: Outline, known: Mapping[str, KnownNorms]) -> Outline:
    """Return an outline whose units have the norms that are known of the table that it reads."""
    return replace(
        outlined, levels=tuple(_level_with_known_norms(level, known) for level in outlined.levels)
    )


def _level_with_known_norms(level: LevelOutline, known: Mapping[str, KnownNorms]) -> LevelOutline:
    source = level.query.source
    norms = known.get(source.table) if isinstance(source, Scan) else None
    if norms is None or not isinstance(source, Scan):
        return level
    lengths = [norms.l2[name] for name in _columns(level.query.keys, source) if name in norms.l2]
    by_weights = level.by_weights and _with_norms(level.by_weights, norms.l1, lengths)
    measuring = _with_norms(level.measuring, norms.l1, lengths)
    return replace(level, measuring=measuring, by_weights=by_weights)


def _columns(keys: Sequence[Expr], source: Scan) -> list[str]:
    origins = [key.origin for key in keys if isinstance(key, ColumnRef) and key.origin is not None]
    return [column for table, column in origins if table == source.table]


def _with_norms(measuring: Measuring, l1: int, lengths: Sequence[int]) -> Measuring:
    """Return measurements with norms that are known, in L2 by any of their columns.

    Over several columns rows are in no fewer groups than over one of them, so no unit is longer; and none
    is longer in L2 than in L1.
    """
    norms = measuring.unit_norms
    if norms is None:
        return measuring
    total, _, squared = norms.setting.limits.row_norms
    l1 = min(total, l1)
    longest = min(squared, min(lengths) ** 2) if lengths else norms.l2_squared
    l2_squared = None if norms.l2_squared is None or longest is None else min(longest, l1**2)
    return replace(
        measuring, unit_norms=replace(norms, l1=l1, l2_squared=l2_squared, known=bool(lengths))
    )
