"""What an attacker learned, next to what he would have learned without the person's data."""

from __future__ import annotations

from dataclasses import dataclass, field

from sanql.theory.definitions.finding import plain


@dataclass(frozen=True)
class Learned:
    """The result of one attack: a number in the real world, the same number in the ideal world.

    `measure` says what the number is; `details` holds what a person may want to look at.
    """

    attack: str
    measure: str
    real: object
    ideal: object
    details: dict[str, object] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """Return plain data."""
        return {
            "attack": self.attack,
            "measure": self.measure,
            "real": plain(self.real),
            "ideal": plain(self.ideal),
            "details": {name: plain(value) for name, value in self.details.items()},
        }

    def describe(self) -> str:
        """Return one sentence."""
        return (
            f"{self.attack}: {self.measure} is {self.real} in the real world, "
            f"{self.ideal} in the ideal one"
        )
