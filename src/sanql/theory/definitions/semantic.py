"""Semantic privacy: the same conclusions whether or not my data is used (Kasiviswanathan-Smith).

In Game 0 the attacker sees A(x); in Game i he sees A(x with record i replaced by a default).
Privacy is small statistical difference between the two posteriors. Where exactly one posterior is
undefined the difference is 1: skipping such outputs would call a mechanism private that is not
differentially private for any epsilon.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product

from sanql.theory.channels import Channel, Database
from sanql.theory.definitions.bayesian import largest_shift
from sanql.theory.definitions.finding import BeliefWitness, Finding, show
from sanql.theory.definitions.nearly_exact import NearlyExact, open_above
from sanql.theory.definitions.records import by_others, dropped, people
from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.divergences import statistical_difference
from sanql.theory.errors import TheoryError
from sanql.theory.exact import INFINITE, Extended, Real, as_probability, sqrt_near


def game_posterior(
    channel: Channel, belief: Distribution, output: Outcome, game: int, default: Outcome
) -> Distribution | None:
    """Return the posterior in Game 0 (real) or Game i (person i left out), None when undefined.

    People are numbered from 1 here, as in the paper.
    """
    if output not in channel.outputs or not 0 <= game <= people(channel):
        raise TheoryError(
            "unknown_output",
            f"the channel has no output {output!r} or no game {game}",
            f"give one of its outputs, and a game from 0 to {people(channel)}",
        )
    place = channel.outputs.index(output)
    weights = {
        x: mass * channel.masses(_seen(channel, x, game, default))[place]
        for x, mass in belief.items()
        if mass
    }
    return Distribution.from_weights(weights) if any(weights.values()) else None


def game_distance(
    channel: Channel, belief: Distribution, output: Outcome, game: int, default: Outcome
) -> Fraction:
    """Return SD between the posteriors of Game 0 and Game i; 1 when exactly one is undefined."""
    real = game_posterior(channel, belief, output, 0, default)
    without = game_posterior(channel, belief, output, game, default)
    if real is None or without is None:
        return Fraction(0) if real is without else Fraction(1)
    return statistical_difference(real, without)


def semantic_privacy(channel: Channel, default: Outcome) -> Finding:
    """Return the least tau with SD <= tau for every belief, output and person; exact.

    With w(x) = Pr[t|x]/Pr[t|x without i] and r = max w / min w the answer is
    (sqrt r - 1)/(sqrt r + 1), attained on a two-point belief.
    """
    return _worst_ratio(channel, default, [list(channel.databases)], "semantic privacy")


def informed_semantic_privacy(channel: Channel, default: Outcome) -> Finding:
    """Return the least tau for beliefs that know all records but one."""
    return _worst_ratio(
        channel, default, list(by_others(channel).values()), "semantic privacy, informed beliefs"
    )


def failure_probability(
    channel: Channel, belief: Distribution, tau: Real, default: Outcome
) -> Fraction:
    """Return Pr over t ~ A(b) of: some person's SD exceeds tau (Def. 2.3 for one belief)."""
    bad = bad_outputs(channel, belief, as_probability(tau, "tau"), default)
    return channel.output_of(belief).probability(bad)


def reality_oblivious_failure(
    channel: Channel, belief: Distribution, reality: Database, tau: Real, default: Outcome
) -> Fraction:
    """Return Pr over t ~ A(x) of: some person's SD exceeds tau (Def. A.1 for one belief, one x).

    An output that is impossible under the belief counts as failure.
    """
    bad = set(bad_outputs(channel, belief, as_probability(tau, "tau"), default))
    for output in channel.outputs:
        if game_posterior(channel, belief, output, 0, default) is None:
            bad.add(output)
    return channel.row(reality).probability(bad)


def believed_semantic_privacy(
    channel: Channel, belief: Distribution, tau: Real, default: Outcome
) -> Finding:
    """Return the failure probability of one belief with the conclusion that goes furthest wrong."""
    level = as_probability(tau, "tau")
    return Finding(
        "semantic privacy of the belief",
        {"tau": level, "delta": failure_probability(channel, belief, level, default)},
        furthest_conclusion(channel, belief, default),
    )


def reality_oblivious(
    channel: Channel, belief: Distribution, tau: Real, default: Outcome
) -> Finding:
    """Return the failure probability of one belief in the worst reality (Def. A.1)."""
    level = as_probability(tau, "tau")
    failures = {
        x: reality_oblivious_failure(channel, belief, x, level, default) for x in channel.databases
    }
    worst = max(failures, key=lambda x: failures[x])
    return Finding(
        "reality-oblivious semantic privacy of the belief",
        {"tau": level, "delta": failures[worst]},
        furthest_conclusion(channel, belief, default),
        note=f"worst when the database is {show(worst)}",
    )


def furthest_conclusion(channel: Channel, belief: Distribution, default: Outcome) -> BeliefWitness:
    """Return the output and person for which the two games' posteriors differ most."""
    games = range(1, people(channel) + 1)
    output, game = max(
        ((t, game) for t in channel.outputs for game in games),
        key=lambda choice: game_distance(channel, belief, choice[0], choice[1], default),
    )
    return BeliefWitness(
        game,
        output,
        belief,
        game_posterior(channel, belief, output, 0, default),
        game_posterior(channel, belief, output, game, default),
    )


def bad_outputs(
    channel: Channel, belief: Distribution, tau: Fraction, default: Outcome
) -> list[Outcome]:
    """Return the outputs after which some person's SD exceeds tau."""
    games = range(1, people(channel) + 1)
    return [
        t
        for t in channel.outputs
        if any(game_distance(channel, belief, t, game, default) > tau for game in games)
    ]


def _seen(channel: Channel, database: Database, game: int, default: Outcome) -> Database:
    return database if game == 0 else dropped(channel, database, game - 1, default)


def _worst_ratio(
    channel: Channel, default: Outcome, groups: list[list[Database]], definition: str
) -> Finding:
    best: Extended = Fraction(1)
    where: tuple[int, int, Database, Database] | None = None
    members = [[channel.index(x) for x in group] for group in groups]
    seen = [
        [channel.index(dropped(channel, x, person, default)) for x in channel.databases]
        for person in range(people(channel))
    ]
    nearly = NearlyExact.of(channel)
    for person, group, place in _suspects(channel, nearly, seen, members):
        if best == INFINITE:
            break
        rows = members[group]
        if nearly is not None:
            rows = nearly.extreme_rows(seen[person], rows, place)
        cells = [(x, channel.rows[x][place], channel.rows[seen[person][x]][place]) for x in rows]
        above, below, high, low = _extremes(cells)
        if where is None or _exceeds(above, below, Fraction(best)):
            best = above / below if below else INFINITE
            where = (person, place, channel.databases[high], channel.databases[low])
    assert where is not None  # noqa: S101  (there is at least one person and one output)
    return Finding(
        definition,
        {"tau": largest_shift(best), "ratio": best},
        _witness(channel, default, best, where),
    )


def _suspects(
    channel: Channel,
    nearly: NearlyExact | None,
    seen: Sequence[Sequence[int]],
    members: Sequence[Sequence[int]],
) -> Iterable[tuple[int, int, int]]:
    """Return (person, group, output) wherever the largest ratio may be, in order."""
    if nearly is None:
        return product(range(len(seen)), range(len(members)), range(len(channel.outputs)))
    found = [nearly.highest_shifts(each, members) for each in seen]
    floor = open_above(max(largest for largest, _ in found))
    return [
        (person, group, place)
        for person, (largest, places) in enumerate(found)
        if largest >= floor
        for group, place in places
    ]


def _extremes(
    pairs: Sequence[tuple[int, Fraction, Fraction]],
) -> tuple[Fraction, Fraction, int, int]:
    """Return max w / min w as two numbers, w = with/without, and the databases that attain it.

    Ratios are compared by cross-multiplication, 0/0 is skipped, and a second number of 0 means
    infinite.
    """
    possible = [pair for pair in pairs if pair[1] or pair[2]]
    if not possible:
        return Fraction(1), Fraction(1), pairs[0][0], pairs[0][0]
    high = low = possible[0]
    for pair in possible[1:]:
        if pair[1] * high[2] > high[1] * pair[2]:
            high = pair
        if pair[1] * low[2] < low[1] * pair[2]:
            low = pair
    return high[1] * low[2], high[2] * low[1], high[0], low[0]


def _exceeds(above: Fraction, below: Fraction, best: Fraction) -> bool:
    return below == 0 or above * best.denominator > best.numerator * below


def _witness(
    channel: Channel, default: Outcome, ratio: Extended, where: tuple[int, int, Database, Database]
) -> BeliefWitness:
    """Return the belief that attains it: b(X):b(Y) = 1/M[drop X] : sqrt(r)/M[drop Y].

    At an infinite ratio the belief is certain of a database that explains the output in one game
    only.
    """
    person, place, high, low = where
    output = channel.outputs[place]
    masses = [channel.masses(dropped(channel, x, person, default))[place] for x in (high, low)]
    if ratio == INFINITE:
        belief = Distribution.point(high if masses[0] == 0 else low)
    elif high == low:
        belief = Distribution.point(high)
    else:
        root = sqrt_near(Fraction(ratio))
        belief = Distribution.from_weights({high: 1 / masses[0], low: root / masses[1]})
    return BeliefWitness(
        person + 1,
        output,
        belief,
        game_posterior(channel, belief, output, 0, default),
        game_posterior(channel, belief, output, person + 1, default),
    )
