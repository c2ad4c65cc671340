"""Membership: was this person's record used?

`tester` is the optimal test between two databases (Neyman-Pearson). `homer` is the attack on
published allele frequencies: with enough exact averages a person's own genotype correlates with
those of the study more than a stranger's does; noise on the averages takes the correlation away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sanql.theory.attackers.outcome import Learned
from sanql.theory.channels import Channel, Database
from sanql.theory.divergences import best_event, statistical_difference
from sanql.theory.exact import Real, as_count, as_nonnegative, as_probability
from sanql.theory.testing import errors, tradeoff

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def tester(channel: Channel, member: Database, absent: Database, false_positive: Real) -> Learned:
    """Return the best test of "the record was used" at a false alarm rate.

    The ideal world releases the same output for both, so a test is right no more often than chance.
    """
    rate = as_probability(false_positive, "false_positive")
    null, alternative = channel.row(absent), channel.row(member)
    power = 1 - tradeoff(null, alternative, rate)
    accept = best_event(null, alternative, 1)
    return Learned(
        "membership tester",
        f"true positive rate at false positive rate {rate}",
        power,
        rate,
        {
            "advantage": statistical_difference(null, alternative),
            "errors of the balanced test": errors(null, alternative, accept),
        },
    )


def homer(
    people: int, attributes: int, *, noise: float = 0.0, trials: int = 200, seed: int = 0
) -> Learned:
    """Return how often the correlation score is larger for a member than for a stranger; a tie is
    half a win.

    A study publishes the average of every attribute, each with Gaussian noise of the given
    deviation. The score of a person y is <y - population, published - population>. In the ideal
    world the member's record was replaced before publishing. 1/2 is chance.
    """
    import numpy as np

    for value, name in ((people, "people"), (attributes, "attributes"), (trials, "trials")):
        as_count(value, name)
    as_count(people * attributes, "people times attributes", most=10**8)
    noise = float(as_nonnegative(noise, "noise"))
    as_count(seed, "seed", least=0, most=2**63)
    rng = np.random.default_rng(seed)
    hits = np.zeros(2)
    for _ in range(trials):
        population = rng.uniform(0.2, 0.8, attributes)
        study = _drawn(rng, population, people)
        member, stranger = study[0], _drawn(rng, population, 1)[0]
        scrubbed = np.vstack([_drawn(rng, population, 1), study[1:]])
        for world, table in enumerate((study, scrubbed)):
            published = table.mean(axis=0) + noise * rng.standard_normal(attributes)
            scores = [
                float((y - population) @ (published - population)) for y in (member, stranger)
            ]
            hits[world] += (1 + np.sign(scores[0] - scores[1])) / 2
    real, ideal = (float(hit) / trials for hit in hits)
    return Learned(
        "Homer-style membership attack",
        "chance that the member scores above a stranger",
        real,
        ideal,
        {"people": people, "attributes": attributes, "noise": noise, "trials": trials},
    )


def _drawn(
    rng: np.random.Generator, population: NDArray[np.float64], people: int
) -> NDArray[np.float64]:
    drawn: NDArray[np.float64] = (rng.random((people, population.size)) < population).astype(float)
    return drawn
