"""Exact integer noise, what it proves, and the private choice of keys."""

from sanql.mechanisms.appearing import least_counts
from sanql.mechanisms.choice import Candidates, Runs
from sanql.mechanisms.deviations import deviation_upper, deviations_upper, quantile_upper
from sanql.mechanisms.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Geometric,
    Noise,
    NoNoise,
    SummedNoise,
    SymmetricNoise,
    TruncatedGeometric,
    drawn_noise,
)
from sanql.mechanisms.noise_and_square import reach_with_square
from sanql.mechanisms.sampler import ExactSampler, Sampler, add_saturating
from sanql.mechanisms.selection import (
    appearance_probability,
    gaussian_threshold,
    truncated_geometric,
)
from sanql.mechanisms.two_noises import reach_of_two, reaches_of_two
from sanql.mechanisms.weighted_sums import reaches_of_sums
from sanql.mechanisms.wheel import Integers

__all__ = [
    "Candidates",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "ExactSampler",
    "Geometric",
    "Integers",
    "NoNoise",
    "Noise",
    "Runs",
    "Sampler",
    "SummedNoise",
    "SymmetricNoise",
    "TruncatedGeometric",
    "add_saturating",
    "appearance_probability",
    "deviation_upper",
    "deviations_upper",
    "drawn_noise",
    "gaussian_threshold",
    "least_counts",
    "quantile_upper",
    "reach_of_two",
    "reach_with_square",
    "reaches_of_sums",
    "reaches_of_two",
    "truncated_geometric",
]
