"""One entry of the allow-list: how it is written, why it is total, what is proved of its result."""

from __future__ import annotations

from dataclasses import dataclass

from sanql.functions.facts import Rule


@dataclass(frozen=True)
class Function:
    """An operator or function: its rule, and what the documentation says about it.

    `names` are the spellings that take their operands in the order of `written`; operators have
    none. `takes` is the least and the largest number of operands.
    """

    op: str
    written: str
    rule: Rule
    total: str
    bounds: str
    names: tuple[str, ...] = ()
    takes: tuple[int, int] = (1, 1)


def rules(*functions: Function) -> dict[str, Rule]:
    """Return the rule of each operator; two entries for one operator are a mistake."""
    by_operator = {function.op: function.rule for function in functions}
    assert len(by_operator) == len(functions)  # noqa: S101  (checked once, when the tables are read)
    return by_operator
