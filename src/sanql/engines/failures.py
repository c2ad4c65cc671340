"""The two ways in which an engine fails: before a row was read, and after."""

from __future__ import annotations

from sanql.errors import Unavailable


def unavailable() -> Unavailable:
    """Return the one error of failed execution, whose words do not depend on what happened."""
    return Unavailable(
        "unavailable",
        "the engine could not answer",
        "the charge stays; ask the data owner if it happens again",
    )


def not_ready() -> Unavailable:
    """Return the error of an engine that cannot begin: no row was read, and nothing was charged."""
    return Unavailable(
        "engine_not_ready",
        "the engine could not open the data",
        "nothing was charged: try again, and tell the data owner if it happens again",
    )
