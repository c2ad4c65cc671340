"""The search that attacks an implication: random instances, and climbing from the worst one.

An instance is a genome of small integers, from which exact distributions are built. A measure
returns what was reached and what the implication allows; reaching more is a refutation.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from sanql.theory.exact import exp_upper, float_upper, log_upper
from sanql.theory.implications.guarantees import Guarantee, Setting, guarantee
from sanql.theory.implications.search import edge_named

Genome = Sequence[int]
Reached = tuple[Fraction | float, Fraction | float]
LARGEST = 12
NUDGES = (*[0] * 14, *[-1] * 7, *[1] * 7, *range(-3, 4))


@dataclass(frozen=True)
class Attack:
    """An implication under attack: its edges, the genome's length, and the measure.

    The first `rows` times `row` genes are rows of weights; most instances draw them near each
    other, since far rows only reach bounds that say nothing. Of a bound known to be tight the
    search must come near, and of any other, unless it is 0, within a quarter; after so many
    `instances` it has. Openings are looked at besides: they attain the bound, or would break one
    that was a little smaller.
    """

    edges: tuple[str, ...]
    length: int
    measure: Callable[[Genome], Reached | None]
    rows: int = 0
    row: int = 0
    tight: bool = False
    zero: bool = False
    openings: tuple[Genome, ...] = ()
    instances: int = 500

    def __str__(self) -> str:
        return self.edges[0]


def withstands(attack: Attack, instances: int) -> None:
    """Run the attack on its openings and so many exact instances."""
    for genome in attack.openings:
        assert _reached_of_allowed(attack, genome) is not None, "an opening says something"
    worst = search(attack, seed=20, instances=instances)
    assert 0 <= worst <= 1
    least = 0.9 if attack.tight else 0.25
    assert attack.zero or worst > least, "the search is too weak to come near the bound"


def search(attack: Attack, seed: int, instances: int) -> float:
    """Run the attack; return the largest reached/allowed, and fail above 1."""
    rng = random.Random(seed)
    worst, champion, tried = -1.0, None, 0
    for turn in range(50 * instances):
        if tried == instances:
            break
        genome = _drawn(attack, rng)
        if champion is not None and turn % 2:
            genome = list(champion)
            for _ in range(rng.choice((1, 1, 2))):
                genome[rng.randrange(attack.length)] = rng.randint(0, LARGEST)
        ratio = _reached_of_allowed(attack, genome)
        if ratio is None:
            continue
        tried += 1
        if ratio > worst:
            worst, champion = ratio, tuple(genome)
    assert tried == instances, f"only {tried} usable instances"
    return worst


def _reached_of_allowed(attack: Attack, genome: Genome) -> float | None:
    """Return what an instance reaches of what it is allowed, None where it proves nothing; fail
    above 1."""
    result = attack.measure(genome)
    if result is None:
        return None
    reached, allowed = result
    assert reached <= allowed, f"{attack.edges}: {reached} > {allowed} at {genome}"
    if allowed == 1:
        return None  # the conclusion says nothing here
    return float(reached) / float(allowed) if allowed else 0.0


def _drawn(attack: Attack, rng: random.Random) -> list[int]:
    # random() times a number instead of randint(): six times quicker, and even enough to search by
    draw = rng.random
    genome = [int(5 * draw()) for _ in range(attack.length)]
    genome = [gene if gene < 4 else int((LARGEST + 1) * draw()) for gene in genome]
    if attack.rows and draw() < 0.8:
        base = [int((LARGEST + 1) * draw()) for _ in range(attack.row)]
        for index in range(attack.rows * attack.row):
            nudge = NUDGES[int(len(NUDGES) * draw())]
            genome[index] = max(0, base[index % attack.row] + nudge)
    return genome


def laws(genome: Genome, count: int, size: int) -> list[list[Fraction]] | None:
    """Return `count` exact laws of `size` outcomes, None when some has no mass."""
    found = []
    for index in range(count):
        weights = genome[index * size : (index + 1) * size]
        total = sum(weights)
        if total == 0:
            return None
        found.append([Fraction(weight, total) for weight in weights])
    return found


def whole(rows: Sequence[Sequence[Fraction]]) -> list[list[int]]:
    """Return the rows as integers over one common denominator: what is compared stays the same."""
    common = math.lcm(*(mass.denominator for row in rows for mass in row))
    return [[mass.numerator * (common // mass.denominator) for mass in row] for row in rows]


def weights(genome: Genome, count: int, size: int) -> list[list[int]] | None:
    """Return the laws as integers with one common sum, None when some has no mass."""
    rows = [genome[index * size : (index + 1) * size] for index in range(count)]
    totals = [sum(row) for row in rows]
    if 0 in totals:
        return None
    common = math.lcm(*totals)
    return [[each * (common // own) for each in row] for row, own in zip(rows, totals, strict=True)]


def delta_between(p: Sequence[Fraction], q: Sequence[Fraction], gamma: Fraction) -> Fraction:
    """Return the two-sided delta of two laws at a level."""
    left, right = whole([p, q])
    return delta_of(left, right, gamma)


def delta_of(left: Sequence[int], right: Sequence[int], gamma: Fraction) -> Fraction:
    """Return the two-sided delta of two laws given as weights, which need not have one sum."""
    return Fraction(*_excess(left, right, gamma))


def are_far(left: Sequence[int], right: Sequence[int], gamma: Fraction, slack: Fraction) -> bool:
    """Whether the two-sided delta exceeds the slack."""
    top, bottom = _excess(left, right, gamma)
    return top * slack.denominator > slack.numerator * bottom


def _excess(left: Sequence[int], right: Sequence[int], gamma: Fraction) -> tuple[int, int]:
    """Return the two-sided delta as numerator and denominator.

    In integers: the same number as the library's fractions, ten times quicker.
    """
    of_left, of_right = sum(left), sum(right)
    to_left, to_right = gamma.denominator * of_right, gamma.denominator * of_left
    over_left, over_right = gamma.numerator * of_right, gamma.numerator * of_left
    forth = back = 0
    for a, b in zip(left, right, strict=True):
        if (gain := to_left * a - over_right * b) > 0:
            forth += gain
        if (gain := to_right * b - over_left * a) > 0:
            back += gain
    return max(forth, back), gamma.denominator * of_left * of_right


def level_gene(gene: int) -> Fraction:
    """Return a level between 1 and 7 from one gene."""
    return 1 + Fraction(gene, 2)


def share_gene(gene: int) -> Fraction:
    """Return a number strictly between 0 and 1 from one gene."""
    return Fraction(2 * gene + 1, 2 * LARGEST + 4)


def conclude(
    edge: str,
    kind: str,
    gamma: Fraction | None = None,
    setting: Setting | None = None,
    **rest: Fraction,
) -> Guarantee:
    """Return the conclusion of an edge, its premise rounded up to floats as in the library."""
    numbers = {name: float_upper(value) for name, value in rest.items()}
    if gamma is not None:
        numbers["epsilon"] = _epsilon(gamma)
    return _edge(edge).apply(guarantee(kind, **numbers), setting or Setting())


def gamma_of(found: Guarantee) -> Fraction | float:
    """Return the level a guarantee allows, rounded up."""
    top = exp_upper(found["epsilon"])
    return top if top == float("inf") else Fraction(top)


_epsilon = lru_cache(maxsize=64)(log_upper)
_edge = lru_cache(maxsize=64)(edge_named)
