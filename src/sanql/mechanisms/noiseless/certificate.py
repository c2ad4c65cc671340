"""What a certificate says: the guarantee, whom it is against, why, and under which assumptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sanql.mechanisms.noiseless.numbers import Number


@dataclass(frozen=True)
class Bound:
    """A rigorous upper bound of delta at an epsilon, and how it was computed."""

    delta_upper: float
    tiers: tuple[str, ...]


class Adversary(Protocol):
    """A declared class of adversaries for which an exact release has a delta at each epsilon."""

    @property
    def name(self) -> str:
        """The class in a few words."""

    @property
    def theorem(self) -> str:
        """The theorem used and its source."""

    @property
    def printed(self) -> str:
        """How the source's own statement differs, or an empty text."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Everything that must be true of the adversary, in words."""

    def bound(self, epsilon: Number) -> Bound:
        """Return the rigorous bound of delta at epsilon."""

    def rough_delta(self, epsilon: float) -> float:
        """Return delta at epsilon in floats, for searching only."""


@dataclass(frozen=True)
class NoiselessCertificate:
    """A distributional guarantee for one exact release, under the class it names."""

    epsilon: float
    delta_upper: float
    definition: str
    adversary: str
    theorem: str
    printed: str
    tiers: tuple[str, ...]
    assumptions: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the certificate for JSON."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta_upper,
            "definition": self.definition,
            "class": self.adversary,
            "theorem": self.theorem,
            "printed": self.printed,
            "tiers": list(self.tiers),
            "assumptions": list(self.assumptions),
        }

    def sentences(self) -> tuple[str, ...]:
        """Return the certificate for people."""
        return (
            f"({self.epsilon:.6g}, {self.delta_upper:.3g})-{self.definition} against: "
            f"{self.adversary}",
            f"by {self.theorem}",
            *([f"as printed: {self.printed}"] if self.printed else []),
            *(f"assumes: {assumption}" for assumption in self.assumptions),
        )
