"""What a query costs: its events, and the (epsilon, delta) they have been proved to satisfy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sanql.account.accountants.conversion import proves
from sanql.account.events import Event, event_from_dict, event_to_dict
from sanql.numbers import parse_rational, rational_text


@dataclass(frozen=True)
class Charge:
    """The price of one whole query; a charge that exists has had its claim proved.

    It is one of everybody's privacy unless it says whom alone it `protects`: the kinds of unit, in a
    dataset with several, that the query can tell anything of.

    >>> from sanql.account.events import LaplaceEvent
    >>> charge = Charge((LaplaceEvent(Fraction(10), 1, 1),), Fraction(1, 10), Fraction(0))
    >>> charge.to_dict()["epsilon"]
    '1/10'
    """

    events: tuple[Event, ...]
    epsilon: Fraction
    delta: Fraction
    protects: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if list(self.protects) != sorted(set(self.protects)):
            raise ValueError("a charge names each kind of unit once, in order")
        if not isinstance(self.epsilon, Fraction) or self.epsilon.numerator < 0:
            raise ValueError("a charge's epsilon must be a Fraction, at least 0")
        delta = self.delta
        if not isinstance(delta, Fraction) or not 0 <= delta.numerator < delta.denominator:
            raise ValueError("a charge's delta must be a Fraction from 0 to below 1")
        if not isinstance(self.events, tuple):
            raise ValueError("a charge's events must be a tuple")
        if not proves(self.events, self.epsilon, self.delta):
            raise ValueError(
                f"the events do not satisfy epsilon {self.epsilon} at delta {self.delta}"
            )

    def to_dict(self) -> dict[str, object]:
        """Return the charge in the ledger's words, numbers as exact "p/q"."""
        told: dict[str, object] = {
            "delta": rational_text(self.delta),
            "epsilon": rational_text(self.epsilon),
            "events": [event_to_dict(event) for event in self.events],
        }
        return told | ({"protects": list(self.protects)} if self.protects else {})

    def counts_for(self, kind: str | None) -> bool:
        """Return whether it is of the privacy of units of this kind; None stands for everybody."""
        return kind is None or not self.protects or kind in self.protects

    @classmethod
    def from_dict(cls, shape: Mapping[str, object]) -> Charge:
        """Return the charge these words describe; anything else is a ValueError."""
        match dict(shape):
            case {"delta": delta, "epsilon": epsilon, "events": list(events), **rest} if (
                rest.keys() <= {"protects"}
            ):
                parsed = tuple(event_from_dict(event) for event in events)
                whom = _kinds(rest["protects"]) if rest else ()
                return cls(parsed, parse_rational(epsilon), parse_rational(delta), whom)
            case _:
                raise ValueError(f"not a charge: {sorted(shape)}")


def total_charge(charges: Sequence[Charge]) -> Charge:
    """Return several charges as one: epsilons and deltas add up, for all whom any of them is about."""
    if len(charges) == 1:
        return charges[0]
    return Charge(
        tuple(event for charge in charges for event in charge.events),
        sum((charge.epsilon for charge in charges), Fraction(0)),
        sum((charge.delta for charge in charges), Fraction(0)),
        protected_by(charges),
    )


def protected_by(charges: Iterable[Charge]) -> tuple[str, ...]:
    """Return the kinds of unit that any of several charges is about; () where one is about everybody."""
    named = [charge.protects for charge in charges if charge.events]
    return () if () in named else tuple(sorted({kind for own in named for kind in own}))


def _kinds(shape: object) -> tuple[str, ...]:
    if not isinstance(shape, list) or not shape or not all(isinstance(k, str) for k in shape):
        raise ValueError("not the kinds of unit that a charge protects")
    return tuple(shape)
