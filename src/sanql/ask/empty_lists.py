"""Lists of keys that a profile, or a guess, says will be empty are refused before anything is charged.

A key appears where its noisy count of units, or the noisy sum of their weights, reaches a threshold; no
key has more units than the table, and no unit weighs more than one; where the profile tells in how many
groups of the key units are, none weighs more than one over the root of these. The refusal rests on the
question, the policy, what its asker guesses and a profile that was charged for itself, so it tells
nothing more; who asks for the list all the same has it. A profile of an earlier version of the data
decides nothing.
"""

from __future__ import annotations

import math
from fractions import Fraction

from sanql.ask.request import Request
from sanql.ask.session import Session
from sanql.errors import Refused
from sanql.measurements import Measured
from sanql.mechanisms import appearance_probability
from sanql.plan import Level, Plan
from sanql.question import ColumnRef, Scan

GROUPS_EACH = 16
"""Of how many keys a unit is said to be as an example, beside one: a square, as weights are roots."""
UNSURE = Fraction(1, 1000)
"""How likely there may be more units than a list is refused by."""
CHANCE_LEAST = 0.01
"""With a smaller chance than this, the largest key that there can be is not expected to appear."""


def check_not_empty(session: Session, request: Request, plan: Plan) -> None:
    """Refuse a question whose every list of keys is expected to be empty, unless it is insisted on."""
    if request.options.even_if_empty or not plan.outline.selects_keys:
        return
    upper = [_least_upper(session, request, level) for level in plan.levels]
    if any(units is None for units in upper):
        return
    sure = [
        (level, units) for level, units in zip(plan.levels, upper, strict=True) if units is not None
    ]
    if all(_chance(level, units) < CHANCE_LEAST for level, (units, _) in sure):
        level, (_, known_by) = sure[0]
        raise Refused(
            "list_empty",
            f"no key is expected to appear: {_needs(level)}, and one has at most {known_by}",
            "let a unit count in fewer groups (max_groups_contributed), ask with a larger epsilon or "
            "coarser keys; or insist with even_if_empty, and pay for what may be no row",
        )


def _needs(level: Level) -> str:
    """Return how many units a key needs to appear as often as not."""
    selection, threshold = level.selection, level.priced.threshold
    assert selection is not None and threshold is not None  # noqa: S101  (its keys are selected)
    needed = threshold * selection.grid
    said = f"one needs about {math.ceil(needed):,} units"
    if selection.kind is not Measured.KEY_WEIGHTS:
        return said
    more = math.ceil(needed * math.isqrt(GROUPS_EACH))
    return f"{said} that have no other key, or {more:,} that have {GROUPS_EACH} keys each"


def _least_upper(session: Session, request: Request, level: Level) -> tuple[int, str] | None:
    """Return how many units a key has at most, or what all of them weigh, and in words who says so."""
    units = _units_upper(session, request, level)
    weights = _weights_upper(session, level)
    if weights is not None and (units is None or weights < units[0]):
        return weights, f"what {weights:,} of these weigh (profile of {level.outline.table.name})"
    return None if units is None else (units[0], f"{units[0]:,} ({units[1]})")


def _weights_upper(session: Session, level: Level) -> int | None:
    """Return what all units weigh at most in a key; None where no profile tells, or not all rows count.

    A unit in fewer groups weighs more in each of them, so under a condition on rows nothing is known.
    """
    selection, query = level.selection, level.query
    if selection is None or selection.groups_max is None or query.where is not None:
        return None
    if not isinstance(query.source, Scan) or len(query.keys) != 1:
        return None
    (key,), profile = query.keys, session.profiles.of_newest(query.source.table)
    if profile is None or not isinstance(key, ColumnRef) or not key.stored:
        return None
    return profile.weights_upper(key.name, selection.groups_max, UNSURE)


def _units_upper(session: Session, request: Request, level: Level) -> tuple[int, str] | None:
    """Return how many units a key of a level has at most, and who says so; None where nothing tells."""
    if not level.outline.selects_keys or level.outline.free:
        return None
    source, guessed = level.query.source, request.options.units_guessed
    profile = session.profiles.of_newest(source.table) if isinstance(source, Scan) else None
    known = None if profile is None else profile.units_upper(UNSURE)
    if guessed is not None and (known is None or guessed < known):
        return guessed, "by units_guessed"
    return None if known is None else (known, f"profile of {level.outline.table.name}")


def _chance(level: Level, units: int) -> float:
    """Return how likely a key of so many units that are in no other group is to appear."""
    selection, threshold = level.outline.measuring.selection, level.priced.threshold
    assert selection is not None and threshold is not None  # noqa: S101  (its keys are selected)
    most = int(units / level.measurements[selection].grid)
    return appearance_probability(level.noises[selection], threshold, most)
