"""Whether a product of rational powers is above, at or below 1, decided exactly.

Powers of counts have millions of digits. The numbers are split into factors that have nothing in common
(a coprime base), in which the product is 1 only if every exponent is 0; otherwise its logarithm is not 0,
and balls of enough bits see its sign.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

from sanql.mechanisms.noiseless.precision import precision

_BITS = 128


def sign_of_product(factors: Sequence[tuple[Fraction, int]]) -> int:
    """Return 1, 0 or −1 where the product of positive rationals to whole powers is above, at or below 1.

    >>> two, three = Fraction(2), Fraction(3)
    >>> sign_of_product([(two, 3), (three, -2)]), sign_of_product([(two, 2), (Fraction(4), -1)])
    (-1, 0)
    """
    numbers = tuple(sorted({n for value, _ in factors for n in value.as_integer_ratio()} - {1}))
    base = _coprime_base(numbers)
    exponents: Counter[int] = Counter()
    for value, power in factors:
        for number, sign in ((value.numerator, power), (value.denominator, -power)):
            for prime, times in _in_base(number, base):
                exponents[prime] += sign * times
    left = [(prime, power) for prime, power in exponents.items() if power]
    return _sign_of_logarithm(left) if left else 0


def _sign_of_logarithm(powers: Iterable[tuple[int, int]]) -> int:
    from flint import arb

    powers, bits = list(powers), _BITS
    while True:
        with precision(bits):
            total = sum((power * arb(prime).log() for prime, power in powers), arb(0))
            if total > 0:
                return 1
            if total < 0:
                return -1
        bits *= 2


@lru_cache(maxsize=256)
def _coprime_base(numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Return numbers above 1 without common factors, of which each of the given ones is a product."""
    base: list[int] = []
    left = [number for number in numbers if number > 1]
    while left:
        number = left.pop()
        for place, known in enumerate(base):
            common = math.gcd(number, known)
            if common > 1:
                # both are taken apart: what they share, and what is left of each
                base.pop(place)
                left += [n for n in (common, known // common, number // common) if n > 1]
                break
        else:
            if number > 1:
                base.append(number)
    return tuple(sorted(set(base)))


@lru_cache(maxsize=4096)
def _in_base(number: int, base: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return the factors of the base that a number has, with how often it has each."""
    found = []
    for prime in base:
        times = 0
        while number % prime == 0:
            number, times = number // prime, times + 1
        if times:
            found.append((prime, times))
    return tuple(found)
