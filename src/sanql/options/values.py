"""Values of options, read from the forms that people type."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from sanql.errors import Refused

_NUMBER = re.compile(r"\d{1,20}(\.\d{1,20})?(e[+-]?\d{1,2})?", re.ASCII | re.IGNORECASE)
CONFIDENCE = Fraction(95, 100)
LABEL_MAX = 100
WHOLE_MAX = 9_999_999
STAGES_MAX = 32
ROUNDED_MIN, ROUNDED_MAX = Fraction(1, 10**6), Fraction(10**12)
_EXAMPLES = {
    "stage_weights": "'1:3'",
    "confidence": "0.95 for 95 in 100",
    "guess": "10000",
    "rows": "500",
    "rounded": "10",
}
KEYS = ("half_width", "relative", "guess", "confidence", "rows")


@dataclass(frozen=True)
class Accuracy:
    """The half-width an analyst wants at a confidence: absolute, or relative to a guessed answer.

    `rows` is a guess of the rows in the smallest group that matters; only averages need it.
    """

    half_width: Fraction
    confidence: Fraction = Fraction(95, 100)
    rows: int | None = None

    def __post_init__(self) -> None:
        """Check that the wish can be met by some epsilon."""
        if self.half_width <= 0 or not 0 < self.confidence < 1:
            raise Refused(
                "accuracy_invalid",
                f"accuracy ±{float(self.half_width):g} at {float(self.confidence):g} is impossible",
                "ask for a half-width above 0 at a confidence between 0 and 1",
            )
        if self.rows is not None and self.rows < 1:
            raise Refused(
                "accuracy_invalid", "the guess of rows must be at least 1", "guess more rows"
            )


def as_typed(typed: object) -> object:
    """Return a value as it is, to be read together with another one."""
    return typed


def parse_confidence(typed: object) -> Fraction:
    """Return a confidence between 0 and 1.

    >>> parse_confidence("0.95")
    Fraction(19, 20)
    """
    value = _number(typed, "confidence")
    if not 0 < value < 1 or value > 1 - Fraction(1, 10**9):
        raise Refused(
            "confidence_invalid",
            f"confidence {str(typed)[:40]} does not lie between 0 and 1",
            "pass, for example, 0.95",
        )
    return value


def parse_accuracy(typed: object, confidence: object = None) -> Accuracy:
    """Return the accuracy wished for, at its own confidence or else the one given beside it.

    A number is a half-width. A mapping may say {"half_width": 50}, or {"relative": 0.02, "guess":
    10000}, and add "confidence" and "rows". Text is read as `50`, or `2% of 10000`, with optional
    ` at 0.99` and ` over 500 rows`.

    >>> parse_accuracy("2% of 10000 at 0.9")
    Accuracy(half_width=Fraction(200, 1), confidence=Fraction(9, 10), rows=None)
    """
    if isinstance(typed, Accuracy):
        return typed
    if isinstance(typed, str):
        typed = _from_text(typed)
    if not isinstance(typed, Mapping):
        typed = {"half_width": typed}
    unknown = [key for key in typed if key not in KEYS]
    if unknown or ("half_width" in typed) == ("relative" in typed):
        raise _unreadable(typed)
    if "relative" in typed:
        if "guess" not in typed:
            raise Refused(
                "accuracy_invalid",
                "a relative accuracy needs a guess of the answer",
                "add it: 2% of 10000, or {'relative': 0.02, 'guess': 10000}",
            )
        width = _number(typed["relative"], "accuracy") * _number(typed["guess"], "guess")
    else:
        width = _number(typed["half_width"], "accuracy")
    rows = typed.get("rows")
    return Accuracy(
        width,
        parse_confidence(typed.get("confidence", confidence or CONFIDENCE)),
        int(_number(rows, "rows")) if rows is not None else None,
    )


def parse_stage_weights(typed: object) -> tuple[Fraction, ...]:
    """Return how epsilon is shared by stages, as their weights.

    >>> parse_stage_weights("1:3")
    (Fraction(1, 1), Fraction(3, 1))
    """
    parts = typed.split(":") if isinstance(typed, str) else typed
    if isinstance(parts, list | tuple) and 2 <= len(parts) <= STAGES_MAX:
        weights = tuple(_number(part, "stage_weights") for part in parts)
        if all(0 < weight <= WHOLE_MAX for weight in weights):
            return weights
    raise Refused(
        "stage_weights_invalid",
        f"stage_weights = {str(typed)[:40]!r} does not share epsilon between stages",
        "write a weight above 0 for each stage, such as stage_weights = '1:3'",
    )


def parse_other(typed: object) -> str:
    """Return the label of the row of other groups."""
    if isinstance(typed, str) and 0 < len(typed) <= LABEL_MAX and typed.isprintable():
        return typed
    raise Refused(
        "other_invalid",
        f"other = {str(typed)[:40]!r} cannot name a row",
        f"pass a text of 1 to {LABEL_MAX} letters, for example '(other)'",
    )


def parse_nonnegative(typed: object) -> bool:
    """Return whether numbers that cannot be negative are lifted to zero.

    >>> parse_nonnegative("true")
    True
    """
    text = str(typed).upper()
    if text in ("TRUE", "FALSE"):
        return text == "TRUE"
    raise Refused(
        "nonnegative_invalid",
        f"nonnegative = {str(typed)[:40]!r} is neither TRUE nor FALSE",
        "write nonnegative = TRUE, or leave it out",
    )


def flag(name: str) -> Callable[[object], bool]:
    """Return how an option is read that is either on or off; a text says so in words.

    >>> flag("exact")("false")
    False
    """

    def parse(typed: object) -> bool:
        text = str(typed).upper()
        if text in ("TRUE", "FALSE"):
            return text == "TRUE"
        raise Refused(
            "switch_invalid",
            f"{name} = {str(typed)[:40]!r} is neither TRUE nor FALSE",
            f"write {name} = TRUE, or leave it out",
        )

    return parse


def parse_rounded(typed: object) -> Fraction:
    """Return the number whose multiples are shown.

    >>> parse_rounded("0.5")
    Fraction(1, 2)
    """
    value = _number(typed, "rounded")
    if ROUNDED_MIN <= value <= ROUNDED_MAX:
        return value
    raise Refused(
        "rounded_invalid",
        f"rounded = {str(typed)[:40]} does not lie between 0.000001 and 1e12",
        "pass the number whose multiples are to be shown, for example 10",
    )


_TEXT = re.compile(
    r"\s*(?P<width>[\d.e+-]+)\s*(?:(?P<percent>%)\s*of\s*(?P<guess>[\d.e+]+))?"
    r"(?:\s+at\s+(?P<confidence>[\d.]+))?(?:\s+over\s+(?P<rows>\d+)(?:\s+rows)?)?\s*",
    re.ASCII | re.IGNORECASE,
)


def _from_text(text: str) -> Mapping[str, object]:
    match = _TEXT.fullmatch(text)
    if match is None:
        raise _unreadable(text)
    accuracy: dict[str, object] = {
        name: match[name] for name in ("confidence", "rows") if match[name] is not None
    }
    if match["percent"]:
        accuracy["relative"] = _number(match["width"], "accuracy") / 100
        accuracy["guess"] = match["guess"]
    else:
        accuracy["half_width"] = match["width"]
    return accuracy


def _number(typed: object, name: str) -> Fraction:
    if isinstance(typed, Fraction):
        return typed
    text = typed if isinstance(typed, str) else repr(typed)
    if isinstance(typed, bool) or not _NUMBER.fullmatch(text):
        raise Refused(
            f"{name}_invalid",
            f"{name} {text[:40]!r} is not a number above zero",
            f"write plain digits without a sign, for example {_EXAMPLES.get(name, '50')}",
        )
    return Fraction(text)


def _unreadable(typed: object) -> Refused:
    return Refused(
        "accuracy_invalid",
        f"the accuracy {str(typed)[:60]!r} cannot be read",
        "write 50, or 2% of 10000, with optional ' at 0.99' and ' over 500 rows'",
    )


def whole_number(name: str, example: int) -> Callable[[object], int]:
    """Return a reader of an option that is a whole number of at least 1.

    >>> whole_number("max_groups_contributed", 3)("12")
    12
    """

    def read(typed: object) -> int:
        plain = str(typed)
        if (
            plain.isascii()
            and plain.isdecimal()
            and len(plain) < 20
            and 1 <= int(plain) <= WHOLE_MAX
        ):
            return int(plain)
        raise Refused(
            "rows_invalid"
            if "rows" in name
            else "values_invalid"
            if "values" in name
            else "units_invalid"
            if "units" in name
            else "groups_invalid",
            f"{name} = {plain[:40]!r} is not a whole number from 1 to {WHOLE_MAX:,}",
            f"write, for example, {name} = {example}",
        )

    return read
