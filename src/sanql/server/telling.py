"""What whoever asks is told of faults that are not theirs, through every door."""

from __future__ import annotations

from typing import Literal

from sanql.errors import LedgerError, PolicyError, SanqlError, ServerError

_REMEDIES = {
    "wire": {
        "epsilon_needed": "SET sanql.epsilon = 0.1, or write SELECT WITH DIFFERENTIAL_PRIVACY "
        "OPTIONS(epsilon=0.1) …, or SET sanql.accuracy = '2% of 10000'",
        "parameter_missing": "bind a value to it, or write the constant",
    },
    "web": {
        "epsilon_needed": "write a number into Epsilon, 0.1 say, or into Accuracy how exact it has to be",
        "parameter_missing": "write the constant in its place",
    },
}


def remedy_at(door: Literal["wire", "web"], error: SanqlError) -> str:
    """Return what helps against an error, in the words of the door where it is met."""
    return _REMEDIES[door].get(error.code, error.remedy)


def internal() -> ServerError:
    """Return the one answer to a fault of San's own; what it was is nowhere told."""
    return ServerError(
        "internal",
        "the server has met a fault of its own",
        "tell whoever runs it, with the number of the request",
    )


def told_to_analysts(error: SanqlError) -> SanqlError:
    """Return an error as analysts are told it."""
    return account_unusable(error) if isinstance(error, LedgerError | PolicyError) else error


def account_unusable(error: SanqlError) -> LedgerError:
    """Return what analysts are told where the account or the policy is at fault: not where it is kept."""
    return LedgerError(
        error.code,
        "the account of this dataset cannot be used at present; nothing is answered from it",
        "try again in a while, and tell whoever runs the server if it lasts",
    )
