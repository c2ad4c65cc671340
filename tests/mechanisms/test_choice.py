"""Permute and flip draws what it says, whatever is left out at first."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise, product

import pytest
from scipy.stats import chi2

from sanql.entropy import OsEntropy
from sanql.mechanisms.choice import Heads, Runs, draw_choice
from sanql.mechanisms.exponential import Exponential
from sanql.mechanisms.wheel import Wheel
from support.places import permute_and_flip

FALSE_ALARM = 1e-9


@dataclass
class Line:
    """Candidates 0, 1, …: each has the distance that is given for it; notes how far was asked."""

    distances: list[int]
    step: int = 3
    asked: list[int | None] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.distances)

    def runs(self, reach: int | None) -> Runs:
        self.asked.append(reach)
        near = sorted(
            (distance, place)
            for place, distance in enumerate(self.distances)
            if reach is None or distance <= reach
        )
        ones = [1] * len(near)
        return Runs([p for _, p in near], ones, [d for d, _ in near], self.count - len(near))


@dataclass
class Known(Exponential):
    """A time that is known."""

    time: Fraction

    def floor(self, bits: int) -> int:
        return math.floor(self.time * 2**bits)


@dataclass
class Scripted:
    """Entropy that begins with these bytes and goes on with the same one."""

    begins: bytes
    goes_on: int

    def bytes(self, count: int) -> bytes:
        given, self.begins = self.begins[:count], self.begins[count:]
        return given + bytes([self.goes_on]) * (count - len(given))


def agree(found: list[int], expected: list[float]) -> None:
    """Fail with probability at most FALSE_ALARM where these are draws with these expected numbers."""
    common = [place for place, number in enumerate(expected) if number >= 20]
    pairs = [(found[place], expected[place]) for place in common]
    rest = sum(found) - sum(a for a, _ in pairs), sum(found) - sum(b for _, b in pairs)
    if rest[1] >= 20:
        pairs.append(rest)
    statistic = sum((a - b) ** 2 / b for a, b in pairs)
    assert statistic <= chi2.isf(FALSE_ALARM, max(1, len(pairs) - 1))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "distances"),
    [
        (Fraction(1, 2), [4, 0, 1, 1, 9, 0, 5, 2, 2, 30]),
        (Fraction(7, 3), [4, 0, 1, 1, 9, 0, 5, 2, 2, 30]),
        (Fraction(100), [4, 0, 1, 1, 9, 0, 5, 2, 2, 30]),
        (Fraction(2), [0, 2]),  # here the exponential mechanism has 0.73 where this has 0.82
        (Fraction(5), [0, 1, 1, 1, 1, 1, 1, 1]),
    ],
)
def test_candidates_come_up_as_often_as_permuting_and_flipping_says(
    scale: Fraction, distances: list[int]
) -> None:
    line, draws = Line(distances), 4000
    found = Counter(draw_choice(scale, line, OsEntropy()) for _ in range(draws))
    chances = permute_and_flip([math.exp(-distance / scale) for distance in distances])
    agree([found[place] for place in range(len(distances))], [draws * each for each in chances])


def test_the_chances_of_permuting_and_flipping_are_those_of_every_order_and_coin() -> None:
    """For three candidates, one by one: 1 - p/2 for the best of two is the least of it."""
    assert permute_and_flip([1.0, 0.5]) == pytest.approx([0.75, 0.25])
    p, q = 0.5, 0.25
    best = (1 - p) * (1 - q) + (p * (1 - q) + q * (1 - p)) / 2 + p * q / 3
    assert permute_and_flip([1.0, p, q])[0] == pytest.approx(best)


def test_digits_of_an_exponential_are_those_of_one_real_number() -> None:
    draws, bits = 4000, 24
    found: Counter[int] = Counter()
    low: Counter[int] = Counter()
    for _ in range(draws):
        drawn = Exponential(OsEntropy())
        first = drawn.floor(3)
        assert drawn.floor(bits) >> (bits - 3) == first
        assert drawn.floor(3) == first
        found[first] += 1
        low[drawn.floor(bits) % 8] += 1
    tails = [math.exp(-k / 8) for k in range(200)]
    agree([found[k] for k in range(199)], [draws * (a - b) for a, b in pairwise(tails)])
    agree([low[k] for k in range(8)], [draws / 8] * 8)  # so far down they are all but even


def test_what_was_left_out_comes_up_where_the_digits_say_so() -> None:
    line = Line([0, 1000])
    heads = Heads(Fraction(2), line)
    # the digits of U are all ones, so it lies above every edge that leaves anything beyond it
    number = int(Wheel(heads.weights).spin(Scripted(b"", 255), 1)[0])
    assert heads.of(number, OsEntropy()) == (1000, 1)
    first, *_, last = line.asked
    assert first is not None and last is not None and first < 1000 <= last
    assert line.count * math.exp(-first / 2) < 2.0**-80  # what it weighs at most, said the wheel
    assert draw_choice(Fraction(2), line, Scripted(b"", 0)) == 0


def test_an_edge_is_where_the_weights_put_it() -> None:
    """P(0) = 1/(1 + exp(-1)): digits just below and just above that number tell both apart."""
    line, bits = Line([0, 2], step=2), 64
    with_digits = Fraction(math.exp(1) / (math.exp(1) + 1))
    edge = math.floor(with_digits * 2**bits)
    for cell, place in ((edge - 2**14, 0), (edge + 2**14, 1)):
        first = (cell >> (bits - 16)).to_bytes(2, "little")
        # sixteen digits first, then the forty-eight below them as the upper ones of a word
        more = ((cell & (2 ** (bits - 16) - 1)) << 16).to_bytes(8, "little")
        heads = Heads(Fraction(2), line)
        number = int(Wheel(heads.weights).spin(Scripted(first + more, 0), 1)[0])
        assert heads.of(number, OsEntropy())[1] == place


def test_tails_are_before_heads_where_the_times_say_so() -> None:
    """Both times are known to eight digits at first; where these leave it open, more are asked for."""
    heads = Heads(Fraction(2), Line([0, 2], step=2))
    p, total = math.exp(-1), 1 + math.exp(-1)
    heads.weights(80)
    for whole, part in product(range(3), range(0, 256, 17)):
        edge = Fraction(
            (256 * whole + part) / 256 * total / (1 - p)
        )  # where the wait would be even
        for nudge, before in ((Fraction(1, 2**30), True), (-Fraction(1, 2**30), False)):
            waited = max(Fraction(0), edge + nudge)
            if edge + nudge < 0:
                continue
            first = Known(Fraction(256 * whole + part, 256))
            waits = [Known(waited / 3), Known(2 * waited / 3)]
            assert heads.after_tails(2, waits, first) is before


def test_who_was_passed_over_is_not_asked_again() -> None:
    """The second of two comes twice: after tails, and then with a time of first tails far ahead."""
    second, first = b"\xf0" * 10, b"\xb0" * 10  # 0.94 and 0.69: on either side of 1/(1 + exp(-1))
    nothing, nearly_one = bytes(10), b"\xf0" * 10  # of the digits of a time, whole part first
    script = second + nothing + nothing + nothing + nearly_one + second + first
    assert draw_choice(Fraction(2), Line([0, 2], step=2), Scripted(script, 0)) == 0


def test_the_only_candidate_needs_no_luck() -> None:
    assert draw_choice(Fraction(1), Line([0]), Scripted(b"", 255)) == 0


def test_within_a_run_all_are_equally_likely() -> None:
    @dataclass
    class One:
        count: int = 5
        step: int = 1

        def runs(self, reach: int | None) -> Runs:
            return Runs([10, 20], [2, 3], [0, 0], 0)

    draws = 3000
    found = Counter(draw_choice(Fraction(1), One(), OsEntropy()) for _ in range(draws))
    assert set(found) == {10, 11, 20, 21, 22}
    statistic = sum((number - draws / 5) ** 2 / (draws / 5) for number in found.values())
    assert statistic <= chi2.isf(FALSE_ALARM, 4)
