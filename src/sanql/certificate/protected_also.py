"""What a charge means for public attributes and for groups, from the noise that it was paid for.

Neighbours are one step apart: a unit more or less (add-remove), or a unit with other data (change-one).
With public attributes two possible datasets differ in the private part of one unit, which is a step
under change-one and two under add-remove (out, and in again); a group of k is k times as many. Over n
steps every cell moves by at most n times as much, so Laplace noise has n times its sensitivities and
Gaussian noise n² times its square, and both are accounted for as such. What may fail outright, such as a
key that one unit alone has, has no such law: there it is (n·epsilon, delta·Σ e^{i·epsilon}, i < n).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import assert_never

from sanql.account import (
    Charge,
    Event,
    FailureEvent,
    GaussianEvent,
    LaplaceEvent,
    SelectionEvent,
    epsilon_upper,
)
from sanql.numbers import number_upper
from sanql.policy import Neighbours, Protections
from sanql.theory.exact import exp_upper

_TELLS_ALL = 500  # epsilons whose exponential says nothing any more


def cases_also_protected(protections: Protections, neighbours: Neighbours) -> list[tuple[str, int]]:
    """Return what else is protected, in words, and how many steps apart its possible data are.

    >>> from sanql.policy import Group
    >>> declared = Protections(("city",), Group(4, "household"))
    >>> for what, steps in cases_also_protected(declared, "add-remove"):
    ...     print(steps, what)
    2 everything but city, which may be known, of one unit in the data
    4 whether 4 units at most with the same household are in the data or stay away
    8 everything but city, which may be known, of 4 units at most with the same household in the data
    """
    out_and_in = 1 if neighbours == "change-one" else 2
    attributes, group = ", ".join(protections.public_attributes), protections.group
    private = f"everything but {attributes}, which may be known, of"
    found = [(f"{private} one unit in the data", out_and_in)] if attributes else []
    if group is not None:
        whole = f"{group.size} units at most" + (
            f" with the same {group.column}" if group.column else " together"
        )
        away = "are in the data or stay away" if neighbours == "add-remove" else "have other data"
        found.append((f"whether {whole} {away}", group.size))
        if attributes:
            found.append((f"{private} {whole} in the data", group.size * out_and_in))
    return found


def over_steps(charge: Charge, steps: int) -> Charge | None:
    """Return what is proved of data that are so many steps apart, as a charge; None if nothing is.

    >>> one = Charge((LaplaceEvent(Fraction(10), 1, 1),), Fraction(1, 10), Fraction(0))
    >>> over_steps(one, 4).epsilon
    Fraction(2, 5)
    """
    if steps == 1:
        return charge
    moved = tuple(_moved(event, steps) for event in charge.events)
    events = tuple(event for event in moved if event is not None)
    if len(events) == len(moved) and events:
        return Charge(events, epsilon_upper(events, charge.delta), charge.delta)
    delta = charge.delta
    if delta > 0:
        if charge.epsilon > _TELLS_ALL:
            return None
        growth = Fraction(exp_upper(number_upper(charge.epsilon)))
        delta *= sum((growth**i for i in range(steps)), Fraction(0))
    return Charge((), steps * charge.epsilon, delta) if delta < 1 else None


def also_protected(
    charge: Charge,
    protections: Protections | None,
    neighbours: Neighbours,
    told: Callable[[Charge | None, str], dict[str, object]],
) -> list[dict[str, object]]:
    """Return what a charge means for each case, `told` saying what a charge means for a fact."""
    return [
        {"what": what, "steps": steps} | told(over_steps(charge, steps), what)
        for what, steps in (
            [] if protections is None else cases_also_protected(protections, neighbours)
        )
    ]


def _moved(event: Event, steps: int) -> Event | None:
    match event:
        case LaplaceEvent(scale, l1, linf):
            return LaplaceEvent(scale, l1 * steps, linf * steps)
        case GaussianEvent(sigma2, l2_squared):
            return GaussianEvent(sigma2, l2_squared * steps**2)
        case SelectionEvent() | FailureEvent():
            return None
        case _:
            assert_never(event)
