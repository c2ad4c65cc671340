"""What an interrupted question had been charged, added to the interrupt as a note.

An interrupt in Python (Ctrl-C) and SIGTERM to the command stay what they are, and carry a note. Charges
are noted before they are reserved, so that no interrupt comes between a charge and its note: one that
comes while the ledger writes says that it does not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sanql.account import Charge

NOTHING = "interrupted; nothing was charged"
Stage = Literal["reserving", "charged", "answered"]


class Terminated(SystemExit):
    """What SIGTERM raises in the command, which then ends as after Ctrl-C."""


@dataclass
class Charging:
    """A charge, and how far it has come."""

    charge: Charge
    stage: Stage = "reserving"


_CHARGES: ContextVar[list[Charging] | None] = ContextVar("charges", default=None)


def charging(charge: Charge) -> Charging:
    """Remember a charge that is about to be reserved, and how far its question has come."""
    noted = Charging(charge)
    charges = _CHARGES.get()
    if charges is not None:
        charges.append(noted)
    return noted


@contextmanager
def noting_charges_on_interrupt() -> Iterator[None]:
    """Add to an interrupt what was charged in this block; nested blocks add it once."""
    if _CHARGES.get() is not None:
        yield
        return
    charges: list[Charging] = []
    token = _CHARGES.set(charges)
    try:
        yield
    except (KeyboardInterrupt, Terminated) as interrupt:
        interrupt.add_note(_in_words(charges))
        raise
    finally:
        _CHARGES.reset(token)


def _in_words(charges: list[Charging]) -> str:
    """Return what had been charged when the interrupt came."""
    if not charges:
        return NOTHING
    from fractions import Fraction

    from sanql.numbers import show_upper

    epsilon = sum((noted.charge.epsilon for noted in charges), Fraction(0))
    delta = sum((noted.charge.delta for noted in charges), Fraction(0))
    price = f"epsilon {show_upper(epsilon)} (delta {show_upper(delta)})"
    stages = {noted.stage for noted in charges}
    if "reserving" in stages:
        return f"interrupted; up to {price} may have been charged: `sanql ledger list` tells"
    charged = f"interrupted; the question had been charged {price}, and the charge stays"
    free = ": its answer is on record, and asking again is free"
    return charged + (free if stages == {"answered"} else "")
