"""What an analyst asks of an answer besides its content: as typed, and as it is used."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sanql.account import Charge, parse_epsilon
from sanql.errors import Refused
from sanql.parse import Question
from sanql.plan import Outlined, Planned, least_epsilon
from sanql.plan.wishes import (
    CONFIDENCE,
    check_least,
    parse_accuracy,
    parse_confidence,
    parse_nonnegative,
    parse_other,
    parse_rounded,
)
from sanql.policy import ColumnUnit, Policy, Table
from sanql.release.finding import (
    Bounded,
    check_bounds_known,
    less_bounds,
)
from sanql.release.finish import Finish

Number = str | int | float | Fraction


@dataclass(frozen=True)
class Wishes:
    """What an analyst asks of the answer besides its content, as typed."""

    epsilon: Number | None = None
    delta: Number | None = None
    accuracy: object = None
    confidence: Number | None = None
    max_groups_contributed: int | str | None = None
    other: str | None = None
    nonnegative: bool | None = None
    rounded: Number | None = None
    fresh: bool = False


def one(name: str, in_text: str | None, passed: Any) -> Any:
    """Return an option given in the question or beside it; two different ones are refused."""
    if in_text is not None and passed is not None and str(passed) != in_text:
        raise Refused(
            "option_twice",
            f"{name} is {in_text} in the question and {str(passed)[:40]} beside it",
            "give it once",
        )
    return passed if passed is not None else in_text


def finish_of(question: Question, wishes: Wishes) -> Finish:
    """Return what is asked to be done to noisy values, in the question or beside it."""
    typed = question.options
    finish = Finish(
        parse_other(one("other", typed.other, wishes.other)),
        parse_nonnegative(
            one("nonnegative", _upper(typed.nonnegative), _upper(wishes.nonnegative))
        ),
        parse_rounded(one("rounded", typed.rounded, wishes.rounded)),
    )
    if finish.rounded is not None and wishes.accuracy is not None:
        raise Refused(
            "rounded_and_accuracy",
            "accuracy asks for narrow intervals, and rounded widens them",
            "give epsilon with rounded, or round by hand: ROUND(COUNT(*), -1)",
        )
    return finish


def _upper(typed: object) -> str | None:
    return None if typed is None else str(typed).upper()


def check_unit(table: Table, named: str | None) -> None:
    unit = getattr(table.unit, "column", None)
    if named is not None and (unit is None or named.lower() != unit.lower()):
        raise Refused(
            "unit_differs",
            f"privacy_unit_column={named} is not the privacy unit of {table.name}",
            "leave it out: the owner's policy decides the unit",
        )


def confidence_of(wishes: Wishes) -> Fraction:
    """Return the confidence of the intervals: as asked, else the accuracy's, else 0.95."""
    if wishes.confidence is not None:
        return parse_confidence(wishes.confidence)
    if wishes.accuracy is not None:
        return parse_accuracy(wishes.accuracy, None).confidence
    return parse_confidence(CONFIDENCE)


def epsilon_of(
    outlined: Outlined,
    typed: Number | None,
    delta: Fraction,
    wishes: Wishes,
    bounded: Bounded,
    least: Fraction,
) -> Fraction:
    """Return what the question itself may cost: its epsilon less the price of bounds it needs.

    An accuracy that needs less than the least that a question costs is had for that.
    """
    if outlined.free and typed is None:
        return Fraction(1)  # nothing is charged and nothing is noisy: any number does
    if typed is not None and wishes.accuracy is not None:
        raise Refused(
            "epsilon_and_accuracy",
            "epsilon and accuracy are both given",
            "give one: accuracy finds the least epsilon by itself",
        )
    if typed is not None:
        return less_bounds(parse_epsilon(typed), bounded)
    if wishes.accuracy is not None:
        check_bounds_known(bounded)
        wanted = parse_accuracy(wishes.accuracy, wishes.confidence)
        return max(least, least_epsilon(outlined, delta, wanted))
    raise Refused(
        "epsilon_needed",
        "the question does not say what it may cost",
        "pass --epsilon 0.1 or epsilon=0.1, say, or an accuracy to reach",
    )


def check_price(policy: Policy, charge: Charge, bounded: Bounded) -> None:
    """Refuse a question that would be charged less, in all, than the policy's least."""
    found = sum((each.search.plan.charge.epsilon for each in bounded.found), Fraction(0))
    check_least(charge.epsilon, policy.epsilon_per_query_min, found)


def raised_to_least(policy: Policy, wishes: Wishes, planned: Planned) -> bool:
    """Return whether an accuracy is had for the least that a question costs, perhaps for less."""
    least = policy.epsilon_per_query_min
    return wishes.accuracy is not None and planned.charge.epsilon == least


def check_groups(table: Table, asked: int | None) -> None:
    """Refuse more groups than the policy lets count, rather than hold the question to fewer."""
    most, rows = table.groups_per_unit_max, table.rows_per_unit_max
    if asked is None or most is None or rows is None or not isinstance(table.unit, ColumnUnit):
        return
    if asked > most and most < rows:  # no unit is in more groups than it has rows
        raise Refused(
            "groups_above_policy",
            f"max_groups_contributed = {asked} is more than the {most} groups of one unit that the "
            f"policy lets count in {table.name}",
            f"ask with at most {most}, or leave it out",
        )
