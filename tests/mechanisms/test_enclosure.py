"""Enclosures contain the real number they stand for and are one or two units wide."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sanql.mechanisms.enclosure import (
    Enclosure,
    exp_minus,
    normal_integral_above,
    pi,
    rational,
    square_root,
)

pytestmark = pytest.mark.slow

exponents = st.fractions(min_value=0, max_value=300)
sizes = st.sampled_from([16, 64, 80, 144, 400])


def real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def holds(enclosure: Enclosure, true: mpmath.mpf, width: int) -> bool:
    lower = mpmath.ldexp(enclosure.lower, -enclosure.bits)
    upper = mpmath.ldexp(enclosure.upper, -enclosure.bits)
    return bool(lower <= true <= upper) and enclosure.upper - enclosure.lower <= width


@settings(deadline=None)
@given(exponents, sizes)
def test_the_exponential_lies_in_its_enclosure(exponent: Fraction, bits: int) -> None:
    assert holds(exp_minus(exponent, bits), mpmath.exp(-real(exponent)), 2)


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 10**40), Fraction(10**12)])
def test_the_exponential_of_extreme_exponents_lies_in_its_enclosure(exponent: Fraction) -> None:
    assert holds(exp_minus(exponent, 80), mpmath.exp(-real(exponent)), 2)


@settings(deadline=None)
@given(st.fractions(min_value=0, max_value=10**30), sizes)
def test_the_square_root_lies_in_its_enclosure(value: Fraction, bits: int) -> None:
    assert holds(square_root(value, bits), mpmath.sqrt(real(value)), 1)


@pytest.mark.parametrize("bits", [8, 64, 500, 900])
def test_pi_lies_in_its_enclosure(bits: int) -> None:
    assert holds(pi(bits), +mpmath.pi, 2)


@settings(max_examples=40, deadline=None)
@given(st.fractions(min_value=0, max_value=200), sizes)
def test_the_normal_integral_lies_in_its_enclosure(squared: Fraction, bits: int) -> None:
    true = mpmath.sqrt(mpmath.pi / 2) * mpmath.erfc(mpmath.sqrt(real(squared) / 2))
    assert holds(normal_integral_above(squared, bits), true, 2)


@settings(deadline=None)
@given(st.fractions(min_value=0, max_value=50), st.fractions(min_value="1/100", max_value=50))
def test_arithmetic_rounds_outward(left: Fraction, right: Fraction) -> None:
    bits = 20
    a, b = rational(left, bits), rational(right, bits)
    assert holds(a + b, real(left + right), 2)
    assert holds(a * b, real(left * right), 200)
    assert holds(a / b, real(left / right), 10**6)
    assert holds((a + b) - b, real(left), 4)


@settings(deadline=None)
@given(exponents, st.fractions(min_value=0, max_value=1))
def test_a_comparison_is_right_whenever_it_answers(exponent: Fraction, other: Fraction) -> None:
    verdict = exp_minus(exponent, 16).compare(other)
    true = mpmath.exp(-real(exponent))
    assert {-1: bool(true <= real(other)), 1: bool(true > real(other)), 0: True}[verdict]
