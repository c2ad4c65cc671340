"""Which epsilon would help an answer that says nothing: found by pricing its question again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sanql.ask.rows_expected import rows_expected
from sanql.errors import Refused
from sanql.numbers import show_upper
from sanql.plan import Plan, half_width, price
from sanql.profile import Profile

TIMES = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
EPSILON_MAX = 100  # beyond it no answer is private in any sense that helps


@dataclass(frozen=True)
class AnswerPriced:
    """The plan of an answer, with what else its half-widths hang on."""

    plan: Plan
    confidence: Fraction
    profiles: Mapping[str, Profile]
    rows_guessed: int | None = None

    def helping(self, aggregate: int, wanted: Fraction) -> str:
        """Return in words which epsilon would bring a statistic's half-width to what is wanted.

        It is the least of a few multiples of the answer's own; nothing where none of them would, or where
        several levels share it.
        """
        plan = self.plan
        if plan.several or plan.outline.free:
            return ""
        level = plan.levels[0]
        if level.estimates[aggregate].width_in:
            return ""  # it is how many rows a quantile is off by
        over = rows_expected(level, self.profiles, self.rows_guessed)
        assumed = over.in_words if level.estimates[aggregate].needs_rows else ""
        for times in TIMES:
            epsilon = plan.within.epsilon * times
            if epsilon > EPSILON_MAX:
                break
            try:
                made = price(plan.outline, epsilon, plan.within.delta).levels[0]
            except Refused:
                continue  # its noise is still too large to be drawn
            width = half_width(made, aggregate, self.confidence, over.rows)
            if width is not None and width <= wanted:
                return (
                    f"with epsilon {show_upper(epsilon)} it would be ± {float(width):.3g}{assumed}"
                )
        return ""
