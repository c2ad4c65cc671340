"""Budgets, accounts as they stand, and what is left in the accounts that a question is charged to."""

from __future__ import annotations

import math
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
from sanql.theory.meaning import percent_down, percent_up, posterior_band
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


@dataclass(frozen=True)
class PacedBudget(Budget):
    """A budget of which each period opens a `tranche` of epsilon; all of it is what is promised."""

    tranche: Fraction
    per: str


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


def after_everything(balance: Balance, prior: float, and_what: str = "") -> str:
    """Return in words what somebody of this belief may hold after all that an account was told."""
    low, high, failure = believed_after(balance.spent_upper, prior)
    return (
        f"After everything that {balance.named} has been told{and_what}: {percent_down(low)} to"
        f" {percent_up(high)}" + (f", except with probability {failure:g}." if failure else ".")
    )


@dataclass(frozen=True)
class Balance:
    """One account as it stands; `reserved` counts its open reservations.

    `open` is how much of its epsilon tranches have opened so far, where the budget has such.
    Where a dataset has several kinds of privacy unit, an account `protects` units of one of them.
    """

    account: str
    kind: AccountKind
    budget: Budget
    spent_upper: Budget
    remaining_lower: Budget
    reserved: int
    protects: str | None = None
    open: Fraction | None = None

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
        return visible("; ".join([f"{self.named}: {'; '.join(told)}", *self.opened_in_words]))

    @property
    def opened_in_words(self) -> tuple[str, ...]:
        """What tranches have opened, in words; nothing where all of the budget is open."""
        match self.budget:
            case PacedBudget(tranche=tranche, per=per):
                opened = show_lower(self.open or Fraction(0))
                return (f"epsilon {opened} open, {show_lower(tranche)} a {per}",)
            case _:
                return ()

    def to_dict(self) -> dict[str, Any]:
        """Return the account as plain data: numbers rounded to the safe side, and exact fractions."""
        whom: dict[str, Any] = {} if self.protects is None else {"protects": self.protects}
        if isinstance(self.budget, PacedBudget):
            whom |= {
                "open_epsilon": number_lower(self.open or Fraction(0)),
                "open_epsilon_exact": rational_text(_down(self.open or Fraction(0))),
                "tranche_epsilon_exact": rational_text(self.budget.tranche),
                "per": self.budget.per,
            }
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
        budget, opened = budget_from_dict(shape["budget"]), None
        if "per" in shape:
            tranche = parse_rational(shape["tranche_epsilon_exact"])
            budget = PacedBudget(budget.epsilon, budget.delta, tranche, str(shape["per"]))
            opened = parse_rational(shape["open_epsilon_exact"])
        return cls(
            str(shape["account"]),
            shape["kind"],
            budget,
            budget_from_dict(shape["spent_upper"]),
            budget_from_dict(shape["remaining_lower"]),
            int(shape["reserved"]),
            shape.get("protects"),
            opened,
        )


def alerts_of(balances: Iterable[Balance], levels: Iterable[Fraction]) -> list[str]:
    """Return, each in words, the accounts of which a share is spent that is to be told of.

    A paced budget is told of by its newest tranche, too. Nothing is looked at but the accounts.
    """
    told = []
    for balance in balances:
        spent = balance.spent_upper.epsilon
        parts = [("its budget", spent, balance.budget.epsilon)]
        if isinstance(balance.budget, PacedBudget) and balance.open:
            tranche = min(balance.budget.tranche, balance.open)
            parts.append(("its newest tranche", spent - balance.open + tranche, tranche))
        for what, used, whole in parts:
            reached = [level for level in levels if whole and used >= level * whole]
            if reached:
                share = math.ceil(100 * used / whole)
                told.append(f"{balance.named}: {share} % of {what} is spent")
    return told


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
