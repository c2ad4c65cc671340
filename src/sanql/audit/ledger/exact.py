"""The auditor's own reading of the book of exact releases, from the records' plain words."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from sanql.numbers import show_upper


@dataclass(frozen=True)
class VerifiedExact:
    """One exact release as the auditor found it; `state` is answered, refused, failed or open."""

    name: str
    table: str
    column: str | None
    cells: int
    epsilon: Fraction
    delta: Fraction
    record: int
    state: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data; epsilon and delta are rounded up."""
        rounded = {
            "epsilon": float(show_upper(self.epsilon)),
            "delta": float(show_upper(self.delta)),
        }
        return asdict(self) | rounded


@dataclass
class ExactAudit:
    """The exact releases seen so far, each with its newest record."""

    latest: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    states: dict[int, str] = field(default_factory=dict)
    formerly: dict[str, str] = field(default_factory=dict)  # sources as 0.1.0 called them

    def take(self, sequence: int, body: dict[str, Any]) -> str | None:
        """Take a release; return what is wrong with it after the ones before, or None."""
        epsilon, delta = Fraction(body["epsilon"]), Fraction(body["delta"])
        if not (epsilon >= 0 and 0 < delta < 1 and body["cells"] >= 1):
            return "an exact release without a guarantee"
        for name, (earlier, made) in self.latest.items():
            if self._source(made) != self._source(body):
                return f"the source had changed since the exact release of record {earlier}"
            if name == body["name"]:
                if made["declaration"] != body["declaration"]:
                    return f"the declaration had changed since record {earlier}"
                if self.states[earlier] != "failed":
                    return f"it repeats record {earlier}, which did not fail"
            elif not _together(made, body):
                return f"no theorem covers it together with record {earlier}"
        self.latest[body["name"]] = (sequence, body)
        self.states[sequence] = "open"
        return None

    def _source(self, body: dict[str, Any]) -> str:
        source = str(body["source"])
        return self.formerly.get(source, source)

    def settle(self, sequence: int, kind: str, body: dict[str, Any]) -> None:
        """Take the end of a reservation, if it is one of this book."""
        if sequence in self.states:
            refused = "refused" if "refusal" in body else "failed"
            self.states[sequence] = "answered" if kind == "spend" else refused

    def found(self) -> tuple[VerifiedExact, ...]:
        """Return the releases, in the order of their records."""
        return tuple(
            VerifiedExact(
                body["name"],
                body["table"],
                body["column"],
                body["cells"],
                Fraction(body["epsilon"]),
                Fraction(body["delta"]),
                sequence,
                self.states[sequence],
            )
            for sequence, body in sorted(self.latest.values(), key=lambda pair: pair[0])
        )


def _together(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether each of two columns of one table is known to the other's adversary."""
    return (
        one["table"] == other["table"]
        and None not in (one["column"], other["column"])
        and one["column"] in other["known_columns"]
        and other["column"] in one["known_columns"]
    )
