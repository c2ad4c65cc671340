"""How many distinct values of a unit count, chosen privately: what is chosen from, and the scores.

For each l of the public `choices`, q_l is how many (group, value) pairs are taken in all groups together
where a unit may take l (docs/distinct_values.md). A larger l misses less and has more noise, so q_l less
a public penalty p_l is compared: the more, the better. To choose the largest as it is would need noise
for the largest l. So l is scored by its worst comparison, each in steps of what one unit can do to it
(Raskhodnikova & Smith 2016, the generalised exponential mechanism; Knop & Steinke 2023 count so):

    s(l) = min over l' of ((q_l - p_l) - (q_l' - p_l')) / w(l, l')

with w(l, l') = max(l, l') for add-remove neighbours, and l + l' for change-one. *No score moves by more
than 1.* With one unit more q_l grows by 0 to l, and q_l' by 0 to l': their difference moves by at most
max(l, l'). Where a unit changes, one is taken away and one added, so q_l moves by at most l either way,
and the difference by at most l + l'. Penalties are the same on both sides; a minimum of functions that
move by at most 1 moves by at most 1; and rounding down to parts of 1 turns a move of at most a whole
number of parts into such a one. The largest of noisy scores is taken, as for quantiles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from sanql.measurements.quantile_picks import ROW
from sanql.measurements.sensitivity import Sensitivity
from sanql.policy import Neighbours

GROUPS_GUESSED = 16  # where it is not known how many there are
_SCORE_MIN = -(2**61)  # what is worse is as bad


def value_choices(most: int) -> tuple[int, ...]:
    """Return the numbers of values of a unit to choose from: powers of two, and the most there can be.

    >>> value_choices(10)
    (1, 2, 4, 8, 10)
    """
    return (*(2**power for power in range((most - 1).bit_length())), most)


def sensitivity_of_choice() -> Sensitivity:
    """Return how far one unit moves any score, in parts of ROW: by one."""
    return Sensitivity(ROW, ROW, ROW**2)


def choice_penalties(
    choices: Sequence[int], scale: Fraction, noise_of_one: float, groups: int | None
) -> list[int]:
    """Return what each choice must find more than none to be worth it, in parts of ROW.

    That is the noise of l values in all groups, and l times what keeps noise from choosing it by chance:
    where all choices find the same, l scores about `scale` (1 + ln l) less than the best, and so its
    chance is about 1/l of what it would be. An unlucky choice of much too much noise is as rare as that.
    """
    known = GROUPS_GUESSED if groups is None else groups
    return [
        math.ceil(most * (float(scale) * (1 + math.log(most)) + ROW * known * noise_of_one))
        for most in choices
    ]


def choice_scores(
    totals: Sequence[int],
    choices: Sequence[int],
    penalties: Sequence[int],
    neighbours: Neighbours,
    parts: int = ROW,
) -> list[int]:
    """Return the score of each choice, in parts of one; `totals` are what each of them finds.

    >>> choice_scores([100, 101, 101], [1, 2, 4], [5, 10, 20], "add-remove", parts=1)
    [0, -2, -4]
    """
    worth = [parts * total - penalty for total, penalty in zip(totals, penalties, strict=True)]
    apart = max if neighbours == "add-remove" else _both
    return [
        max(
            _SCORE_MIN,
            min(
                (own - other) // apart(most, less)
                for other, less in zip(worth, choices, strict=True)
            ),
        )
        for own, most in zip(worth, choices, strict=True)
    ]


def _both(one: int, other: int) -> int:
    return one + other
