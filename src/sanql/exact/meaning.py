"""What an exact release means: the real world against one that was never told your value.

*Real* are the cells as they are. *Ideal* are cells that a simulator makes which has everybody's record
but yours (Bassily, Groce, Katz, Smith, Definition 3). The certificate says how far the two may be
apart, so no test tells them apart better than `tests` says, and whoever sees one of the two, as likely
this as that, names it rightly at most (1 + advantage)/2 of the time.

What is *believed* of a value is another comparison, of two values v and v′ of yours: the cells are then
apart by the whole range and not by half of it (Definition 6, `SumAdversary.noiseless`; for a yes/no
column the simulator fills in one of the values, so that the two comparisons are one). Facts about your
value are mixtures of values, and the hockey-stick divergence is convex, so odds of any fact move no
further. That needs the other records not to depend on yours, which the classes say. Of a histogram,
whose simulator leaves you out, no such comparison is proved here, and none is claimed; nor of a verdict,
whose class lets your record tell of the law that all records have.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sanql.errors import Refused
from sanql.mechanisms.noiseless import NOISELESS, NoiselessCertificate, SumAdversary, epsilon_at
from sanql.numbers import number_upper
from sanql.policy import show_number
from sanql.policy.exact import BinaryColumn, Exact, ExactValues, ExactVerdict
from sanql.theory.closed_forms import GuaranteedPair
from sanql.theory.meaning import (
    FALSE_POSITIVE_RATES,
    loss_bound,
    percent_down,
    percent_up,
    posterior_band_at,
)

PRIOR = 0.5
"""The belief that is followed where none is named."""


def meaning_of_release(
    exact: Exact, least: int, certified: Sequence[NoiselessCertificate], prior: float = PRIOR
) -> dict[str, object]:
    """Return the two worlds of a release, how well they are told apart, and what may be believed.

    `certified` are points of one privacy profile, all of which hold.
    """
    pairs = [GuaranteedPair(point.epsilon, point.delta_upper) for point in certified]
    advantage = min(pair.hockey_stick(1.0) for pair in pairs)
    tests = [
        {"false_alarms": rate, "missed_at_least": max(pair.tradeoff(rate) for pair in pairs)}
        for rate in FALSE_POSITIVE_RATES
    ]
    even = min(1.0, number_upper((1 + Fraction(advantage)) / 2))
    told: dict[str, object] = {
        "real": _real(exact),
        "ideal": _ideal(exact),
        "advantage_upper": advantage,
        "even_guess_upper": even,
        "tests": tests,
    }
    belief = _belief(exact, least, certified[-1])
    words = [
        f"real world: {told['real']}; ideal world: {told['ideal']}",
        f"shown the cells of one of these worlds, as likely the one as the other, nobody of the class"
        f" says which more often than {percent_up(even)} of the time; a test that takes ideal cells"
        f" for real ones 5% of the time misses real ones at least"
        f" {percent_down(max(pair.tradeoff(0.05) for pair in pairs))} of the time",
    ]
    if belief is not None:
        loss, failure = belief
        low, high = posterior_band_at(loss, prior)
        told["belief"] = {
            "prior": prior,
            "posterior": [low, high],
            "failure": failure,
            "loss_upper": loss,
            "fact": f"any fact about your {_column(exact)}",
        }
        words.append(
            f"any fact about your {_column(exact)} that somebody of the class holds for"
            f" {percent_down(prior)} likely before is for them {percent_down(low)} to"
            f" {percent_up(high)} likely after, except with probability {failure:.3g}"
        )
    return told | {"words": words}


def _real(exact: Exact) -> str:
    if isinstance(exact, ExactValues):
        return f"the sums of {exact.column} of everybody in each cell"
    if isinstance(exact, ExactVerdict):
        return f"{exact.verdict.name}, over the {exact.column} of everybody in each cell"
    return "the counts of everybody who was sampled, small cells as 0"


def _ideal(exact: Exact) -> str:
    match exact:
        case ExactValues(adversary=BinaryColumn()):
            return "the sums without your value, one and the same value in its place"
        case ExactValues():
            middle = exact.middle * exact.grid
            return f"the sums without your value, {show_number(middle)} in its place"
        case ExactVerdict():
            return "the same, without your record"
        case _:
            return "the counts as if you had not been sampled, small cells as 0"


def _column(exact: Exact) -> str:
    return exact.column if isinstance(exact, ExactValues) else "record"


def _belief(
    exact: Exact, least: int, certified: NoiselessCertificate
) -> tuple[float, float] | None:
    """Return how far odds about a value move and how likely further; None where nothing is proved."""
    if not isinstance(exact, ExactValues):
        return None
    against = exact.against(least - 1)
    apart = certified
    if isinstance(against, SumAdversary):
        try:
            apart = epsilon_at(against.noiseless(), exact.accept.delta, definition=NOISELESS)
        except Refused:  # a value may move the sum further than it can otherwise vary
            return None
    failure = max(min(1e-3, 1000 * apart.delta_upper), min(1.0, 10 * apart.delta_upper))
    return loss_bound(GuaranteedPair(apart.epsilon, apart.delta_upper), failure), failure
