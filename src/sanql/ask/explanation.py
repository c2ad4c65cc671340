"""What an answer will cost and how exact it will be, known before a row is read."""

from __future__ import annotations

import html
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sanql.account import Balance, Charge, epsilon_upper
from sanql.answer import (
    LEAST_PRICE,
    Display,
    price_in_words,
    remaining_in_words,
    remaining_to_dict,
    widened_half_width,
)
from sanql.ask.bounded_question import BoundedQuestion, whole_charge, with_bounds_certified
from sanql.certificate import Certificate, certify, certify_public, number_upper
from sanql.kernel import Statement
from sanql.mechanisms import appearance_probability
from sanql.numbers import show_upper
from sanql.plan import (
    Level,
    Plan,
    half_width,
)
from sanql.policy import Neighbours
from sanql.question import AggregateRef, PublicQuery
from sanql.visible import visible

GROUP_SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
ROWS_ASSUMED = 1000  # for averages, whose exactness depends on how many rows they are over


@dataclass(frozen=True)
class Expected:
    """The expected half-width of one column's interval; None where it depends on bounds not yet found."""

    column: str
    half_width: float | None
    note: str

    def in_words(self, confidence: str = "") -> str:
        """Return the half-width and what it depends on."""
        if self.half_width is None:
            return self.note
        return f"± {self.half_width:,.6g}{confidence}{self.note}"


@dataclass(frozen=True)
class LevelExplained:
    """One of several grouping sets: what it would cost by itself, at the delta of the whole."""

    name: str
    epsilon_upper: Fraction
    hidden: tuple[tuple[int, float], ...]
    statement: Statement

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "level": self.name,
            "epsilon_by_itself": number_upper(self.epsilon_upper),
            "selection": _selection(self.hidden),
            "sql": self.statement.sql,
            "parameters": [_plain(value) for value in self.statement.parameters],
        }


@dataclass(frozen=True, repr=False)
class Explanation:
    """The price, the noise and the guarantee of an answer that has not been asked for yet."""

    charge: Charge
    remaining: tuple[Balance, ...]
    fits: bool
    cached: bool
    confidence: Fraction
    expected: tuple[Expected, ...]
    hidden: tuple[tuple[int, float], ...]
    certificate: Certificate
    statement: Statement
    notes: tuple[str, ...] = ()
    levels: tuple[LevelExplained, ...] = ()
    after: tuple[Balance, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "charge": {
                "epsilon": number_upper(self.charge.epsilon),
                "delta": number_upper(self.charge.delta),
            },
            "remaining": remaining_to_dict(self.remaining),
            "fits": self.fits,
            "cached": self.cached,
            "confidence": float(self.confidence),
            "expected": [
                {
                    "column": expected.column,
                    "half_width": expected.half_width,
                    "note": expected.note,
                }
                for expected in self.expected
            ],
            "selection": _selection(self.hidden),
            "levels": [level.to_dict() for level in self.levels],
            "notes": list(self.notes),
            "certificate": self.certificate.to_dict(),
            "sql": self.statement.sql,
            "parameters": [_plain(value) for value in self.statement.parameters],
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if self.charge.epsilon == 0 and self.charge.delta == 0:
            return "price: nothing; the answer is exact, as nothing in it depends on anybody"
        lines = [self._price(), f"unit: {self.certificate.unit} ({self.certificate.neighbours})"]
        lines += [
            f"  {column.column}: {column.in_words(f' at {float(self.confidence):.4g}')}"
            for column in self.expected
        ]
        lines += (
            [f"  {self.certificate.limits_in_words}"] if self.certificate.limits_in_words else []
        )
        lines += [f"  {line}" for line in self.certificate.bounds_in_words()]
        lines += _appearing(self.hidden)
        for level in self.levels:
            lines.append(f"level {level.name}: epsilon {show_upper(level.epsilon_upper)} by itself")
            lines += _appearing(level.hidden)
        lines += [
            f"  {measurement['measures']}{_where(measurement)}: {measurement['mechanism']}"
            f"{_steps(measurement['grid'])}"
            for measurement in self.certificate.measurements
        ]
        lines += [f"  {note}" for note in self.notes]
        return visible("\n".join([*lines, str(self.certificate.meaning["words"])]), lines=True)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _price(self) -> str:
        price = f"price: {price_in_words(self.charge)}"
        if self.cached:
            return f"{price} (recorded already: free); {remaining_in_words(self.remaining)}"
        if self.after is not None:
            return f"{price}; then {remaining_in_words(self.after)}"
        fault = "" if self.fits else " (does not fit)"
        return f"{price}; {remaining_in_words(self.remaining)}{fault}"


def explanation_of(
    plan: Plan,
    statements: tuple[Statement, ...],
    confidence: Fraction,
    remaining: tuple[Balance, ...],
    cached: bool,
    fits: bool,
    display: Display,
    question: BoundedQuestion,
    after: tuple[Balance, ...] | None,
    raised: bool,
) -> Explanation:
    """Return the explanation of a plan, and of the bounds that it needs found."""
    several = plan.several
    certificate = certify(plan, display.in_words())
    return Explanation(
        charge=whole_charge(question, plan),
        remaining=remaining,
        fits=fits,
        cached=cached,
        confidence=confidence,
        expected=tuple(_expected(plan, confidence, display)),
        hidden=() if several else tuple(_hidden(plan.levels[0])),
        certificate=with_bounds_certified(certificate, plan, question),
        statement=_all_of(statements),
        notes=(
            *display.in_words(),
            *certificate.rows_left_out,
            *([f"the accuracy is had for {LEAST_PRICE}"] if raised else ()),
        ),
        levels=tuple(_levels(plan, statements)) if plan.several else (),
        after=after,
    )


def explanation_of_public(
    query: PublicQuery,
    sent: Statement,
    confidence: Fraction,
    remaining: tuple[Balance, ...],
    neighbours: Neighbours,
) -> Explanation:
    """Return the explanation of a question over public tables: rows as they are, for free."""
    certificate = certify_public(query, neighbours)
    return Explanation(
        charge=Charge((), certificate.epsilon, certificate.delta),
        remaining=remaining,
        fits=True,
        cached=False,
        confidence=confidence,
        expected=(),
        hidden=(),
        certificate=certificate,
        statement=sent,
    )


def _all_of(statements: tuple[Statement, ...]) -> Statement:
    """Return what is sent to the engine, one statement after the other."""
    return Statement(
        ";\n".join(sent.sql for sent in statements),
        tuple(value for sent in statements for value in sent.parameters),
        tuple(table for sent in statements for table in sent.public),
    )


def _levels(plan: Plan, statements: tuple[Statement, ...]) -> list[LevelExplained]:
    return [
        LevelExplained(
            name,
            epsilon_upper(level.charge.events, plan.charge.delta),
            tuple(_hidden(level)),
            sent,
        )
        for name, level, sent in zip(plan.names, plan.levels, statements, strict=True)
    ]


def _expected(plan: Plan, confidence: Fraction, display: Display) -> list[Expected]:
    expected = []
    for number, level in enumerate(plan.levels):
        name = f" in {plan.names[number]}" if plan.several else ""
        for output in level.query.outputs:
            if not isinstance(output.expression, AggregateRef):
                continue
            index = output.expression.index
            estimate = level.estimates[index]
            if not estimate.has_interval:
                continue
            width = half_width(level, index, confidence, ROWS_ASSUMED)
            assumed = f" if the group has {ROWS_ASSUMED:,} rows" if estimate.needs_rows else ""
            note = estimate.width_in or assumed
            note += _near_threshold(level, index)
            reach = widened_half_width(level, index, display, width or Fraction(0))
            expected.append(Expected(output.name, float(reach), name + note))
    return expected


def _near_threshold(level: Level, index: int) -> str:
    """Return what else is to be said of a width that rests on the count that selects keys.

    The interval of a count that is shown holds given that it is (mechanisms/appearing.py), so it reaches
    further down where the count is near the threshold; the half-width is that of counts far above.
    """
    measuring = level.outline.measuring
    if level.priced.threshold is None or level.outline.free or measuring.selection is None:
        return ""
    if measuring.selection not in level.estimates[index].measurements:
        return ""
    return (
        f" where the count of units is well above the threshold of {level.priced.threshold:,}; near it "
        "the interval reaches further down, as it holds given that the key appears"
    )


def _hidden(level: Level) -> list[tuple[int, float]]:
    """Return how likely groups of several sizes are to appear, where keys are selected."""
    selection = level.outline.measuring.selection
    threshold = level.priced.threshold
    if selection is None or threshold is None or level.outline.free:
        return []
    noise = level.noises[selection]
    chances = [(size, appearance_probability(noise, threshold, size)) for size in GROUP_SIZES]
    surely = next((i for i, (_, chance) in enumerate(chances) if chance > 1 - 1e-9), len(chances))
    return chances[: surely + 1]


def _selection(hidden: tuple[tuple[int, float], ...]) -> list[dict[str, Any]]:
    return [{"units": units, "probability_of_appearing": chance} for units, chance in hidden]


def _appearing(hidden: tuple[tuple[int, float], ...]) -> list[str]:
    return [
        f"  a group of {units} unit{'' if units == 1 else 's'} appears with probability {chance:.3g}"
        for units, chance in hidden
    ]


def _where(measurement: dict[str, object]) -> str:
    return f" in {measurement['level']}" if "level" in measurement else ""


def _steps(grid: object) -> str:
    return "" if grid in (1, None) else f", in steps of {grid}"


def _plain(value: object) -> object:
    if isinstance(value, list) and len(value) > 20:
        return [*map(_plain, value[:20]), f"… {len(value) - 20} more"]
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
