"""Budgets, accounts as they stand, and what is left in the accounts that a question is charged to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from sanql.numbers import (
    number_lower,
    number_upper,
    parse_rational,
    rational_text,
    round_down_to_digits,
    show_lower,
    show_upper,
)
from sanql.theory.meaning import posterior_band
from sanql.visible import visible

AccountKind = Literal["dataset", "analyst", "coalition"]
LONG = (
    10**200
)  # a denominator beyond which a number is rounded, to the safe side, before it is sent
DIGITS_KEPT = 60
_TELLS_ALL = 500  # an epsilon beyond which nothing is kept from anybody


@dataclass(frozen=True)
class Budget:
    """The most that may ever be spent: an (epsilon, delta) guarantee, as exact numbers."""

    epsilon: Fraction
    delta: Fraction


def believed_after(spent: Budget, prior: float) -> tuple[float, float, float]:
    """Return the least and the greatest belief that a guarantee allows, and how likely it is left.

    >>> [round(part, 3) for part in believed_after(Budget(Fraction(1), Fraction(0)), 0.5)]
    [0.269, 0.731, 0.0]
    """
    epsilon, delta = number_upper(spent.epsilon), number_upper(spent.delta)
    failure = min(1e-3, 1000 * delta)
    if epsilon > _TELLS_ALL or delta >= 1:
        return 0.0, 1.0, failure
    return *posterior_band(prior, epsilon, delta, failure=failure), failure


@dataclass(frozen=True)
class Balance:
    """One account as it stands; `reserved` counts its open reservations.

    Where a dataset has several kinds of privacy unit, an account `protects` units of one of them.
    """

    account: str
    kind: AccountKind
    budget: Budget
    spent_upper: Budget
    remaining_lower: Budget
    reserved: int
    protects: str | None = None

    @property
    def named(self) -> str:
        """What account it is, in words."""
        whom = "" if self.protects is None else f" ({self.protects})"
        return f"{self.kind} {self.account}{whom}"

    def __str__(self) -> str:
        told = [
            f"{name} epsilon {show(pair.epsilon)}, delta {show(pair.delta)}"
            for name, pair, show in (
                ("budget", self.budget, show_lower),
                ("spent", self.spent_upper, show_upper),
                ("left", self.remaining_lower, show_lower),
            )
        ]
        return visible(f"{self.named}: {'; '.join(told)}")

    def to_dict(self) -> dict[str, Any]:
        """Return the account as plain data: numbers rounded to the safe side, and exact fractions."""
        whom = {} if self.protects is None else {"protects": self.protects}
        return whom | {
            "account": self.account,
            "kind": self.kind,
            "budget": _to_dict(self.budget, _down, number_lower),
            "spent_upper": spent_to_dict(self.spent_upper),
            "remaining_lower": _to_dict(self.remaining_lower, _down, number_lower),
            "reserved": self.reserved,
        }

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> Balance:
        """Return the account that `to_dict` wrote."""
        return cls(
            str(shape["account"]),
            shape["kind"],
            budget_from_dict(shape["budget"]),
            budget_from_dict(shape["spent_upper"]),
            budget_from_dict(shape["remaining_lower"]),
            int(shape["reserved"]),
            shape.get("protects"),
        )


def remaining_to_dict(balances: tuple[Balance, ...]) -> dict[str, Any]:
    """Return what is left in every account, and the least of it on top, rounded down."""
    accounts = {
        balance.named: {
            "epsilon": number_lower(balance.remaining_lower.epsilon),
            "delta": number_lower(balance.remaining_lower.delta),
        }
        for balance in balances
    }
    return {
        "epsilon": min(number_lower(balance.remaining_lower.epsilon) for balance in balances),
        "delta": min(number_lower(balance.remaining_lower.delta) for balance in balances),
        "accounts": accounts,
    }


def remaining_in_words(balances: tuple[Balance, ...]) -> str:
    """Return the least that is left, rounded down, with the account that has it."""
    scarce = min(balances, key=lambda balance: balance.remaining_lower.epsilon)
    other = min(balances, key=lambda balance: balance.remaining_lower.delta)
    epsilon = f"epsilon {show_lower(scarce.remaining_lower.epsilon)}"
    delta = f"delta {show_lower(other.remaining_lower.delta)}"
    if scarce.remaining_lower.delta == other.remaining_lower.delta:
        return f"left: {epsilon}, {delta} ({scarce.named})"
    return f"left: {epsilon} ({scarce.named}), {delta} ({other.named})"


def balances_from_dicts(shapes: Iterable[Mapping[str, Any]]) -> tuple[Balance, ...]:
    """Return accounts that were written one by one."""
    return tuple(map(Balance.from_dict, shapes))


def spent_to_dict(spent: Budget) -> dict[str, Any]:
    """Return what was spent as plain data: numbers rounded up, and exact fractions."""
    return _to_dict(spent, _up, number_upper)


def _to_dict(
    budget: Budget,
    shortened: Callable[[Fraction], Fraction],
    number: Callable[[Fraction], float],
) -> dict[str, Any]:
    return {
        "epsilon": number(budget.epsilon),
        "delta": number(budget.delta),
        "epsilon_exact": rational_text(shortened(budget.epsilon)),
        "delta_exact": rational_text(shortened(budget.delta)),
    }


def budget_from_dict(shape: Mapping[str, Any]) -> Budget:
    """Return an epsilon and delta that were written exactly."""
    return Budget(parse_rational(shape["epsilon_exact"]), parse_rational(shape["delta_exact"]))


def _down(value: Fraction) -> Fraction:
    """Return a number, or if it is long to write the next shorter one below it."""
    return round_down_to_digits(value, DIGITS_KEPT) if value.denominator > LONG else value


def _up(value: Fraction) -> Fraction:
    return -round_down_to_digits(-value, DIGITS_KEPT) if value.denominator > LONG else value
