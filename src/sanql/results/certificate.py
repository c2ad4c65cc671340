"""The guarantee that travels with an answer, as data: what is claimed, why it is true, what it means."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sanql.numbers import number_upper, parse_rational, rational_text, show_upper
from sanql.theory.meaning import percent_down, percent_up, posterior_band_at
from sanql.visible import visible

UNKNOWN_KEYS = "unknown keys, selected privately"


@dataclass(frozen=True)
class Certificate:
    """A claim with its mechanism, sensitivity, theorem, assumptions and meaning."""

    definition: str
    epsilon: Fraction
    delta: Fraction
    neighbours: str
    unit: str
    mechanism: str
    theorem: str
    measurements: tuple[dict[str, object], ...]
    aggregates: tuple[dict[str, object], ...]
    keys: str
    limits: dict[str, int]
    assumptions: tuple[str, ...]
    meaning: dict[str, object]
    bounds: tuple[dict[str, object], ...] = ()
    limits_in_words: str = ""
    uneven_limits: str = ""
    rows_left_out: tuple[str, ...] = ()
    limits_may_cut: str = ""  # a warning to stand beside the answer

    def to_dict(self) -> dict[str, object]:
        """Return the certificate as plain data; epsilon and delta are rounded up, and given exactly."""
        return {
            "definition": self.definition,
            "epsilon": number_upper(self.epsilon),
            "delta": number_upper(self.delta),
            "neighbours": self.neighbours,
            "unit": self.unit,
            "mechanism": self.mechanism,
            "theorem": self.theorem,
            "measurements": list(self.measurements),
            "aggregates": list(self.aggregates),
            "keys": self.keys,
            "limits": self.limits,
            "assumptions": list(self.assumptions),
            "meaning": self.meaning,
            "bounds": list(self.bounds),
            "limits_in_words": self.limits_in_words,
            "uneven_limits": self.uneven_limits,
            "rows_left_out": list(self.rows_left_out),
            "limits_may_cut": self.limits_may_cut,
            "epsilon_exact": rational_text(self.epsilon),
            "delta_exact": rational_text(self.delta),
        }

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> Certificate:
        """Return the certificate that `to_dict` wrote, now or before there were warnings in it."""
        shape = {"limits_may_cut": ""} | dict(shape)
        exact = {name: parse_rational(shape[f"{name}_exact"]) for name in ("epsilon", "delta")}
        listed = ("measurements", "aggregates", "assumptions", "bounds", "rows_left_out")
        plain = {name: shape[name] for name in cls.__dataclass_fields__}
        return cls(**plain | {name: tuple(shape[name]) for name in listed} | exact)

    def sentences(self) -> list[str]:
        """Return the certificate for people: what is claimed, what it means, and what it rests on."""
        measured = [
            f"measured: {said['measures']}, {said['mechanism']}" for said in self.measurements
        ]
        return [
            f"{self.definition}: epsilon {show_upper(self.epsilon)}, delta {show_upper(self.delta)}",
            f"protects {self.unit} ({self.neighbours})",
            str(self.meaning["words"]),
            *self.also_protected(),
            f"by {self.mechanism}: {self.theorem}",
            *measured,
            f"keys: {self.keys}",
            *(f"limit: {name} = {limit}" for name, limit in self.limits.items()),
            *self.bounds_in_words(),
            *(f"assumes: {assumption}" for assumption in self.assumptions),
            *self.caveats(),
        ]

    def _repr_html_(self) -> str:
        first, *others = self.sentences()
        listed = "".join(f"<li>{html.escape(visible(line))}</li>" for line in others)
        return f"<p><b>{html.escape(visible(first))}</b></p><ul>{listed}</ul>"

    def caveats(self) -> list[str]:
        """Return what a reader of an answer must know of the rows that are not in it."""
        return [
            *self.rows_left_out,
            *(line for line in (self.limits_in_words, self.uneven_limits) if line),
        ]

    def also_protected(self) -> list[str]:
        """Return what the answer means for what else the owner declares to be protected."""
        listed = self.meaning.get("also", [])
        assert isinstance(listed, list)  # noqa: S101  (`certify` writes a list)
        return [str(case["words"]) for case in listed]

    def meaning_at(self, prior: float) -> str:
        """Return what somebody of this belief may come to believe, in words.

        The answer moves odds by a factor that does not depend on what is believed before.
        """
        told = self.meaning
        loss = told.get("loss_upper")
        low, high = posterior_band_at(loss if isinstance(loss, float) else math.inf, prior)
        failure = told["posterior_failure"]
        exception = f", except with probability {failure:g}" if failure else ""
        fact = told.get("fact", "it is so")
        return (
            f"Somebody who thinks it {prior:.4g} likely that {fact}, and knows everything else, can come"
            f" to think it {percent_down(low)} to {percent_up(high)} likely{exception}."
        )

    @property
    def of_noise(self) -> str:
        """What an interval is said to be of, where limits may have cut more than it covers."""
        return " of the noise alone" if self.limits_in_words else ""

    @property
    def selects_keys(self) -> bool:
        """Whether a key appears only where enough units share it, at some level at least."""
        return UNKNOWN_KEYS in self.keys

    def bounds_in_words(self) -> list[str]:
        """Return a line for each column whose bounds San finds."""
        return [_bounds_in_words(bounds) for bounds in self.bounds]


def _bounds_in_words(bounds: dict[str, object]) -> str:
    column, price = (
        f"{bounds['table']}.{bounds['column']}",
        f"once, for epsilon {bounds['epsilon']:g}",
    )
    match bounds["bounds"]:
        case [float(low), float(high)]:
            return f"bounds of {column}: [{low:,.15g}, {high:,.15g}], found {price}"
        case _:
            return f"bounds of {column}: to be found {price}"


@dataclass(frozen=True)
class ExactCertificate:
    """The recorded certificate of an exact release, as it travels with an answer."""

    words: Mapping[str, object]

    def to_dict(self) -> dict[str, object]:
        """Return the certificate as plain data."""
        return json.loads(json.dumps(self.words))  # type: ignore[no-any-return]

    @property
    def assumptions(self) -> list[str]:
        """Everything that must be true of the adversary and of the data."""
        listed = self.words["assumptions"]
        assert isinstance(listed, list)  # noqa: S101  (certified_claim wrote a list)
        return listed

    @property
    def differences(self) -> list[str]:
        """In what the numbers of the answer differ from those of SQL."""
        listed = self.words.get("notes", [])
        assert isinstance(listed, list)  # noqa: S101  (certificate_of wrote a list)
        return listed

    def guarantee(self) -> str:
        """Return the guarantee in one line."""
        words = self.words
        return f"({words['epsilon']:.6g}, {words['delta']:.3g})-DDP against: {words['class']}"

    def in_all(self) -> list[str]:
        """Return the guarantee of all releases of the book, where there are several."""
        joint = self.words.get("together")
        if not isinstance(joint, Mapping):
            return []
        names = " and ".join(f"[exact.{name}]" for name in joint["releases"])
        most = joint.get("at_most")
        cap = (
            f"; at most ({most['epsilon']:.6g}, {most['delta']:.3g}) may be released"
            if most
            else ""
        )
        if len(joint["releases"]) == 1:
            return [f"{names} is the only exact release so far{cap}"]
        return [
            f"{names} together: ({joint['epsilon']:.6g}, {joint['delta']:.3g})-DDP by Theorem 6, "
            f"each class holding for somebody who knows the other columns{cap}"
        ]

    def at_accepted_delta(self) -> list[str]:
        """Return the least epsilon at the delta that is accepted, where the certificate has it."""
        words = self.words
        if "epsilon_least" not in words:  # older ledgers
            return []
        return [
            f"at the accepted delta {words['delta_accepted']:.3g} it is epsilon "
            f"{words['epsilon_least']:.6g}"
        ]

    def meaning_at(self, prior: float) -> str:
        """Return what somebody of the class and of this belief may come to believe, in words."""
        told = self.words.get("meaning")
        belief = told.get("belief") if isinstance(told, Mapping) else None
        if not isinstance(belief, Mapping):
            return "what may be believed of a value after this release is not certified"
        low, high = posterior_band_at(belief["loss_upper"], prior)
        return (
            f"{belief['fact']} that somebody of the class holds for {prior:.4g} likely before is for "
            f"them {percent_down(low)} to {percent_up(high)} likely after, except with probability "
            f"{belief['failure']:.3g}"
        )

    def meaning(self) -> list[str]:
        """Return what the guarantee means, in words, where the certificate has it."""
        told = self.words.get("meaning")
        return list(told["words"]) if isinstance(told, Mapping) else []

    def sentences(self) -> list[str]:
        """Return the certificate for people."""
        return [
            self.guarantee(),
            *self.at_accepted_delta(),
            *self.in_all(),
            *self.meaning(),
            *(f"note: {note}" for note in self.differences),
            f"protects: {self.words['protects']}",
            f"by {self.words['theorem']}",
            *(f"assumes: {assumption}" for assumption in self.assumptions),
            str(self.words["stands_alone"]),
        ]
