"""One continual count as it is released: its periods, its noise and what it costs."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction

from sanql.account import Charge, GaussianEvent, gaussian_rho_lower
from sanql.canonical import canonical_text
from sanql.computed_once import computed_once
from sanql.continual.weights import weights
from sanql.errors import Refused
from sanql.mechanisms import DiscreteGaussian
from sanql.numbers import rational_text
from sanql.policy import (
    Continual,
    Neighbours,
    Table,
    first_day,
    period_after,
    period_of,
    table_form,
)

_BITS = 24


@dataclass(frozen=True)
class Stream:
    """A declared count, with the neighbours that its noise hides."""

    declared: Continual
    neighbours: Neighbours

    @computed_once
    def periods(self) -> tuple[str, ...]:
        """The names of all periods."""
        names = [self.declared.start]
        while len(names) < self.declared.releases:
            names.append(period_after(self.declared.per, names[-1]))
        return tuple(names)

    def place(self, period: str) -> int:
        """Return which period it is, from 0; a name that is none of them is refused."""
        if period not in self.periods:
            raise Refused(
                "period_unknown",
                f"{period[:20]!r} is none of the periods {self.periods[0]} to {self.periods[-1]} of"
                f" {self.declared.name}",
                "name one of these, or declare another count with later ones",
            )
        return self.periods.index(period)

    def place_before(self, day: date) -> int | None:
        """Return the last period that is over on a day; None where none is."""
        now = period_of(self.declared.per, day)
        over = [place for place, name in enumerate(self.periods) if name < now]
        return over[-1] if over else None

    def first_day(self, place: int) -> date:
        """Return the first day of a period."""
        return first_day(self.declared.per, self.periods[place])

    def last_day(self, place: int) -> date:
        """Return the last day of a period."""
        following = period_after(self.declared.per, self.periods[place])
        return first_day(self.declared.per, following) - timedelta(days=1)

    @computed_once
    def l2_squared(self) -> int:
        """How far one unit's whole history moves all releases together, squared (docs/continual.md)."""
        column = sum(weight * weight for weight in weights(self.declared.releases))
        sides = 2 if self.neighbours == "change-one" else 1
        return sides * self.declared.rows_per_unit**2 * column

    @computed_once
    def noise(self) -> DiscreteGaussian:
        """The noise of each release, the least that all of them together may have."""
        rho = gaussian_rho_lower(self.declared.epsilon, self.declared.delta)
        if rho <= 0:
            raise Refused(
                "continual_price",
                f"no noise keeps {self.declared.name} to its epsilon and delta",
                "raise one of them in the policy",
            )
        least = Fraction(self.l2_squared) / (2 * rho)
        finer = 2 ** max(0, _BITS - math.floor(math.log2(least)))
        return DiscreteGaussian(Fraction(math.ceil(least * finer), finer))

    @computed_once
    def charge(self) -> Charge:
        """What all releases cost; it is paid with the first."""
        event = GaussianEvent(self.noise.sigma2, Fraction(self.l2_squared))
        return Charge((event,), self.declared.epsilon, self.declared.delta)

    def digest(self, place: int, dataset: str, table: Table) -> str:
        """Return the name of a release: a hash of all that its price and its number rest on.

        Of the table that is what the policy declares of it, and of the columns that are read.
        """
        declared = self.declared
        told = {
            "by": declared.by,
            "dataset": dataset,
            "delta": rational_text(declared.delta),
            "epsilon": rational_text(declared.epsilon),
            "name": declared.name,
            "neighbours": self.neighbours,
            "of": declared.of,
            "per": declared.per,
            "period": self.periods[place],
            "place": place,
            "releases": declared.releases,
            "rows_per_unit": declared.rows_per_unit,
            "sigma2": rational_text(self.noise.sigma2),
            "start": declared.start,
            "table": declared.table,
            "weights": weights(declared.releases),
            "where": declared.where,
        }
        read = [
            name
            for name in table.columns
            if name == declared.by or name.lower() in (declared.where or "").lower()
        ]
        text = canonical_text(table_form(table, read)) + json.dumps(told, sort_keys=True)
        return hashlib.sha256(f"continual 1 {text}".encode()).hexdigest()
