"""When San's rows without noise and DuckDB's are the same, and the ways they may differ on purpose.

Real numbers agree up to the steps in which San adds them up; everything else agrees exactly. A
fixture names every other difference by one of these rules:

- *every public key appears*: San also shows the groups that no row is in, with counts and sums of 0
  and everything else NULL.
- *rows without a public key are left out*: DuckDB has a group for NULL, San has not.
- *an empty sum is 0*: DuckDB says NULL.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

Row = tuple[Any, ...]
Rows = list[Row]

EVERY_KEY = "every public key appears"
NO_KEY = "rows without a public key are left out"
EMPTY_SUM = "an empty sum is 0"
DIFFERENCES = frozenset({EVERY_KEY, NO_KEY, EMPTY_SUM})


def disagreement(
    ours: Rows, theirs: Rows, keys: Sequence[int], ordered: bool, differences: Sequence[str]
) -> str:
    """Return in what two results differ, or nothing; `keys` are the columns that are group keys.

    A difference that is named must be there, so that none is claimed in vain.
    """
    unknown = set(differences) - DIFFERENCES
    if unknown:
        return f"there is no rule {unknown}"
    ours, theirs = _plain(ours), _plain(theirs)
    seen = set()
    if EVERY_KEY in differences:
        known = {_key(row, keys) for row in theirs}
        empty = [row for row in ours if _key(row, keys) not in known and _is_empty(row, keys)]
        ours = [row for row in ours if row not in empty]
        seen |= {EVERY_KEY} if empty else set()
    if NO_KEY in differences:
        without = [row for row in theirs if any(row[place] is None for place in keys)]
        theirs = [row for row in theirs if row not in without]
        seen |= {NO_KEY} if without else set()
    if not ordered:
        ours, theirs = sorted(ours, key=_order), sorted(theirs, key=_order)
    if EMPTY_SUM in differences and len(ours) == len(theirs):
        filled = [tuple(map(_or_zero, a, b)) for a, b in zip(theirs, ours, strict=True)]
        seen |= {EMPTY_SUM} if filled != theirs else set()
        theirs = filled
    idle = set(differences) - seen
    if idle:
        return f"nothing differs in the way of {idle}"
    return "" if _same(ours, theirs) else f"San: {ours}\nDuckDB: {theirs}"


def _same(ours: Rows, theirs: Rows) -> bool:
    return len(ours) == len(theirs) and all(
        len(a) == len(b) and all(map(_equal, a, b)) for a, b in zip(ours, theirs, strict=True)
    )


def _plain(rows: Rows) -> Rows:
    return [tuple(map(_value, row)) for row in rows]


def _value(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if type(value) is date:
        return datetime(value.year, value.month, value.day)
    return value


def _key(row: Row, keys: Sequence[int]) -> Row:
    return tuple(row[place] for place in keys)


def _is_empty(row: Row, keys: Sequence[int]) -> bool:
    return all(value is None or value == 0 for place, value in enumerate(row) if place not in keys)


def _or_zero(theirs: Any, ours: Any) -> Any:
    return 0 if theirs is None and ours == 0 else theirs


def _order(row: Row) -> str:
    return repr([f"{value:.5g}" if isinstance(value, int | float) else value for value in row])


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, bool) is not isinstance(b, bool):
        return False
    if isinstance(a, float) or isinstance(b, float):
        return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-3)
    return bool(a == b)
