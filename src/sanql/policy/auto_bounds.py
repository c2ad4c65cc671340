"""What a policy says about bounds that San finds: what finding those of one column may cost."""

from __future__ import annotations

from sanql.policy.budgets import parse_epsilon
from sanql.policy.columns import AUTO
from sanql.policy.keys import KEYS
from sanql.policy.model import AutoBounds
from sanql.policy.section import Section
from sanql.policy.values import show_number
from sanql.results import Budget

_REMEDY = "write auto_bounds = { epsilon = … }: the price, once, of the bounds of one column"


def read_auto_bounds(root: Section, dataset: Section, budget: Budget | None) -> AutoBounds | None:
    """Return the price of finding bounds, which must be stated when a column has them found."""
    if "auto_bounds" not in dataset.content and _any_auto(root):
        dataset.fault(
            "auto_bounds", f'auto_bounds is missing, and a column has bounds = "{AUTO}"', _REMEDY
        )
    declared = dataset.section("auto_bounds", _REMEDY)
    if declared is None:
        return None
    declared.allow(KEYS["auto_bounds"])
    epsilon = declared.require("epsilon", parse_epsilon, _REMEDY)
    if epsilon is None:
        return None
    if budget is not None and epsilon >= budget.epsilon:
        declared.fault(
            "epsilon",
            f"{show_number(epsilon)} leaves nothing of the dataset's epsilon"
            f" {show_number(budget.epsilon)} for the question itself",
            "lower it, or raise the dataset's budget",
        )
    return AutoBounds(epsilon)


def _any_auto(root: Section) -> bool:
    """Return whether any column asks for it, also in a table that has faults of its own."""
    tables = root.content.get("table")
    for table in tables.values() if isinstance(tables, dict) else ():
        columns = table.get("column") if isinstance(table, dict) else None
        for column in columns.values() if isinstance(columns, dict) else ():
            if isinstance(column, dict) and column.get("bounds") == AUTO:
                return True
    return False
