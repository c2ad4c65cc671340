"""Every draw is the exact inverse of the distribution, checked bit by bit.

A sampler that maps a uniform real U to the value whose stretch of the cumulative distribution
holds U has exactly the right probabilities. So the tests write the digits of U on a tape, compute
the cumulative distribution with mpmath to 1,000 bits, and demand the right value for *every*
sixteen-digit prefix, and for the cells just below and just above the edges, down to 128 digits.
Nothing here is random: the bytes past the prefixes come from a fixed hash.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from sanql.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExactSampler,
    Noise,
    TruncatedGeometric,
)
from sanql.mechanisms.gaussian import _kept, _Proposals
from sanql.mechanisms.geometric import draw_truncated

pytestmark = pytest.mark.slow

MakeTape = Callable[[bytes], Any]
ALL = 1 << 16


def real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def spread(count: int) -> list[int]:
    """Return fixed 64-bit numbers that look random."""
    content = hashlib.shake_256(b"digits").digest(8 * count)
    return np.frombuffer(content, dtype="<u8").tolist()


def word16(numbers: Sequence[int]) -> bytes:
    return np.array(numbers, dtype="<u2").tobytes()


def word64(numbers: Sequence[int]) -> bytes:
    return np.array(numbers, dtype="<u8").tobytes()


def outward(count: int) -> list[int]:
    """Return 0, -1, 1, -2, 2, …: the order in which a wheel lists the integers."""
    return [index // 2 ^ -(index % 2) for index in range(count)]


def laplace_mass(scale: Fraction) -> Callable[[int], mpmath.mpf]:
    return lambda k: mpmath.exp(-abs(k) / real(scale))


def gaussian_mass(sigma2: Fraction) -> Callable[[int], mpmath.mpf]:
    return lambda k: mpmath.exp(-k * k / (2 * real(sigma2)))


def edges_of(weights: Sequence[mpmath.mpf], whole: mpmath.mpf) -> list[mpmath.mpf]:
    edges, total = [], mpmath.mpf(0)
    for weight in weights:
        total += weight
        edges.append(total / whole)
    return edges


def cell(edge: mpmath.mpf, bits: int) -> int:
    return int(mpmath.floor(mpmath.ldexp(edge, bits)))


def laplace_whole(scale: Fraction) -> mpmath.mpf:
    ratio = mpmath.exp(-1 / real(scale))
    return (1 + ratio) / (1 - ratio)


def gaussian_whole(sigma2: Fraction) -> mpmath.mpf:
    return mpmath.jtheta(3, 0, mpmath.exp(-1 / (2 * real(sigma2))))


# Noise that is one wheel: value, order and edges follow from the mass function alone.
ONE_WHEEL = {
    "laplace 1/50": (DiscreteLaplace(Fraction(1, 50)), 20),
    "laplace 1/3": (DiscreteLaplace(Fraction(1, 3)), 60),
    "laplace 1": (DiscreteLaplace(Fraction(1)), 120),
    "laplace 7/3": (DiscreteLaplace(Fraction(7, 3)), 260),
    "laplace 31/2": (DiscreteLaplace(Fraction(31, 2)), 1400),
    "gaussian 1/50": (DiscreteGaussian(Fraction(1, 50)), 12),
    "gaussian 1/3": (DiscreteGaussian(Fraction(1, 3)), 20),
    "gaussian 7/3": (DiscreteGaussian(Fraction(7, 3)), 40),
    "gaussian 1000": (DiscreteGaussian(Fraction(1000)), 640),
    "truncated 1, 3": (TruncatedGeometric(Fraction(1), 3), 8),
    "truncated 1/10, 127": (TruncatedGeometric(Fraction(1, 10), 127), 256),
}


def one_wheel_edges(noise: Noise, count: int) -> list[mpmath.mpf]:
    match noise:
        case DiscreteLaplace(scale):
            mass, whole = laplace_mass(scale), laplace_whole(scale)
        case DiscreteGaussian(sigma2):
            mass, whole = gaussian_mass(sigma2), gaussian_whole(sigma2)
        case TruncatedGeometric(epsilon, limit):
            # -limit-1 is proposed too, and left out
            mass = laplace_mass(1 / epsilon)
            whole = mpmath.fsum(mass(k) for k in range(-limit - 1, limit + 1))
        case _:
            raise AssertionError(noise)
    edges = edges_of([mass(k) for k in outward(count)], whole)
    return edges[:-1] if isinstance(noise, TruncatedGeometric) else edges


@pytest.mark.parametrize("name", ONE_WHEEL)
def test_every_prefix_gives_the_value_its_cell_lies_in(name: str, tape: MakeTape) -> None:
    noise, count = ONE_WHEEL[name]
    values, edges = outward(count), one_wheel_edges(noise, count)
    split = sorted({cell(edge, 16) for edge in edges} & set(range(ALL)))
    more = dict(zip(split, spread(len(split)), strict=True))
    cells = [word << 48 | more.get(word, 0) >> 16 for word in range(ALL)]
    fine = [cell(edge, 64) for edge in edges]
    assert not set(cells) & set(fine), "the fixed digits must not hit an edge"
    expected = [values[bisect_right(fine, each)] for each in cells]
    entropy = tape(word16(range(ALL)) + word64(list(more.values())))
    if isinstance(noise, TruncatedGeometric):
        expected = [k for k in expected if k >= -noise.limit]
        drawn = draw_truncated(noise.epsilon, noise.limit, entropy, ALL)
    else:
        drawn = ExactSampler(entropy).sample(noise, ALL)
    assert drawn.tolist() == expected
    assert entropy.used_up


@pytest.mark.parametrize("name", [name for name in ONE_WHEEL if "truncated" not in name])
def test_cells_beside_the_edges_fall_on_the_right_side(name: str, tape: MakeTape) -> None:
    noise, count = ONE_WHEEL[name]
    values, edges = outward(count), one_wheel_edges(noise, count)
    fine = [cell(edge, 128) for edge in edges]
    for edge in edges[:: 1 + count // 150]:
        base = cell(edge, 128)
        if base >= (1 << 128) - (1 << 66):
            break  # the far tail takes more digits than this test writes
        for digits in (base - (1 << 64), base - 4, base + 4, base + (1 << 64)):
            entropy = tape(digits_of(digits, 128))
            drawn = ExactSampler(entropy).sample(noise, 1)
            assert drawn.tolist() == [values[bisect_right(fine, digits)]]


@pytest.mark.parametrize("name", ["laplace 1/3", "laplace 7/3", "gaussian 7/3", "gaussian 1000"])
def test_a_uniform_that_follows_an_edge_is_settled_where_they_part(
    name: str, tape: MakeTape
) -> None:
    noise, count = ONE_WHEEL[name]
    values, edges = outward(count), one_wheel_edges(noise, count)
    for place, edge in list(enumerate(edges))[:9]:
        for side, shift in ((0, -(1 << 20)), (1, 1 << 20)):
            digits = cell(edge, 256) + shift
            entropy = tape(digits_of(digits, 256))
            assert ExactSampler(entropy).sample(noise, 1).tolist() == [values[place + side]]
            assert entropy.used_up


@pytest.mark.parametrize("name", ["laplace 1/3", "laplace 7/3", "gaussian 7/3", "gaussian 1000"])
def test_a_uniform_close_to_one_is_settled_in_the_far_tail(name: str, tape: MakeTape) -> None:
    """Sixty-four ones leave the value open; the zeros that follow put it at 1 - 2^-64."""
    noise, count = ONE_WHEEL[name]
    values, edges = outward(count), one_wheel_edges(noise, count)
    close = ((1 << 64) - 1) << 64
    place = bisect_right([cell(edge, 128) for edge in edges], close)
    assert ExactSampler(tape(digits_of(close, 128))).sample(noise, 1).tolist() == [values[place]]


def digits_of(digits: int, count: int) -> bytes:
    """Return the tape of one draw whose uniform real begins with these digits.

    Sixteen are read first, then forty-eight (the low end of a word is not used), then as many again
    as have been read, and so on.
    """
    first, second = digits >> count - 16, digits >> count - 64 & ((1 << 48) - 1)
    content, read = word16([first]) + word64([second << 16 | 0xABCD]), 64
    while read < count:
        more = digits >> count - 2 * read & ((1 << read) - 1)
        content += more.to_bytes(read // 8, "little")
        read *= 2
    return content


@pytest.mark.parametrize("scale", [Fraction(16), Fraction(1000), Fraction(10**6) + Fraction(1, 7)])
def test_each_wheel_of_a_wide_laplace_has_its_own_exact_edges(
    scale: Fraction, tape: MakeTape
) -> None:
    below = 0
    while scale >= 16 << below:
        below += 1
    widths = [min(8, below - place) for place in range(0, below, 8)]
    ratio = mpmath.exp(-1 / real(scale))
    length = 1 << below
    count = 1400
    leading = edges_of(
        [ratio ** (index // 2 * length + index % 2) for index in range(count)],
        (1 + ratio) / (1 - ratio**length),
    )
    signed = [(index // 2 * length) ^ -(index % 2) for index in range(count)]
    wheels = [(leading, signed)]
    for place, width in enumerate(widths):
        steps = [digit << 8 * place for digit in range(1 << width)]
        weights = [ratio**step for step in steps]
        wheels.append((edges_of(weights, mpmath.fsum(weights))[:-1], steps))
    for turning, (edges, values) in enumerate(wheels):
        split = sorted({cell(edge, 16) for edge in edges} & set(range(ALL)))
        more = dict(zip(split, spread(len(split)), strict=True))
        contents = [word16([0] * ALL)] * len(wheels)  # the other wheels stand at zero
        contents[turning] = word16(range(ALL)) + word64(list(more.values()))
        entropy = tape(b"".join(contents))
        drawn = ExactSampler(entropy).sample(DiscreteLaplace(scale), ALL)
        assert entropy.used_up
        fine = [cell(edge, 64) for edge in edges]
        cells = [word << 48 | more.get(word, 0) >> 16 for word in range(ALL)]
        assert not set(cells) & set(fine)
        assert drawn.tolist() == [values[bisect_right(fine, each)] for each in cells]


@pytest.mark.parametrize("k", [0, 1, -1, 127, 128, -128, -129, 5000, -77_777])
def test_the_wheels_of_a_wide_laplace_multiply_to_its_mass(k: int) -> None:
    scale, below = Fraction(1000), 7
    ratio = mpmath.exp(-1 / real(scale))
    sign, size = (0, k) if k >= 0 else (1, -1 - k)
    block, digit = size >> below, size & ((1 << below) - 1)
    leading = ratio ** ((block << below) + sign) / (1 + ratio) * (1 - ratio ** (1 << below))
    low = ratio**digit / mpmath.fsum(ratio**d for d in range(1 << below))
    true = laplace_mass(scale)(k) / laplace_whole(scale)
    assert mpmath.almosteq(leading * low, true, 1e-200)


@pytest.mark.parametrize(
    ("sigma2", "below"),
    [
        (Fraction(1024), 1),
        (Fraction(10**6) + Fraction(1, 7), 5),
        (Fraction(10**12), 15),
        (Fraction(9 * 10**12), 17),
        (Fraction(2) ** 104, 48),
    ],
)
def test_a_gaussian_proposal_is_kept_exactly_when_the_uniform_is_below_its_chance(
    sigma2: Fraction, below: int, tape: MakeTape
) -> None:
    length, picks = 1 << below, iter(spread(12_000))
    lanes, words, later, expected = [], [], [], []
    for lane in range(4_000):
        sign, low = lane & 1, next(picks) % length
        block = next(picks) % (20 if lane % 3 else 300)
        chance = mpmath.exp(-low * (2 * block * length + 2 * sign + low) / (2 * real(sigma2)))
        if low and cell(chance, 24) % 256 in {0, 255}:
            continue  # an enclosure may be a little wider there and ask for digits early
        beside = min(cell(chance, 16) + lane % 5 - 2, ALL - 1)
        word = beside if lane % 7 and beside >= 0 else next(picks) % ALL
        if word == cell(chance, 16):
            later.append(cell(chance, 80) % (1 << 64) + (1 if lane % 2 else -1))
            expected.append(lane % 2 == 0)
        else:
            expected.append(word < cell(chance, 16))
        lanes.append((sign, block, low))
        words.append(word)
    assert len(later) > 300
    entropy = tape(word16(words) + word64(later))
    proposals = _Proposals(*np.array(lanes, dtype=np.int64).T)
    assert _kept(sigma2, below, proposals, entropy).tolist() == expected
    assert entropy.used_up


@pytest.mark.parametrize("sigma2", [Fraction(1024), Fraction(10**6) + Fraction(1, 7)])
def test_the_block_wheel_of_a_wide_gaussian_has_exact_edges(
    sigma2: Fraction, tape: MakeTape
) -> None:
    """A tape of zeros keeps every proposal and picks the first value of each block."""
    length = 2 if sigma2 == 1024 else 32
    count = 700
    mass = gaussian_mass(sigma2)
    weights = [mass(index // 2 * length + index % 2) for index in range(count)]
    edges = edges_of(weights, mpmath.fsum(weights))
    split = sorted({cell(edge, 16) for edge in edges} & set(range(ALL)))
    more = dict(zip(split, spread(len(split)), strict=True))
    still = word16([0] * ALL)
    entropy = tape(word16(range(ALL)) + word64(list(more.values())) + still + still)
    drawn = ExactSampler(entropy).sample(DiscreteGaussian(sigma2), ALL)
    fine = [cell(edge, 64) for edge in edges]
    cells = [word << 48 | more.get(word, 0) >> 16 for word in range(ALL)]
    assert not set(cells) & set(fine)
    blocks = [bisect_right(fine, each) for each in cells]
    assert drawn.tolist() == [(index // 2 * length) ^ -(index % 2) for index in blocks]
    assert entropy.used_up
