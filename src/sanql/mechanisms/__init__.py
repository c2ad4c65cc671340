"""Exact integer noise, what it proves, and the private choice of keys."""

from sanql.mechanisms.entropy import Entropy, OsEntropy
from sanql.mechanisms.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Geometric,
    Noise,
    NoNoise,
    TruncatedGeometric,
)
from sanql.mechanisms.sampler import ExactSampler, Sampler, add_saturating
from sanql.mechanisms.selection import (
    appearance_probability,
    gaussian_threshold,
    truncated_geometric,
)

__all__ = [
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Entropy",
    "ExactSampler",
    "Geometric",
    "NoNoise",
    "Noise",
    "OsEntropy",
    "Sampler",
    "TruncatedGeometric",
    "add_saturating",
    "appearance_probability",
    "gaussian_threshold",
    "truncated_geometric",
]
