"""What an answer will cost and how exact it will be, known before a row is read."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sanql.numbers import number_upper, parse_rational, rational_text, show_upper
from sanql.results.balance import (
    Balance,
    after_everything,
    balances_from_dicts,
    remaining_in_words,
    remaining_to_dict,
)
from sanql.results.certificate import Certificate
from sanql.results.price import (
    Price,
    ReceivedPrice,
    is_free,
    price_exactly,
    price_in_words,
    price_to_dict,
)
from sanql.results.statement import ReceivedStatement, ShownStatement, statement_to_dict
from sanql.visible import visible

Hidden = tuple[tuple[int, float], ...]  # how likely groups of so many units are to appear


@dataclass(frozen=True)
class Expected:
    """The expected half-width of one column's interval; None where it depends on bounds not yet found."""

    column: str
    half_width: float | None
    note: str

    def in_words(self, confidence: str = "") -> str:
        """Return the half-width and what it depends on."""
        if self.half_width is None:
            return self.note
        return f"± {self.half_width:,.6g}{confidence}{self.note}"


@dataclass(frozen=True)
class LevelExplained:
    """One of several grouping sets: what it would cost by itself, at the delta of the whole."""

    name: str
    epsilon_upper: Fraction
    hidden: Hidden
    statement: ShownStatement

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "level": self.name,
            "epsilon_by_itself": number_upper(self.epsilon_upper),
            "selection": _selection(self.hidden),
            "epsilon_exact": rational_text(self.epsilon_upper),
            **statement_to_dict(self.statement),
        }

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> LevelExplained:
        """Return the level that `to_dict` wrote."""
        epsilon = parse_rational(shape["epsilon_exact"])
        hidden = _hidden(shape["selection"])
        return cls(shape["level"], epsilon, hidden, ReceivedStatement.from_dict(shape))


@dataclass(frozen=True, repr=False)
class Explanation:
    """The price, the noise and the guarantee of an answer that has not been asked for yet."""

    charge: Price
    remaining: tuple[Balance, ...]
    fits: bool
    cached: bool
    confidence: Fraction
    expected: tuple[Expected, ...]
    hidden: Hidden
    certificate: Certificate
    statement: ShownStatement
    notes: tuple[str, ...] = ()
    levels: tuple[LevelExplained, ...] = ()
    after: tuple[Balance, ...] | None = None
    attackers: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, from which it can be rebuilt."""
        return {
            "charge": price_to_dict(self.charge),
            "remaining": remaining_to_dict(self.remaining),
            "fits": self.fits,
            "cached": self.cached,
            "confidence": float(self.confidence),
            "expected": [
                {
                    "column": expected.column,
                    "half_width": expected.half_width,
                    "note": expected.note,
                }
                for expected in self.expected
            ],
            "selection": _selection(self.hidden),
            "levels": [level.to_dict() for level in self.levels],
            "notes": list(self.notes),
            "certificate": self.certificate.to_dict(),
            "price": price_exactly(self.charge),
            "balances": [balance.to_dict() for balance in self.remaining],
            "after": None if self.after is None else [b.to_dict() for b in self.after],
            "attackers": list(self.attackers),
            **statement_to_dict(self.statement),
        }

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> Explanation:
        """Return the explanation that `to_dict` wrote."""
        return cls(
            charge=ReceivedPrice.from_dict(shape["price"]),
            remaining=balances_from_dicts(shape["balances"]),
            fits=bool(shape["fits"]),
            cached=bool(shape["cached"]),
            confidence=Fraction(repr(float(shape["confidence"]))),
            expected=tuple(Expected(**expected) for expected in shape["expected"]),
            hidden=_hidden(shape["selection"]),
            certificate=Certificate.from_dict(shape["certificate"]),
            statement=ReceivedStatement.from_dict(shape),
            notes=tuple(shape["notes"]),
            levels=tuple(map(LevelExplained.from_dict, shape["levels"])),
            after=None if shape["after"] is None else balances_from_dicts(shape["after"]),
            attackers=tuple(shape.get("attackers", ())),
        )

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if is_free(self.charge):
            return "price: nothing; the answer is exact, as nothing in it depends on anybody"
        noise = self.certificate.of_noise
        lines = [self._price(), f"unit: {self.certificate.unit} ({self.certificate.neighbours})"]
        lines += [
            f"  {column.column}: {column.in_words(f' at {float(self.confidence):.4g}{noise}')}"
            for column in self.expected
        ]
        lines += (
            [f"  {self.certificate.limits_in_words}"] if self.certificate.limits_in_words else []
        )
        lines += [f"  {line}" for line in self.certificate.bounds_in_words()]
        lines += _appearing(self.hidden)
        for level in self.levels:
            lines.append(f"level {level.name}: epsilon {show_upper(level.epsilon_upper)} by itself")
            lines += _appearing(level.hidden)
        lines += [
            f"  {measurement['measures']}{_where(measurement)}: {measurement['mechanism']}"
            f"{_steps(measurement['grid'])}"
            for measurement in self.certificate.measurements
        ]
        lines += [f"  {note}" for note in self.notes]
        lines += [str(self.certificate.meaning["words"]), *self.certificate.also_protected()]
        lines += self.attackers
        return visible("\n".join(lines), lines=True)

    def meaning_at(self, prior: float) -> list[str]:
        """Return what somebody of this belief may come to believe: from the answer, then from everything.

        Everything that an account has been told, with this answer, is worth what the account has spent.
        """
        told = [self.certificate.meaning_at(prior)]
        for balance in self.remaining if self.after is None else self.after:
            told.append(after_everything(balance, prior, ", this answer included"))
        return [visible(line) for line in told]

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def _price(self) -> str:
        price = f"price: {price_in_words(self.charge)}"
        if self.cached:
            return f"{price} (recorded already: free); {remaining_in_words(self.remaining)}"
        if self.after is not None:
            return f"{price}; then {remaining_in_words(self.after)}"
        fault = "" if self.fits else " (does not fit)"
        return f"{price}; {remaining_in_words(self.remaining)}{fault}"


def _selection(hidden: Hidden) -> list[dict[str, Any]]:
    return [{"units": units, "probability_of_appearing": chance} for units, chance in hidden]


def _hidden(selection: Iterable[Mapping[str, Any]]) -> Hidden:
    return tuple((each["units"], each["probability_of_appearing"]) for each in selection)


def _appearing(hidden: Hidden) -> list[str]:
    return [
        f"  a group of {units} unit{'' if units == 1 else 's'} appears with probability {chance:.3g}"
        for units, chance in hidden
    ]


def _where(measurement: dict[str, object]) -> str:
    return f" in {measurement['level']}" if "level" in measurement else ""


def _steps(grid: object) -> str:
    return "" if grid in (1, None) else f", in steps of {grid}"
