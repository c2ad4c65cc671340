"""Exact integer noise, what it proves, and the private choice of keys."""

from sanql.mechanisms.appearing import least_counts
from sanql.mechanisms.deviations import deviation_upper, deviations_upper
from sanql.mechanisms.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Geometric,
    Noise,
    NoNoise,
    SummedNoise,
    SymmetricNoise,
    TruncatedGeometric,
)
from sanql.mechanisms.sampler import ExactSampler, Sampler, add_saturating
from sanql.mechanisms.selection import (
    appearance_probability,
    gaussian_threshold,
    truncated_geometric,
)
from sanql.mechanisms.wheel import Integers

__all__ = [
    "DiscreteGaussian",
    "DiscreteLaplace",
    "ExactSampler",
    "Geometric",
    "Integers",
    "NoNoise",
    "Noise",
    "Sampler",
    "SummedNoise",
    "SymmetricNoise",
    "TruncatedGeometric",
    "add_saturating",
    "appearance_probability",
    "deviation_upper",
    "deviations_upper",
    "gaussian_threshold",
    "least_counts",
    "truncated_geometric",
]
