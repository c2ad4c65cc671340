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
)

AccountKind = Literal["dataset", "analyst", "coalition"]
LONG = (
    10**200
)  # a denominator beyond which a number is rounded, to the safe side, before it is sent
DIGITS_KEPT = 60


@dataclass(frozen=True)
class Budget:
    """The most that may ever be spent: an (epsilon, delta) guarantee, as exact numbers."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True)
class Balance:
    """One account as it stands; `reserved` counts its open reservations."""

    account: str
    kind: AccountKind
    budget: Budget
    spent_upper: Budget
    remaining_lower: Budget
    reserved: int

    def to_dict(self) -> dict[str, Any]:
        """Return the account as plain data: numbers rounded to the safe side, and exact fractions."""
        return {
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
        )


def remaining_to_dict(balances: tuple[Balance, ...]) -> dict[str, Any]:
    """Return what is left in every account, and the least of it on top, rounded down."""
    accounts = {
        _named(balance): {
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
        return f"left: {epsilon}, {delta} ({_named(scarce)})"
    return f"left: {epsilon} ({_named(scarce)}), {delta} ({_named(other)})"


def balances_from_dicts(shapes: Iterable[Mapping[str, Any]]) -> tuple[Balance, ...]:
    """Return accounts that were written one by one."""
    return tuple(map(Balance.from_dict, shapes))


def spent_to_dict(spent: Budget) -> dict[str, Any]:
    """Return what was spent as plain data: numbers rounded up, and exact fractions."""
    return _to_dict(spent, _up, number_upper)


def _named(balance: Balance) -> str:
    return f"{balance.kind} {balance.account}"


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
