"""Contribution limits that are suggested for a table, with what finding them cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sanql.numbers import show_upper
from sanql.results.balance import (
    Balance,
    balances_from_dicts,
    remaining_in_words,
    remaining_to_dict,
)
from sanql.results.price import Price, ReceivedPrice, price_exactly, price_to_dict
from sanql.visible import json_text, toml_key, visible


@dataclass(frozen=True)
class LimitChoice:
    """A limit, with the shares of units within it and of rows kept, and what it costs."""

    limit: int
    units: float
    kept: float
    noise: float
    lost: float

    @property
    def cost(self) -> float:
        """Noise and loss together."""
        return self.noise + self.lost

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as plain data."""
        return {
            "limit": self.limit,
            "units_within": self.units,
            "kept": self.kept,
            "noise": self.noise,
            "lost": self.lost,
        }

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> LimitChoice:
        """Return the choice that `to_dict` wrote."""
        return cls(
            shape["limit"], shape["units_within"], shape["kept"], shape["noise"], shape["lost"]
        )


@dataclass(frozen=True)
class Advice:
    """One limit that is suggested, among those it was chosen from."""

    key: str
    limit: int
    choices: tuple[LimitChoice, ...]
    units_least: int

    @property
    def noun(self) -> str:
        """What is limited."""
        return self.key.partition("_")[0]

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as plain data."""
        return {
            "limit": self.limit,
            "units_least": self.units_least,
            "choices": [choice.to_dict() for choice in self.choices],
        }

    @classmethod
    def from_dict(cls, key: str, shape: Mapping[str, Any]) -> Advice:
        """Return the advice about a limit that `to_dict` wrote."""
        choices = tuple(map(LimitChoice.from_dict, shape["choices"]))
        return cls(key, shape["limit"], choices, shape["units_least"])


@dataclass(frozen=True, repr=False)
class Suggestion:
    """The limits suggested for a table, what finding them cost, and the lines to paste."""

    table: str
    by: str | None
    advice: tuple[Advice, ...]
    epsilon_typical: Fraction
    charge: Price
    cached: bool
    remaining: tuple[Balance, ...]

    @property
    def limits(self) -> dict[str, int]:
        """The limits by their names in a policy."""
        return {advised.key: advised.limit for advised in self.advice}

    def toml(self) -> str:
        """Return the lines of a policy that state the limits."""
        lines = [f"[table.{toml_key(self.table)}]"]
        return "\n".join([*lines, *(f"{key} = {limit}" for key, limit in self.limits.items())])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, from which it can be rebuilt."""
        return {
            "table": self.table,
            "by": self.by,
            "limits": {advised.key: advised.to_dict() for advised in self.advice},
            "typical_epsilon": float(self.epsilon_typical),
            "charge": price_to_dict(self.charge, cached=self.cached) | {"delta": 0.0},
            "cached": self.cached,
            "remaining": remaining_to_dict(self.remaining),
            "toml": self.toml(),
            "price": price_exactly(self.charge),
            "balances": [balance.to_dict() for balance in self.remaining],
        }

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> Suggestion:
        """Return the suggestion that `to_dict` wrote."""
        return cls(
            table=shape["table"],
            by=shape["by"],
            advice=tuple(Advice.from_dict(key, said) for key, said in shape["limits"].items()),
            epsilon_typical=Fraction(repr(float(shape["typical_epsilon"]))),
            charge=ReceivedPrice.from_dict(shape["price"]),
            cached=bool(shape["cached"]),
            remaining=balances_from_dicts(shape["balances"]),
        )

    def to_json(self) -> str:
        """Return the JSON form."""
        return json_text(self.to_dict(), allow_nan=False)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines: list[str] = []
        for advised in self.advice:
            kept, lost = f"{advised.noun} kept", f"{advised.noun} lost"
            lines += [advised.key, f"  limit  units within  {kept:>11}      noise  {lost:>11}"]
            lines += [_line(choice, advised.limit) for choice in advised.choices]
            lines += [
                f"  fewer than {advised.units_least} units in a line cannot be told from none",
                f"  some may have more than {advised.choices[-1].limit:,} {advised.noun}: what they"
                " lose is in no line",
            ]
        price = "a repeat, free" if self.cached else f"epsilon {show_upper(self.charge.epsilon)}"
        lines.append(
            f"noise and loss are those of a count at epsilon {show_upper(self.epsilon_typical)}; "
            f"price: {price}; {remaining_in_words(self.remaining)}"
        )
        return visible("\n".join([*lines, "", self.toml()]), lines=True)


def _line(choice: LimitChoice, best: int) -> str:
    mark = "  <- suggested" if choice.limit == best else ""
    return (
        f"{choice.limit:7,}  {choice.units:12.1%}  {choice.kept:11.1%}  {choice.noise:9,.1f}  "
        f"{choice.lost:11,.1f}{mark}"
    )
