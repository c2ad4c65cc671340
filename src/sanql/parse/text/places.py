"""Where in a question a refusal is about: the line and column at which the refused part begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from sanql.errors import Place, Refused

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token


def place_of(node: object) -> Place | None:
    """Return where a node, or the first of several, begins, as far as the grammar remembers."""
    nodes = node if isinstance(node, list) else [node]
    known = [
        part.meta
        for each in nodes
        if isinstance(each, exp.Expr)
        for part in each.walk()
        if part._meta and "start" in part._meta and "line" in part._meta
    ]
    if not known:
        return None
    return _begins(min(known, key=lambda meta: int(meta["start"])))


def places_within(tree: exp.Expr) -> Mapping[int, Place]:
    """Return where each node of a tree begins, by the node's id: `place_of` them all, in one pass."""
    first: dict[int, dict[str, Any]] = {}
    for node in reversed(list(tree.walk())):  # what is inside comes before what is around it
        inside, own = first.get(id(node)), node._meta
        if own and "start" in own and "line" in own:
            inside = own if inside is None or own["start"] <= inside["start"] else inside
        if inside is None:
            continue
        first[id(node)] = inside
        around = first.get(id(node.parent))
        if around is None or inside["start"] < around["start"]:
            first[id(node.parent)] = inside
    return {number: _begins(meta) for number, meta in first.items()}


def _begins(meta: Mapping[str, Any]) -> Place:
    return int(meta["line"]), int(meta["col"] - meta["end"] + meta["start"])


def place_of_token(token: Token) -> Place:
    """Return where a word of the text begins."""
    return token.line, max(1, token.col - token.end + token.start)


def place_of_letter(text: str, index: int) -> Place:
    """Return where a letter of the text stands."""
    before = text[:index].split("\n")
    return len(before), len(before[-1]) + 1


def located(refused: Refused, node: object) -> Refused:
    """Return a refusal with the place of a node, unless it knows a nearer one."""
    return refused if refused.place is not None else refused.at(place_of(node))


@contextmanager
def at(node: object) -> Iterator[None]:
    """Let what is refused inside say that it is about this node."""
    try:
        yield
    except Refused as refused:
        raise located(refused, node) from None
