"""The sampler fills columns, replays tapes, saturates and keeps secrets fresh."""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanql.entropy import OsEntropy
from sanql.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExactSampler,
    Noise,
    NoNoise,
    TruncatedGeometric,
    add_saturating,
)
from sanql.mechanisms.geometric import _SignedGeometric
from sanql.mechanisms.wheel import Weights, Wheel

EVERY = [
    NoNoise(),
    DiscreteLaplace(Fraction(7, 3)),
    DiscreteLaplace(Fraction(10**6) + Fraction(1, 7)),
    DiscreteGaussian(Fraction(7, 3)),
    DiscreteGaussian(Fraction(10**6) + Fraction(1, 7)),
    TruncatedGeometric(Fraction(1, 100), 700),
]
LARGEST = 1 << 62
int64s = st.integers(-(2**63), 2**63 - 1)


class Recorder:
    """The operating system's entropy, written down."""

    def __init__(self) -> None:
        self.written = b""

    def bytes(self, count: int) -> builtins.bytes:
        fresh = os.urandom(count)
        self.written += fresh
        return fresh


class Ones:
    """The least likely entropy: so many set bits, then unset ones."""

    def __init__(self, ones: int) -> None:
        self.ones = ones

    def bytes(self, count: int) -> builtins.bytes:
        now = min(count, self.ones)
        self.ones -= now
        return b"\xff" * now + b"\0" * (count - now)


@pytest.mark.parametrize("noise", EVERY, ids=str)
def test_a_recorded_tape_gives_the_same_draws_again(
    noise: Noise, tape: Callable[[bytes], Any]
) -> None:
    recorder = Recorder()
    first = ExactSampler(recorder).sample(noise, 70_000)
    replay = tape(recorder.written)
    assert np.array_equal(ExactSampler(replay).sample(noise, 70_000), first)
    assert replay.used_up


@pytest.mark.parametrize("noise", EVERY, ids=str)
@pytest.mark.parametrize("count", [0, 1, 2, 65_536, 65_537, 200_001])
def test_as_many_draws_come_back_as_were_asked_for(noise: Noise, count: int) -> None:
    drawn = ExactSampler().sample(noise, count)
    assert drawn.shape == (count,)
    assert drawn.dtype == np.int64


@pytest.mark.parametrize("noise", EVERY, ids=str)
def test_asking_for_nothing_uses_no_entropy(noise: Noise, tape: Callable[[bytes], Any]) -> None:
    assert ExactSampler(tape(b"")).sample(noise, 0).size == 0


def test_a_negative_count_is_an_error() -> None:
    with pytest.raises(ValueError, match="negative"):
        ExactSampler().sample(DiscreteLaplace(Fraction(1)), -1)


def test_public_values_get_no_noise(tape: Callable[[bytes], Any]) -> None:
    assert ExactSampler(tape(b"")).sample(NoNoise(), 3).tolist() == [0, 0, 0]


def test_a_truncated_draw_never_leaves_its_limits() -> None:
    for limit in (1, 2, 3, 255, 256, 700):
        drawn = ExactSampler().sample(TruncatedGeometric(Fraction(1, 500), limit), 100_000)
        assert abs(drawn).max() <= limit


def test_secrets_have_63_bits_and_do_not_repeat(tape: Callable[[bytes], Any]) -> None:
    assert ExactSampler(tape(b"\xff" * 8)).secret() == 2**63 - 1
    assert ExactSampler().secret() != ExactSampler().secret()  # equal with probability 2^-63


@pytest.mark.parametrize("ones", [2, 10, 66])
@pytest.mark.parametrize(
    "noise", [DiscreteLaplace(Fraction(2) ** 52), DiscreteGaussian(Fraction(2) ** 104)], ids=str
)
def test_the_least_likely_entropy_ends_in_a_draw_within_the_bound(noise: Noise, ones: int) -> None:
    drawn = int(ExactSampler(Ones(ones)).sample(noise, 1)[0])
    assert noise.standard_deviation < abs(drawn) <= LARGEST


def test_a_size_beyond_the_bound_is_held_there() -> None:
    """A wheel that always shows block 384 of length 2^55, three times the bound, of either sign."""

    def weights(bits: int) -> Weights:
        sectors = [0] * 768 + [1 << bits, 1 << bits]
        return Weights(sectors, sectors, 0)

    sign, size = _SignedGeometric(Wheel(weights), 55, ()).draw(OsEntropy(), 1000)
    assert set(size.tolist()) == {LARGEST - 1}
    assert set((size ^ -sign).tolist()) == {LARGEST - 1, -LARGEST}  # one alone: 2^-999


@given(
    st.lists(st.tuples(int64s, st.integers(-LARGEST, LARGEST)), min_size=1)
    | st.just([(-(2**63), -LARGEST), (2**63 - 1, LARGEST), (-LARGEST, LARGEST)])
)
def test_addition_saturates_like_unbounded_integers(pairs: list[tuple[int, int]]) -> None:
    values, noise = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))

    def held(value: int) -> int:
        return max(-LARGEST, min(LARGEST, value))

    expected = [held(held(value) + drawn) for value, drawn in pairs]
    assert add_saturating(values, noise).tolist() == expected


@given(int64s, int64s)
def test_no_noise_makes_addition_wrap(value: int, drawn: int) -> None:
    total = add_saturating(np.array([value]), np.array([drawn]))
    assert -LARGEST <= int(total[0]) <= LARGEST
    if value > 0 and drawn > 0:
        assert total[0] > 0
