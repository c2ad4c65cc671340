"""What whoever asks is told of faults that are not theirs, through every door."""

from __future__ import annotations

from sanql.errors import LedgerError, PolicyError, SanqlError, ServerError


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
