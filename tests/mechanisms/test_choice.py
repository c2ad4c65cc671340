"""The exponential mechanism draws what it says, whatever is left out at first."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

import pytest
from scipy.stats import chi2

from sanql.entropy import OsEntropy
from sanql.mechanisms.choice import Runs, draw_choice

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
class Scripted:
    """Entropy that begins with these bytes and goes on with the same one."""

    begins: bytes
    goes_on: int

    def bytes(self, count: int) -> bytes:
        given, self.begins = self.begins[:count], self.begins[count:]
        return given + bytes([self.goes_on]) * (count - len(given))


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7, 3), Fraction(100)])
def test_candidates_come_up_as_often_as_their_weights_say(scale: Fraction) -> None:
    line = Line([4, 0, 1, 1, 9, 0, 5, 2, 2, 30])
    draws = 4000
    found = Counter(draw_choice(scale, line, OsEntropy()) for _ in range(draws))
    weights = [math.exp(-distance / scale) for distance in line.distances]
    expected = [draws * weight / sum(weights) for weight in weights]
    common = [place for place, number in enumerate(expected) if number >= 20]
    pairs = [(found[place], expected[place]) for place in common]
    rest = draws - sum(a for a, _ in pairs), draws - sum(b for _, b in pairs)
    if rest[1] >= 20:
        pairs.append(rest)
    statistic = sum((a - b) ** 2 / b for a, b in pairs)
    assert statistic <= chi2.isf(FALSE_ALARM, max(1, len(pairs) - 1))


def test_what_was_left_out_comes_up_where_the_digits_say_so() -> None:
    line = Line([0, 1000])
    # the digits of U are all ones, so it lies above every edge that leaves anything beyond it
    assert draw_choice(Fraction(2), line, Scripted(b"", 255)) == 1
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
        assert draw_choice(Fraction(2), line, Scripted(first + more, 0)) == place


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
