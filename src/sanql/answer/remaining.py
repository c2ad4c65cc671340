"""What is left in the accounts that a question is charged to, and which of them binds."""

from __future__ import annotations

from typing import Any

from sanql.account import Balance
from sanql.certificate import number_lower
from sanql.numbers import show_lower


def remaining_to_dict(balances: tuple[Balance, ...]) -> dict[str, Any]:
    """Return what is left in every account, and the least of it on top, rounded down."""
    accounts = {
        f"{balance.kind} {balance.account}": {
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


def _named(balance: Balance) -> str:
    return f"{balance.kind} {balance.account}"
