"""Exact random distributions and levels for Hypothesis."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

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
