"""Options that a session has said once: they hold for every question that does not say otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sanql.errors import Refused
from sanql.options.read import read_options
from sanql.options.table import OPTIONS

# what is of one question, and never of all that follow
_ONE_QUESTION = frozenset(
    {"fresh", "exact", "units_guessed", "rows_guessed", "even_if_empty", "stage_weights"}
)
_NAMES = sorted({option.name for option in OPTIONS if option.flags} - _ONE_QUESTION)
_PRICES = frozenset({"epsilon", "accuracy"})  # a question has one of them


def changed_defaults(known: Mapping[str, Any], passed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults of a session changed by those that are passed; None takes one back.

    >>> changed_defaults({"epsilon": 0.1}, {"confidence": 0.9, "epsilon": None})
    {'confidence': 0.9}
    """
    for name in passed:
        if name not in _NAMES:
            raise Refused(
                "option_unknown",
                f"{name[:60]} is no option that all questions of a session may have",
                f"pass it with a question; the others are {', '.join(_NAMES)}",
            )
    own = {name: value for name, value in passed.items() if value is not None}
    read_options({}, own)
    taken_back = {*passed, *(_PRICES if _PRICES & own.keys() else ())}
    changed = {name: value for name, value in known.items() if name not in taken_back} | own
    read_options({}, changed)
    return changed


def with_defaults(
    defaults: Mapping[str, Any], passed: Mapping[str, Any], in_text: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the options passed with a question, and the defaults where it says nothing itself.

    An exact answer has none of them: they are about noise.

    >>> with_defaults({"epsilon": 0.1, "confidence": 0.9}, {"accuracy": 50})
    {'confidence': 0.9, 'accuracy': 50}
    """
    own = {name: value for name, value in passed.items() if value is not None}
    said = {*own, *in_text}
    if own.get("exact") or "release" in said:
        return own
    if said & _PRICES:
        said |= _PRICES
    return {name: value for name, value in defaults.items() if name not in said} | own
