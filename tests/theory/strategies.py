"""Exact random distributions and levels for Hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

from sanql.theory.channels import Channel
from sanql.theory.distributions import Distribution


def distributions(size: int = 4) -> st.SearchStrategy[Distribution]:
    """Return distributions on 0..size-1, zeros included."""
    weights = st.lists(st.integers(0, 12), min_size=size, max_size=size).filter(any)
    return weights.map(lambda values: Distribution.from_weights(dict(enumerate(values))))


def gammas() -> st.SearchStrategy[Fraction]:
    """Return levels e^epsilon between 1 and 8."""
    return st.fractions(1, 8, max_denominator=6)


def probabilities() -> st.SearchStrategy[Fraction]:
    return st.fractions(0, 1, max_denominator=20)


def kernels(inputs: int, outputs: int) -> st.SearchStrategy[list[Distribution]]:
    """Return a randomised function: one distribution for each input."""
    return st.lists(distributions(outputs), min_size=inputs, max_size=inputs)


def channels(people: int = 2, values: int = 2, outputs: int = 3) -> st.SearchStrategy[Channel]:
    """Return channels on all tuples of `people` records with `values` values, default 0
    included."""
    databases = list(product(range(values), repeat=people))
    rows = kernels(len(databases), outputs)
    return rows.map(lambda found: Channel.of(dict(zip(databases, found, strict=True))))


def beliefs(databases: Sequence[object], size: int) -> st.SearchStrategy[Distribution]:
    """Return beliefs on at most `size` of the databases."""
    chosen = st.lists(st.sampled_from(databases), min_size=1, max_size=size, unique=True)
    return chosen.flatmap(
        lambda points: st.lists(st.integers(1, 30), min_size=len(points), max_size=len(points)).map(
            lambda weights: Distribution.from_weights(dict(zip(points, weights, strict=True)))
        )
    )
