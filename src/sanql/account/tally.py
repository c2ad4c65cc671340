"""What each analyst, and everybody together, has been charged, summed when somebody asks.

Whoever opens a ledger asks once for the totals of thousands of charges, which are then summed in one
go. Losses are dear and wait apart from claims: pure accounting never asks for them. Nothing that
waits is forgotten, so a ledger whose accounting changes has the losses of its whole history.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce

from sanql.account.charge import Charge
from sanql.account.events import Event
from sanql.account.numbers import exact_sum
from sanql.account.totals import Losses, Totals
from sanql.policy.model import Accounting

_NO_CLAIMS = Totals(kept=None)


class Tally:
    """The charges of a ledger as totals, for each analyst by name and for everybody as None."""

    def __init__(self) -> None:
        self._claims: dict[str | None, Totals] = {}
        self._losses: dict[str | None, Losses] = {}
        self._charges: dict[str, list[Charge]] = {}  # whose claims wait to be summed
        self._events: dict[str, list[Event]] = {}  # whose losses wait to be summed

    @property
    def analysts(self) -> list[str]:
        """Everybody who has been charged, by name."""
        self._sum_claims()
        return sorted(name for name in self._claims if name is not None)

    def take(self, analyst: str, charge: Charge) -> None:
        """Count one more charge."""
        self._charges.setdefault(analyst, []).append(charge)

    def totals(self, analyst: str | None, accounting: Accounting) -> Totals:
        """Return what an analyst, or everybody, has been charged, as this accounting needs it."""
        self._sum_claims()
        claims = self._claims.get(analyst, _NO_CLAIMS)
        if accounting == "pure":
            return claims
        self._sum_losses()
        return replace(claims, kept=self._losses.get(analyst, Losses()))

    def together(self, analysts: Iterable[str], accounting: Accounting) -> Totals:
        """Return what these analysts have been charged together."""
        charged = (self.totals(analyst, accounting) for analyst in analysts)
        return reduce(
            Totals.merge, charged, Totals(kept=None if accounting == "pure" else Losses())
        )

    # Both sums are replaced before what waited is let go: an interrupt in between counts charges
    # twice, the other way round not at all.

    def _sum_claims(self) -> None:
        """Add the claims that wait to those of each analyst and of everybody."""
        if not self._charges:
            return
        claims = dict(self._claims)
        for analyst, charges in self._charges.items():
            new = Totals(
                exact_sum(charge.epsilon for charge in charges),
                exact_sum(charge.delta for charge in charges),
                None,
            )
            for whose in (None, analyst):
                claims[whose] = claims.get(whose, _NO_CLAIMS).merge(new)
        self._claims = claims
        for analyst, charges in self._charges.items():
            waiting = self._events.setdefault(analyst, [])
            waiting.extend(event for charge in charges for event in charge.events)
        self._charges = {}

    def _sum_losses(self) -> None:
        """Add the losses that wait to those of each analyst and of everybody."""
        if not self._events:
            return
        losses = dict(self._losses)
        for analyst, events in self._events.items():
            new = Losses.of_many(events)
            for whose in (None, analyst):
                losses[whose] = losses.get(whose, Losses()).merge(new)
        self._losses = losses
        self._events = {}
