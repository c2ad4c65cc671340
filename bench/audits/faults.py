"""Faults that are planted in San for a while, each a change of its code as a bug would be one.

What is patched runs in this process, so the server that is attacked must run in it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from sanql.account.charge import Charge
from sanql.account.ledger.ledger import Ledger
from sanql.mechanisms import DiscreteLaplace, ExactSampler, Noise, TruncatedGeometric
from sanql.plan import laplace, norms, pricing


class _Scaled(ExactSampler):
    """Laplace noise of a scale that is multiplied by a factor below 1."""

    factor = 0.5

    def sample(self, noise: Noise, count: int) -> Any:
        """Return draws of the smaller noise."""
        if isinstance(noise, DiscreteLaplace):
            noise = DiscreteLaplace(noise.scale * type(noise.scale)(self.factor))
        return super().sample(noise, count)


class _ThreeQuarters(_Scaled):
    factor = 0.75


class _Shared(ExactSampler):
    """One draw for all cells."""

    def sample(self, noise: Noise, count: int) -> Any:
        """Return the same draw so many times."""
        return np.repeat(super().sample(noise, 1), count)


@contextmanager
def priced_anew() -> Iterator[None]:
    """Forget prices, which are remembered from before the code was changed, and would be after."""
    pricing._price_best.cache_clear()
    try:
        yield
    finally:
        pricing._price_best.cache_clear()


def _halved_sensitivity(true: Callable[..., Any], *given: Any) -> Any:
    moved = true(*given)
    return replace(moved, l1=-(-moved.l1 // 2))


def _low_threshold(true: Callable[..., TruncatedGeometric], epsilon: Any, delta: Any) -> Any:
    noise = true(epsilon, delta)
    return TruncatedGeometric(noise.epsilon, max(1, noise.limit - 2))


def _free(true: Callable[..., Any]) -> Callable[..., Any]:
    def reserve(self: Ledger, analyst: str, question: str, charge: Charge, *said: Any) -> Any:
        nothing = Charge((), charge.epsilon * 0, charge.delta * 0)
        return true(self, analyst, question, nothing, *said)

    return reserve


def _nothing(*given: Any, **more: Any) -> None:
    """Return nothing, whatever is on record."""


FAULTS: dict[str, Callable[[], list[Any]]] = {
    "halved noise": lambda: [patch("sanql.ask.session.ExactSampler", _Scaled)],
    "noise of three quarters": lambda: [patch("sanql.ask.session.ExactSampler", _ThreeQuarters)],
    "a shared draw": lambda: [patch("sanql.ask.session.ExactSampler", _Shared)],
    "units that add twice what noise is for": lambda: [
        patch.object(
            norms, "sensitivity_by_norm", partial(_halved_sensitivity, norms.sensitivity_by_norm)
        )
    ],
    "a leaked key": lambda: [
        patch.object(
            laplace, "truncated_geometric", partial(_low_threshold, laplace.truncated_geometric)
        )
    ],
    "a skipped charge": lambda: [patch.object(Ledger, "reserve", _free(Ledger.reserve))],
    "noise drawn anew for a repeat": lambda: [
        patch("sanql.ask.answer.recorded", _nothing),
        patch("sanql.ask.measure.recorded_of", _nothing),
        patch("sanql.ask.repeats.Repeats.find", _nothing),
        patch("sanql.ask.answer.within_batch", _nothing),
    ],
}
"""Each fault by its name, and the patches that plant it."""


@contextmanager
def planted(fault: str) -> Iterator[None]:
    """Plant a fault for a while; "" plants none."""
    with ExitStack() as patches:
        patches.enter_context(priced_anew())
        for each in FAULTS[fault]() if fault else ():
            patches.enter_context(each)
        yield
