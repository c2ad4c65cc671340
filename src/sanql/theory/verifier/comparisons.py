"""Claims about pairs of laws: differential privacy, noiseless privacy, Pufferfish, its inference form."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sanql.theory.verifier.arithmetic import NONE, Law, both, exceeds_below, never_within
from sanql.theory.verifier.reading import (
    CertifiedChannel,
    Rejected,
    by_record,
    by_secret,
    conditioned,
    neighbouring,
    number,
)

_FAMILIES = {"neighbours": neighbouring, "records": by_record, "secrets": by_secret}


def pairs(mechanism: CertifiedChannel, claim: dict[str, Any]) -> str:
    """Check that every comparison is within (gamma, delta), and that one is no closer."""
    compared = _FAMILIES[claim["family"]](mechanism)
    delta, solved = number(claim["delta"]), claim["solved"]
    if not compared:
        least = delta == 0 if solved == "delta" else claim["gamma"] == "1"
        return _when(least, "nothing is compared, so nothing is claimed but the least")
    there = compared.get(claim["evidence"]["comparison"] or "")
    if claim["gamma"] == "infinite":
        fits = solved == "gamma" and there is not None and never_within(*there, delta)
        return _when(fits, "no level is enough for the comparison named")
    gamma = number(claim["gamma"])
    if gamma < 1 or delta < 0 or any(both(p, q, gamma) > delta for p, q in compared.values()):
        raise Rejected("a comparison is further apart than claimed")
    if solved == "delta":
        fits = there is not None and both(*there, gamma) == delta
    else:
        fits = gamma == 1 or (there is not None and exceeds_below(*there, gamma, delta))
    return _when(solved in ("delta", "gamma") and fits, f"holds, and no smaller {solved} does")


def secret_inference(mechanism: CertifiedChannel, claim: dict[str, Any]) -> str:
    """Check how often prior and posterior of a secret are apart, and that no less is enough."""
    rare, solved = number(claim["failure"]), claim["solved"]
    slack = number(claim["delta_hat"])
    contexts = list(_contexts(mechanism))
    if claim["gamma"] == "infinite":
        worst = _worst(contexts, lambda p, q: never_within(p, q, slack))
        return _when(solved == "gamma" and worst > rare, "no level is enough")
    gamma = number(claim["gamma"])
    worst = _worst(contexts, lambda p, q: both(p, q, gamma) > slack)
    if gamma < 1 or slack < 0 or worst > rare:
        raise Rejected("prior and posterior are apart more often than claimed")
    if solved == "failure":
        fits = worst == rare
    elif solved == "gamma":
        below = _worst(contexts, lambda p, q: exceeds_below(p, q, gamma, slack))
        fits = gamma == 1 or below > rare
    else:
        fits = slack == 0 or _worst(contexts, lambda p, q: both(p, q, gamma) >= slack) > rare
    return _when(fits and bool(contexts), f"holds, and no smaller {solved} does")


def _contexts(mechanism: CertifiedChannel) -> Any:
    """Yield, for each world, secret and z, the chance, the posterior and the prior of each output."""
    for world in range(len(mechanism.worlds)):
        for table in mechanism.secrets.values():
            for values in conditioned(mechanism, world, table.__getitem__).values():
                prior = {str(v): sum(cell.values(), NONE) for v, cell in values.items()}
                total = sum(prior.values(), NONE)
                laws = {str(v): mechanism.mixed(cell) for v, cell in values.items()}
                before = {v: mass / total for v, mass in prior.items()}
                found = []
                for t in mechanism.outputs:
                    seen = {v: before[v] * laws[v].get(t, NONE) for v in before}
                    chance = sum(seen.values(), NONE)
                    if chance:
                        after = {v: mass / chance for v, mass in seen.items()}
                        found.append((chance, after, before))
                yield found


def _worst(contexts: list[list[tuple[Fraction, Law, Law]]], bad: Any) -> Fraction:
    sums = (
        sum((chance for chance, after, before in outputs if bad(after, before)), NONE)
        for outputs in contexts
    )
    return max(sums, default=NONE)


def _when(fits: bool, proved: str) -> str:
    if not fits:
        raise Rejected("the evidence does not show that nothing smaller is enough")
    return proved
