"""What database tools send besides questions: settings, transactions, and questions about the catalogue.

A text is told by its first words. What is none of these is a question, and is read as one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sanql.parse.text.catalogue import asks_the_catalogue
from sanql.parse.text.guard import tokens_within_limits

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

Kind = Literal[
    "nothing", "set", "show", "reset", "discard", "transaction", "explain", "deallocate", "confirm",
    "catalogue", "unoffered", "question",
]  # fmt: skip

_TRANSACTIONS = {
    "BEGIN": "BEGIN",
    "START": "START TRANSACTION",
    "COMMIT": "COMMIT",
    "END": "COMMIT",
    "ROLLBACK": "ROLLBACK",
    "ABORT": "ROLLBACK",
    "SAVEPOINT": "SAVEPOINT",
    "RELEASE": "RELEASE",
}


_OTHER_FORM = re.compile(r"\s*\([^()]*\bFORMAT\s+(?!TEXT\b)\w+", re.IGNORECASE | re.ASCII)
"""An explanation that is asked for in another form than text."""


@dataclass(frozen=True)
class Command:
    """A text, and what it is: of a setting its name and value, of a transaction how it is confirmed."""

    kind: Kind
    text: str = ""
    name: str = ""
    value: str | None = None
    local: bool = False
    """Whether a setting holds for its transaction only."""


def read_commands(sql: str) -> list[Command]:
    """Return what the statements of a text are, one after another; places in each are those of the text.

    A text with several questions is one, and refused as such: each would have a price.

    >>> [each.kind for each in read_commands("BEGIN; SELECT n FROM t;; COMMIT")]
    ['transaction', 'question', 'transaction']
    """
    tokens, found, begun = tokens_within_limits(sql), list[Command](), 0
    ends = [n for n, token in enumerate(tokens) if _is_end(token)]
    for end in (*ends, len(tokens)):
        if end > begun:
            first, last = tokens[begun].start, tokens[end - 1].end
            before = sql[:first] if not found else _blank(sql[:first])
            found.append(read_command(before + sql[first : last + 1]))
        begun = end + 1
    if sum(each.kind == "question" for each in found) > 1:
        return [Command("question", sql)]
    return found or [Command("nothing")]


def read_command(sql: str) -> Command:
    """Return what a text is; what is none of the others, or several, is a question, and refused as one.

    >>> read_command("set sanql.epsilon to 0.1;")
    Command(kind='set', text='', name='sanql.epsilon', value='0.1', local=False)
    >>> read_command("SELECT n FROM t").kind, read_command(" ; ").kind, read_command("begin").name
    ('question', 'nothing', 'BEGIN')
    """
    tokens = _without_ends(tokens_within_limits(sql))
    if not tokens:
        return Command("nothing")
    if any(map(_is_end, tokens)):
        return Command("question", sql)
    words = [token.text for token in tokens]
    first = words[0].upper()
    match first:
        case "SET":
            return _setting(sql, tokens[1:])
        case "SHOW":
            return Command("show", name="".join(words[1:]).lower())
        case "RESET":
            return Command("reset", name="".join(words[1:]).lower())
        case "DISCARD":
            return Command("discard")
        case "DEALLOCATE":
            named = words[2:] if words[1:2] and words[1].upper() == "PREPARE" else words[1:]
            return Command("deallocate", name=_named(named))
        case "DECLARE" | "FETCH" | "MOVE" | "PREPARE" | "EXECUTE" | "LISTEN" | "LOCK":
            return Command("unoffered", name=first)
        case "CLOSE" | "UNLISTEN":
            return Command("confirm", name="CLOSE CURSOR" if first == "CLOSE" else first)
        case "EXPLAIN" if _OTHER_FORM.match(sql[tokens[0].end + 1 :]):
            return Command("unoffered", name="EXPLAIN (FORMAT …)")
        case "EXPLAIN":
            return Command("explain", _explained(_blank(sql[: tokens[0].end + 1]), sql))
        case _ if first in _TRANSACTIONS:
            return Command("transaction", name=_TRANSACTIONS[first])
        case _:
            text = sql[: tokens[-1].end + 1]  # places in it stay as they are
            return Command("catalogue" if asks_the_catalogue(text) else "question", text)


def _named(words: list[str]) -> str:
    name = "".join(words)
    return "all" if name.upper() == "ALL" else name


def _without_ends(tokens: list[Token]) -> list[Token]:
    """Return the words of a text without what begins or ends its statements."""
    while tokens and _is_end(tokens[-1]):
        tokens = tokens[:-1]
    while tokens and _is_end(tokens[0]):
        tokens = tokens[1:]
    return tokens


def _is_end(token: Token) -> bool:
    return token.text == ";" and token.start == token.end  # not in quotes


def _setting(sql: str, tokens: list[Token]) -> Command:
    local = bool(tokens) and tokens[0].text.upper() == "LOCAL"
    if tokens and tokens[0].text.upper() in ("SESSION", "LOCAL"):
        tokens = tokens[1:]
    words = [token.text for token in tokens]
    equals = next((n for n, word in enumerate(words) if word == "=" or word.upper() == "TO"), None)
    if not equals:
        # SET TIME ZONE …, SET TRANSACTION …, SET NAMES …: what they say is so already, or has no meaning
        return Command("set", name=" ".join(words[:2]).lower(), value=" ".join(words[2:]))
    value, name = tokens[equals + 1 :], "".join(words[:equals]).lower()
    if len(value) == 1:  # a word, or a text without its quotes
        unset = value[0].text.upper() == "DEFAULT"
        return Command("set", name=name, value=None if unset else value[0].text, local=local)
    text = sql[value[0].start : value[-1].end + 1] if value else ""
    return Command("set", name=name, value=text, local=local)


def _explained(before: str, sql: str) -> str:
    """Return the question that is to be explained, without what only PostgreSQL's EXPLAIN takes."""
    text = before + sql[len(before) :]
    tokens = tokens_within_limits(text)
    if tokens and tokens[0].text == "(":
        end = next((n for n, token in enumerate(tokens) if token.text == ")"), len(tokens))
        tokens = tokens[end + 1 :]
    while tokens and tokens[0].text.upper() in ("ANALYZE", "ANALYSE", "VERBOSE"):
        tokens = tokens[1:]
    tokens = _without_ends(tokens)
    if not tokens:
        return ""
    return _blank(text[: tokens[0].start]) + text[tokens[0].start : tokens[-1].end + 1]


def _blank(text: str) -> str:
    """Return as much blank space, so that whatever follows stays in its place."""
    return "".join(letter if letter == "\n" else " " for letter in text)
