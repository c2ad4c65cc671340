"""Questions in words for a terminal: what was asked, shortened to a line, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from sanql.numbers import show_upper

WORDS_SHOWN = 80  # of a question


def one_line(text: str, *, wide: bool = False) -> str:
    """Return a text on one line, and no more of it than is usually shown, unless it may be `wide`."""
    line = " ".join(text.split())
    return line if wide or len(line) <= WORDS_SHOWN else f"{line[: WORDS_SHOWN - 1]}…"


def asked_in_words(question: Mapping[str, Any], *, wide: bool = False) -> str:
    """Return what was typed, or that it was erased, or is not kept; what else was paid for is named."""
    what = f"({question['purpose']}) " if question["purpose"] else ""
    if question["sql"] is not None:
        return what + one_line(question["sql"], wide=wide)
    return what + ("(text erased)" if question["erased"] else "(no text)")


def became(question: Mapping[str, Any]) -> str:
    """Return what became of a question: answered, open, or void and why; and through what it came."""
    end = f"void ({question['reason']})" if question["outcome"] == "void" else question["outcome"]
    end = f"exact, {end}" if question["exact"] else end
    return end if question["door"] is None else f"{question['door']}, {end}"


def question_rows(records: Sequence[Mapping[str, Any]], *, wide: bool) -> list[dict[str, object]]:
    """Return the rows of a table of questions, by the numbers of their records."""
    return [_row(record["sequence"], record["question"], wide=wide) for record in records]


def _row(number: int, question: Mapping[str, Any], *, wide: bool) -> dict[str, object]:
    end = became({**question, "door": None})
    epsilon, delta = (Fraction(question["price"][f"{name}_exact"]) for name in ("epsilon", "delta"))
    return {
        "record": number,
        "time (UTC)": str(question["time"])[:19].replace("T", " "),
        "analyst": question["analyst"],
        "door": question["door"],
        "price": f"epsilon {show_upper(epsilon)}, delta {show_upper(delta)}",
        "outcome": end,
        "purpose": question["purpose"],
        "question": asked_in_words({**question, "purpose": ""}, wide=wide),
    }
