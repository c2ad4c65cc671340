"""The values that were passed with a question, as they are kept, in words for whoever reads it again."""

from __future__ import annotations

from collections.abc import Mapping

from sanql.visible import json_text, visible


def parameters_in_words(kept: object) -> list[str]:
    """Return each value with the name or number of its parameter, as a constant of SQL.

    >>> parameters_in_words([40, "O'Hara", {"date": "2026-01-31"}, None])
    ['$1 = 40', "$2 = 'O''Hara'", "$3 = DATE '2026-01-31'", '$4 = NULL']
    >>> parameters_in_words({"by_name": {"least": {"decimal": "2.50"}}}), parameters_in_words(None)
    (['$least = 2.50'], [])
    """
    match kept:
        case None:
            return []
        case {"by_name": Mapping() as named}:
            values = {str(name): value for name, value in named.items()}
        case list():
            values = {str(number): value for number, value in enumerate(kept, 1)}
        case _:
            values = {"1": kept}
    return [visible(f"${name} = {_constant(value)}") for name, value in values.items()]


def _constant(value: object) -> str:
    match value:
        case None | bool():
            return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
        case str():
            return _quoted(value)
        case {"date": str(text)}:
            return f"DATE {_quoted(text)}"
        case {"timestamp": str(text)}:
            return f"TIMESTAMP {_quoted(text)}"
        case {"decimal": str(text)} | {"fraction": str(text)}:
            return text
        case {"other": str(text)}:
            return f"a value of the type {text}, which is not kept"
        case _:
            return json_text(value)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
