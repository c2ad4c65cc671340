"""Claims about beliefs: semantic privacy, and from prior to posterior."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from sanql.theory.verifier.arithmetic import NONE, distance
from sanql.theory.verifier.reading import CertifiedChannel, Database, Rejected, number

_NEAR = Fraction(1, 2**80)


def shift(mechanism: CertifiedChannel, claim: dict[str, Any]) -> str:
    """Check the largest ratio r of likelihoods and tau = (sqrt r - 1)/(sqrt r + 1), rounded up.

    In `prior` the likelihoods are those of one record given the others; in `games` each is that with
    a person's data divided by that without, over all databases or (informed) given the others.
    """
    best: Fraction | None = Fraction(1)
    for values in _likelihoods(mechanism, claim["family"]):
        possible = [(a, b) for a, b in values if a or b]
        if any(not b for _, b in possible) or any(not a for a, _ in possible):
            best = None
            break
        ratios = [a / b for a, b in possible]
        if ratios and best is not None:
            best = max(best, max(ratios) / min(ratios))
    tau = number(claim["tau"])
    if claim["ratio"] == "infinite":
        fits = best is None and tau == 1
    else:
        ratio = number(claim["ratio"])
        low = max(NONE, tau - _NEAR)
        fits = best == ratio and (1 - tau) ** 2 * ratio <= (1 + tau) ** 2 and tau < 1
        fits = fits and (tau == 0 or (1 - low) ** 2 * ratio > (1 + low) ** 2)
    if not fits:
        raise Rejected("the largest ratio or the tau that follows from it is another")
    return "holds, and no smaller tau does"


def belief(mechanism: CertifiedChannel, claim: dict[str, Any]) -> str:
    """Check how often conclusions of one belief differ by more than tau.

    For the belief itself the chance is exact; for all beliefs it is what this one attains.
    """
    held = {
        tuple(x.split(",")) if x else (): number(mass)
        for x, mass in claim["evidence"]["belief"].items()
    }
    if (
        min(held.values()) < 0
        or sum(held.values()) != 1
        or not held.keys() <= mechanism.rows.keys()
    ):
        raise Rejected("the belief is no distribution over databases")
    tau, failing = number(claim["tau"]), NONE
    for t in mechanism.outputs:
        real = {x: mass * mechanism.rows[x].get(t, NONE) for x, mass in held.items()}
        for person in range(mechanism.people()):
            ideal = {x: mass * _without(mechanism, x, person, t) for x, mass in held.items()}
            if _apart(real, ideal) > tau:
                failing += sum(real.values(), NONE)
                break
    if claim["family"] == "one":
        if failing != number(claim["delta"]):
            raise Rejected("the belief is misled at another rate")
        return "holds for this belief, exactly"
    if failing < number(claim["at_least"]) or failing > number(claim["delta"]):
        raise Rejected("the belief is misled less often than claimed, or more often than allowed")
    return (
        "some belief attains at_least; the upper end is searched for, not part of the certificate"
    )


def _likelihoods(
    mechanism: CertifiedChannel, family: str
) -> Iterator[list[tuple[Fraction, Fraction]]]:
    """Yield, for each person, group of databases and output, likelihoods as (above, below)."""
    for person in range(mechanism.people()):
        for t in mechanism.outputs:
            groups: dict[Any, list[tuple[Fraction, Fraction]]] = {}
            for i in range(mechanism.people()) if family == "informed" else (person,):
                for x, row in mechanism.rows.items():
                    group = None if family == "games" else (i, x[:i], x[i + 1 :])
                    # one likelihood against another is a ratio of both to 1
                    below = Fraction(1) if family == "prior" else _without(mechanism, x, person, t)
                    groups.setdefault(group, []).append((row.get(t, NONE), below))
            for values in groups.values():
                if family != "prior" or any(a for a, _ in values):
                    yield values


def _without(mechanism: CertifiedChannel, x: Database, person: int, t: str) -> Fraction:
    replaced = (*x[:person], str(mechanism.default), *x[person + 1 :])
    if replaced not in mechanism.rows:
        raise Rejected("a database with the default record is missing")
    return mechanism.rows[replaced].get(t, NONE)


def _apart(real: dict[Database, Fraction], ideal: dict[Database, Fraction]) -> Fraction:
    """Return the distance of two posteriors from their weights; 1 where one of them is undefined."""
    one, two = sum(real.values(), NONE), sum(ideal.values(), NONE)
    if not one or not two:
        return NONE if one == two else Fraction(1)
    p = {",".join(x): mass / one for x, mass in real.items()}
    return distance(p, {",".join(x): mass / two for x, mass in ideal.items()})
