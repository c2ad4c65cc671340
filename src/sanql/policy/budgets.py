"""Who may spend how much: the budgets of the dataset, of each analyst and of coalitions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sanql.policy.attackers import read_attacker
from sanql.policy.keys import EPSILON_LEAST, EPSILON_MOST, KEYS
from sanql.policy.model import Accounting, Analyst, Coalition, Neighbours
from sanql.policy.pacing import read_pacing, read_reserved
from sanql.policy.section import Mistake, Section, quote, suggest
from sanql.policy.values import (
    number_between,
    parse_delta,
    parse_name,
    parse_number,
    show_number,
)
from sanql.results import Budget, PacedBudget

_BUDGET_REMEDY = "write budget = { epsilon = …, delta = … }"


def read_analysts(
    root: Section,
    accounting: Accounting | None,
    whole: Budget | None,
    neighbours: Neighbours | None,
) -> dict[str, Analyst]:
    """Return the analysts, whose own budgets must fit the whole one."""
    section = root.section("analyst", "write [analyst.NAME]")
    analysts: dict[str, Analyst] = {}
    if section is not None:
        for name, declared in section.named_sections(parse_name, "write [analyst.NAME]"):
            declared.allow(KEYS["analyst"])
            budget = _read_budget(declared, accounting, neighbours, whole)
            asked_at = declared.read(
                "epsilon_per_query",
                parse_epsilon,
                "write what a question costs that does not say, such as 0.1",
            )
            analysts[name] = Analyst(name, budget, asked_at)
    return analysts


def read_coalitions(
    root: Section,
    accounting: Accounting | None,
    whole: Budget | None,
    neighbours: Neighbours | None,
    shared: Budget | None,
) -> dict[str, Coalition]:
    """Return the coalitions of declared analysts, and those of all but whom a share is kept for.

    Shares are of the one budget that is `shared`, where there is one.
    """
    section = root.section("coalition", "write [coalition.NAME]")
    declared_analysts = root.content.get("analyst")
    analysts = list(declared_analysts) if isinstance(declared_analysts, dict) else []
    coalitions: dict[str, Coalition] = {}
    named = () if section is None else section.named_sections(parse_name, "write [coalition.NAME]")
    for name, declared in named:
        declared.allow(KEYS["coalition"])
        members = declared.require(
            "members", _members_among(analysts), "list two or more declared analysts"
        )
        budget = require_budget(declared, accounting, neighbours, whole)
        if members is not None and budget is not None:
            coalitions[name] = Coalition(name, members, budget)
    return coalitions | read_reserved(root, analysts, shared, [*coalitions])


def _members_among(analysts: list[str]) -> Callable[[object], frozenset[str]]:
    def parse(written: object) -> frozenset[str]:
        if not isinstance(written, list):
            raise Mistake(f"expected a list of analysts, not {quote(written)}")
        members: set[str] = set()
        for member in written:
            if not isinstance(member, str):
                raise Mistake(f"expected the name of an analyst, not {quote(member)}")
            if member not in analysts:
                raise Mistake(
                    f"no analyst {quote(member)} is declared",
                    suggest(member, analysts) if analysts else "declare [analyst.NAME] first",
                )
            if member in members:
                raise Mistake(f"{quote(member)} is listed twice", "list each analyst once")
            members.add(member)
        if len(members) < 2:
            raise Mistake(f"{quote(written)} is not a coalition of two or more")
        return frozenset(members)

    return parse


def require_budget(
    section: Section,
    accounting: Accounting | None,
    neighbours: Neighbours | None,
    whole: Budget | None = None,
) -> Budget | None:
    """Return the budget of a section that must have one, no larger than the whole."""
    if "budget" not in section.content:
        section.fault("budget", "budget is missing", _BUDGET_REMEDY)
    return _read_budget(section, accounting, neighbours, whole)


def _read_budget(
    section: Section,
    accounting: Accounting | None,
    neighbours: Neighbours | None,
    whole: Budget | None,
) -> Budget | None:
    budget = section.section("budget", _BUDGET_REMEDY)
    if budget is None:
        return None
    budget.allow(KEYS["budget"])
    if "attacker" in budget.content:
        if "epsilon" in budget.content:
            budget.fault(
                "epsilon", "an attacker decides epsilon", "remove epsilon, or remove attacker"
            )
        delta = _read_delta(budget, accounting)
        epsilon = read_attacker(budget, neighbours, delta)
    else:
        epsilon = budget.require(
            "epsilon", parse_epsilon, "write the most that may ever be spent, such as epsilon = 1.0"
        )
        delta = _read_delta(budget, accounting)
    if epsilon is None or delta is None:
        return None
    paced = read_pacing(budget, Budget(epsilon, delta))
    if paced is None:
        return None
    if whole is not None:
        for key, own, most in (
            ("epsilon", paced.epsilon, whole.epsilon),
            ("delta", delta, whole.delta),
        ):
            if own > most:
                written = "total" if isinstance(paced, PacedBudget) and key == "epsilon" else key
                budget.fault(
                    written if written in budget.content else "attacker",
                    f"{show_number(own)} is more than the dataset's {key} {show_number(most)} and"
                    " could never be spent",
                    "lower it, or raise the dataset's budget",
                )
    return paced


def parse_epsilon(written: object) -> Fraction:
    """Return an epsilon that could be spent."""
    if parse_number(written) <= 0:
        raise Mistake(f"{quote(written)} is not above 0")
    return number_between(EPSILON_LEAST, EPSILON_MOST)(written)


def _read_delta(budget: Section, accounting: Accounting | None) -> Fraction | None:
    remedy = "write a probability far below one in the number of units, such as delta = 1e-6"
    if "delta" not in budget.content and accounting != "renyi":
        return Fraction(0)
    delta = budget.require("delta", parse_delta, remedy)
    if delta == 0 and accounting == "renyi":
        budget.fault("delta", 'accounting = "renyi" needs a delta above 0', remedy)
        return None
    return delta
