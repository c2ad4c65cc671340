"""Budgets that are opened by and by, shares of them that are kept for some, and when to tell of it."""

from __future__ import annotations

from fractions import Fraction

from sanql.policy.keys import EPSILON_LEAST, EPSILON_MOST, KEYS, PERIODS
from sanql.policy.model import ALERTS_DEFAULT, Coalition
from sanql.policy.section import Mistake, Section, quote
from sanql.policy.values import number_between, one_of, parse_name, parse_number, show_number
from sanql.results import Budget, PacedBudget

_ALERTS_MOST = 10
_REMEDY = 'write budget = { epsilon = 1, per = "month", total = 12 }'


def read_pacing(budget: Section, promised: Budget) -> Budget | None:
    """Return a budget with the tranches that it is opened by, if it has such.

    Of one that has, `promised` has the epsilon of a tranche, and `total` is what all come to.
    """
    if "per" not in budget.content and "total" not in budget.content:
        return promised
    if "attacker" in budget.content:
        budget.fault("per", "an attacker decides all of epsilon at once", "write epsilon and total")
        return None
    per = budget.require("per", one_of(PERIODS), _REMEDY)
    total = budget.require("total", _parse_total, _REMEDY)
    if per is None or total is None:
        return None
    if total < promised.epsilon:
        budget.fault(
            "total",
            f"{show_number(total)} is less than a tranche of {show_number(promised.epsilon)}",
            "total is what all tranches come to: raise it, or lower epsilon",
        )
        return None
    return PacedBudget(total, promised.delta, promised.epsilon, per)


def _parse_total(written: object) -> Fraction:
    if parse_number(written) <= 0:
        raise Mistake(f"{quote(written)} is not above 0")
    return number_between(EPSILON_LEAST, EPSILON_MOST)(written)


def read_reserved(
    root: Section, analysts: list[str], whole: Budget | None, taken: list[str]
) -> dict[str, Coalition]:
    """Return, for each share of the budget that is kept for some, everybody else as a coalition.

    The others together may spend what is not reserved, so the rest is there for whom it is kept.
    """
    section = root.section("reserved", "write [reserved.NAME]")
    others: dict[str, Coalition] = {}
    if section is not None and whole is None:
        section.fault(
            (),
            "shares are of one budget, and each kind of unit has its own",
            "leave [reserved] out",
        )
    if section is None or whole is None:
        return others
    for name, declared in section.named_sections(parse_name, "write [reserved.NAME]"):
        declared.allow(KEYS["reserved"])
        share = declared.require("share", _parse_share, "write a share such as 0.3")
        members = declared.require("members", _parse_names, "list whom the share is kept for")
        if share is None or members is None:
            continue
        called, rest = f"all but {name}", frozenset(analysts) - members
        if strangers := sorted(members - {*analysts}):
            declared.fault(
                "members",
                f"no analyst {quote(strangers[0])} is declared",
                "declare [analyst.NAME] first",
            )
        elif not rest or called in taken:
            declared.fault(
                "members",
                "nobody else is declared, or a coalition has the name of the others",
                "leave the share out, or rename it",
            )
        else:
            others[called] = Coalition(called, rest, _part(whole, 1 - share))
    return others


def _part(budget: Budget, share: Fraction) -> Budget:
    if isinstance(budget, PacedBudget):
        tranche = budget.tranche * share
        return PacedBudget(budget.epsilon * share, budget.delta * share, tranche, budget.per)
    return Budget(budget.epsilon * share, budget.delta * share)


def _parse_share(written: object) -> Fraction:
    share = parse_number(written)
    if not 0 < share < 1:
        raise Mistake(f"{quote(written)} is not between 0 and 1")
    return share


def _parse_names(written: object) -> frozenset[str]:
    if not isinstance(written, list) or not written:
        raise Mistake(f"expected a list of analysts, not {quote(written)}")
    if any(not isinstance(each, str) for each in written):
        raise Mistake(f"expected names of analysts, not {quote(written)}")
    return frozenset(written)


def read_alerts(dataset: Section) -> tuple[Fraction, ...]:
    """Return the shares spent from which a budget, or a tranche of one, is told of."""
    alerts = dataset.read("alerts_at", _parse_alerts, "write shares spent, such as [0.5, 0.8]")
    return ALERTS_DEFAULT if alerts is None else alerts


def _parse_alerts(written: object) -> tuple[Fraction, ...]:
    if not isinstance(written, list) or len(written) > _ALERTS_MOST:
        raise Mistake(f"expected a list of a few shares such as [0.5, 0.8], not {quote(written)}")
    shares = [parse_number(each) for each in written]
    if any(not 0 < share <= 1 for share in shares):
        raise Mistake(f"{quote(written)} has a share that is not above 0 and at most 1")
    return tuple(sorted(set(shares)))
