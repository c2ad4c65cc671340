"""What an individual gets: protection from harm and plausible deniability, as numbers (lecture 21.2.1).

Harm: whatever somebody does because of an answer, and whoever is hurt by it, it is hardly likelier
because one's data were used. Deniability: whatever the answer, "my record was another" stays
believable; its odds against the truth fall by no more than the likelihood ratio of the answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from sanql.theory.channels import Channel, Database
from sanql.theory.distributions import Outcome
from sanql.theory.errors import TheoryError
from sanql.theory.exact import INFINITE, Extended, Real, as_gamma, as_probability, quoted
from sanql.theory.neighbours import Neighbours


@dataclass(frozen=True)
class Harm:
    """The chance of harm without one's data, and the least and largest chance with them."""

    baseline: Fraction
    least: Fraction
    largest: Fraction


def allowed_harm(baseline: Real, gamma: Real, delta: Real = 0) -> Harm:
    """Return how likely (epsilon, delta) allows a harm to become, of a baseline; attained by some
    mechanism.

    Both the harm and its absence are events: each is at most gamma times as likely, plus delta.

    >>> allowed_harm("1/10", 2)
    Harm(baseline=Fraction(1, 10), least=Fraction(1, 20), largest=Fraction(1, 5))
    """
    chance = as_probability(baseline, "baseline")
    level, slack = as_gamma(gamma), as_probability(delta, "delta")
    largest = min(Fraction(1), level * chance + slack, 1 - (1 - chance - slack) / level)
    least = max(Fraction(0), (chance - slack) / level, 1 - level * (1 - chance) - slack)
    return Harm(chance, least, largest)


@dataclass(frozen=True)
class HarmDone:
    """The neighbours between which harmful outputs differ most: without one's data and with them."""

    without: Database
    using: Database
    harm: Harm


def harm_of(channel: Channel, neighbours: Neighbours, harmful: Iterable[Outcome]) -> HarmDone:
    """Return how much likelier one record makes an output that leads to harm, at worst.

    >>> from sanql.theory.channels import randomised_response
    >>> from sanql.theory.neighbours import change_one
    >>> coin = randomised_response(1, odds=3)
    >>> harm_of(coin, change_one(coin.databases), [(1,)]).harm.largest
    Fraction(3, 4)
    """
    event = tuple(harmful)
    for output in event:
        _known(channel, output)
    chances = {x: channel.row(x).probability(event) for x in channel.databases}
    ordered = [pair for left, right in neighbours.pairs for pair in ((left, right), (right, left))]
    without, using = max(ordered, key=lambda pair: chances[pair[1]] - chances[pair[0]])
    others = [chances[y] for x, y in ordered if x == without]
    return HarmDone(without, using, Harm(chances[without], min(others), max(others)))


@dataclass(frozen=True)
class Denial:
    """A claim that one's record was another, after one output.

    `odds` says how many times likelier the output is under the truth than under the claim; `refuted` is
    how often, at this truth, an output is seen that the claim excludes.
    """

    truth: Database
    claim: Database
    output: Outcome
    odds: Extended
    refuted: Fraction

    def believed(self, prior: Real = "1/2") -> Fraction:
        """Return the belief that the claim keeps, of one before, between truth and claim alone."""
        before = as_probability(prior, "prior")
        if self.odds == INFINITE or before == 0:
            return Fraction(0)
        return before / (before + (1 - before) * Fraction(self.odds))


def hardest_denial(channel: Channel, neighbours: Neighbours) -> Denial:
    """Return the claim that an output speaks most against; its odds are e^epsilon of the mechanism.

    >>> from sanql.theory.channels import randomised_response
    >>> from sanql.theory.neighbours import change_one
    >>> coin = randomised_response(1, odds=3)
    >>> told = hardest_denial(coin, change_one(coin.databases))
    >>> told.odds, told.believed()
    (Fraction(3, 1), Fraction(1, 4))
    """
    best: Denial | None = None
    for left, right in neighbours.pairs:
        for truth, claim in ((left, right), (right, left)):
            found = denial(channel, truth, claim)
            if best is None or (found.odds, found.refuted) > (best.odds, best.refuted):
                best = found
    assert best is not None  # noqa: S101  (a relation has a pair)
    return best


def denial(channel: Channel, truth: Database, claim: Database) -> Denial:
    """Return how a claim fares at its worst output, of the truth given."""
    rows, _ = channel.scaled
    seen, claimed = rows[channel.index(truth)], rows[channel.index(claim)]
    odds, place = max(
        (INFINITE if b == 0 else Fraction(a, b), -at)
        for at, (a, b) in enumerate(zip(seen, claimed, strict=True))
        if a
    )
    row = channel.masses(truth)
    refuted = sum((mass for mass, b in zip(row, claimed, strict=True) if b == 0), Fraction(0))
    return Denial(truth, claim, channel.outputs[-place], odds, refuted)


def _known(channel: Channel, output: Outcome) -> None:
    if output not in channel.outputs:
        raise TheoryError(
            "unknown_output",
            f"the mechanism has no output {quoted(output)}",
            f"use {', '.join(quoted(t) for t in channel.outputs[:8])}",
        )
