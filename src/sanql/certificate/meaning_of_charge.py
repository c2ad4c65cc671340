"""What a charge means: the best belief and the best test of an attacker who knows everything else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, assert_never

from sanql.account import (
    Charge,
    Event,
    FailureEvent,
    GaussianEvent,
    LaplaceEvent,
    SelectionEvent,
    epsilon_upper,
    leak,
)
from sanql.certificate.protected_also import also_protected
from sanql.numbers import number_lower, number_upper, show_upper
from sanql.policy import Neighbours, Protections

if TYPE_CHECKING:
    from sanql.theory.closed_forms import Pair
    from sanql.theory.composed import Noise as Noises

PRIOR = 0.5
FALSE_ALARM = 0.05
TELLING = 500  # beyond this epsilon an answer may tell everything, and nothing is computed
COARSE = Fraction(1, 100)  # a delta at which Gaussian noise shows a smaller epsilon than its own


def meaning(
    charge: Charge, unit: str, neighbours: Neighbours, protections: Protections | None = None
) -> dict[str, object]:
    """Return what a charge means: the best belief and the best test of an informed attacker.

    Both are those of the noise actually used, its losses added up over all cells and statistics; where
    that says no more, those of the guarantee. `loss_upper` is how far the logarithm of any odds moves,
    so that it is known at any other belief too (`Certificate.meaning_at`). What the owner declares to be
    protected besides is `also` told.
    """
    also = also_protected(charge, protections, neighbours, _of_case)
    low, high, failure, missed, loss = _told(charge)
    exception = f", except with probability {failure:g}" if failure else ""
    return {
        "prior": PRIOR,
        "posterior": [low, high],
        "posterior_failure": failure,
        "false_alarm": FALSE_ALARM,
        "missed_at_least": missed,
        "loss_upper": loss,
        "fact": _fact(unit, neighbours),
        "words": (
            f"Somebody who thinks it {PRIOR:.0%} likely that {_fact(unit, neighbours)}, and knows "
            f"everything else, can come to think it at most {_percent_up(high)} and at least "
            f"{_percent_down(low)} likely{exception}. A test of it with {FALSE_ALARM:.0%} "
            f"false alarms misses at least {_percent_down(missed)} of the time. "
            f"(epsilon = {show_upper(charge.epsilon)}, delta = {show_upper(charge.delta)})"
        ),
        **({"also": also} if also else {}),
    }


def _of_case(charge: Charge | None, what: str) -> dict[str, object]:
    """Return what a charge means for something that the owner declares to be protected besides."""
    if charge is None:
        return {"words": f"also: {what}: nothing is promised"}
    low, high, failure, missed, loss = _told(charge)
    exception = f", except with probability {failure:g}" if failure else ""
    return {
        "epsilon": number_upper(charge.epsilon),
        "delta": number_upper(charge.delta),
        "posterior": [low, high],
        "posterior_failure": failure,
        "missed_at_least": missed,
        "loss_upper": loss,
        "words": (
            f"also: {what}: epsilon {show_upper(charge.epsilon)}, delta {show_upper(charge.delta)}; what "
            f"is thought {PRIOR:.0%} likely can come to be thought {_percent_down(low)} to "
            f"{_percent_up(high)} likely{exception}, and a test with {FALSE_ALARM:.0%} false alarms "
            f"misses at least {_percent_down(missed)} of the time"
        ),
    }


def belief_after(charge: Charge | None, prior: float) -> str:
    """Return the most that a belief may become, in words; None is a charge that promises nothing."""
    from sanql.theory.meaning import percent_up, posterior_band_at

    if charge is None:
        return "100%"
    _, _, failure, _, loss = _told(charge)
    high = posterior_band_at(math.inf if loss is None else loss, prior)[1]
    return f"{percent_up(high)}" + (f" (except with probability {failure:g})" if failure else "")


def hits_of(charge: Charge | None, false_alarms: float) -> str:
    """Return how often a test with these false alarms hits at most, in words."""
    from sanql.theory.meaning import percent_up

    pairs = _pairs(charge) if charge is not None and charge.epsilon <= TELLING else []
    missed = max((pair.tradeoff(false_alarms) for pair in pairs), default=0.0)
    return percent_up(math.nextafter(1 - missed, math.inf) if missed else 1.0)


@lru_cache(maxsize=1_000)  # many questions have the same price
def _told(charge: Charge) -> tuple[float, float, float, float, float | None]:
    """Return least and greatest belief, how likely they fail, how often the best test misses, and how
    far the logarithm of odds moves (None where nothing is said of it)."""
    from sanql.theory.meaning import loss_bound, posterior_band_at

    failure = min(1e-3, 1000 * number_upper(charge.delta))
    pairs = _pairs(charge) if charge.epsilon <= TELLING else []
    loss = min((loss_bound(pair, failure) for pair in pairs), default=math.inf)
    low, high = posterior_band_at(loss, PRIOR)
    missed = max((pair.tradeoff(FALSE_ALARM) for pair in pairs), default=0.0)
    return low, high, failure, missed, None if loss == math.inf else loss


def _fact(unit: str, neighbours: str) -> str:
    """Return what an attacker wants to know, in words."""
    return (
        f"{unit} is in the data" if neighbours == "add-remove" else f"{unit} is what they suspect"
    )


def _pairs(charge: Charge) -> list[Pair]:
    """Return pairs of output laws at least as easy to tell apart as any two neighbours' answers."""
    from sanql.theory.closed_forms import GuaranteedPair
    from sanql.theory.composed import composed_pair
    from sanql.theory.discrete_noise import DiscreteGaussianPair, DiscreteLaplacePair

    pairs: list[Pair] = [GuaranteedPair(number_upper(charge.epsilon), number_upper(charge.delta))]
    match charge.events:
        case (LaplaceEvent(scale, l1, linf),) if l1 == linf and charge.delta == 0:
            pairs.append(DiscreteLaplacePair(number_lower(scale), l1))
        case (GaussianEvent(sigma2, squared),) if squared == 1 and sigma2 < 10**8:
            pairs.append(DiscreteGaussianPair(math.sqrt(number_lower(sigma2)) * (1 - 2**-50)))
        case events if any(isinstance(event, GaussianEvent) for event in events):
            delta = max(COARSE, charge.delta)
            pairs.append(
                GuaranteedPair(number_upper(epsilon_upper(events, delta)), number_upper(delta))
            )
    together = composed_pair(_noises(charge.events), leak(charge.events))
    return [*pairs, together] if together is not None and charge.events else pairs


def _noises(events: Iterable[Event]) -> Iterator[Noises]:
    """Yield the noises of events as theory knows them; what leaks is counted apart."""
    from sanql.theory.composed import GaussianNoise, LaplaceNoise, Responses

    for event in events:
        match event:
            case LaplaceEvent(scale, l1, linf):
                yield LaplaceNoise(scale, l1, linf)
            case GaussianEvent(sigma2, l2_squared):
                yield GaussianNoise(sigma2, l2_squared)
            case SelectionEvent(epsilon, _, cells):
                yield Responses(epsilon, cells)
            case FailureEvent():
                pass
            case _:
                assert_never(event)


def _percent_up(share: float) -> str:
    return f"{math.ceil(share * 1000) / 10:g}%"


def _percent_down(share: float) -> str:
    return f"{math.floor(share * 1000) / 10:g}%"
