"""One level, priced with one mechanism."""

from __future__ import annotations

from fractions import Fraction

from sanql.plan.gaussian import GaussianMechanism
from sanql.plan.laplace import LaplaceMechanism
from sanql.plan.mechanism import Priced
from sanql.statistics.collector import Measuring


def laplace_of(measuring: Measuring, epsilon: Fraction, delta: Fraction) -> Priced:
    (priced,) = LaplaceMechanism().price([measuring], epsilon, delta)
    return priced


def gaussian_of(measuring: Measuring, epsilon: Fraction, delta: Fraction) -> Priced | None:
    priced = GaussianMechanism().price([measuring], epsilon, delta)
    return None if priced is None else priced[0]
