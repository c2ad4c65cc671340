"""What each analyst, and everybody together, has been charged, summed when somebody asks.

Claims are summed as charges come. Losses wait: pure accounting never asks for them, and whoever
opens a ledger asks once for those of thousands of charges, which are then summed in one go. Nothing
that waits is forgotten, so a ledger whose accounting changes has the losses of its whole history.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from sanql.account.charge import Charge
from sanql.account.events import Event
from sanql.account.totals import Losses, Totals
from sanql.policy.model import Accounting

_NOTHING = (Fraction(0), Fraction(0))


class Tally:
    """The charges of a ledger as totals, for each analyst by name and for everybody as None."""

    def __init__(self) -> None:
        self._claims: dict[str | None, tuple[Fraction, Fraction]] = {}
        self._losses: dict[str | None, Losses] = {}
        self._waiting: dict[str, list[Event]] = {}

    @property
    def analysts(self) -> list[str]:
        """Everybody who has been charged, by name."""
        return sorted(name for name in self._claims if name is not None)

    def take(self, analyst: str, charge: Charge) -> None:
        """Count one more charge."""
        self._waiting.setdefault(analyst, []).extend(charge.events)
        for whose in (None, analyst):
            epsilon, delta = self._claims.get(whose, _NOTHING)
            self._claims[whose] = (
                epsilon + charge.epsilon,
                delta + charge.delta if charge.delta else delta,
            )

    def totals(self, analyst: str | None, accounting: Accounting) -> Totals:
        """Return what an analyst, or everybody, has been charged, as this accounting needs it."""
        claims = self._claims.get(analyst, _NOTHING)
        if accounting == "pure":
            return Totals(*claims, None)
        self._sum_up()
        return Totals(*claims, self._losses.get(analyst, Losses()))

    def together(self, analysts: Iterable[str], accounting: Accounting) -> Totals:
        """Return what these analysts have been charged together."""
        found = Totals(kept=None if accounting == "pure" else Losses())
        for analyst in analysts:
            if analyst in self._claims:
                found = found.merge(self.totals(analyst, accounting))
        return found

    def _sum_up(self) -> None:
        """Add the losses that wait to those of each analyst and of everybody."""
        if not self._waiting:
            return
        losses = dict(self._losses)
        for analyst, events in self._waiting.items():
            new = Losses.of_many(events)
            for whose in (None, analyst):
                losses[whose] = losses.get(whose, Losses()).merge(new)
        # In this order: an interrupt in between counts losses twice, the other way not at all.
        self._losses = losses
        self._waiting = {}
