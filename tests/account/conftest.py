from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sanql.account.accountants.conversion import gaussian_rho_lower
from sanql.account.charge import Charge
from sanql.account.events import GaussianEvent, LaplaceEvent
from sanql.policy.model import Analyst, Budget, Coalition, EngineLimits, Policy


@pytest.fixture
def make_policy(tmp_path: Path) -> Callable[..., Policy]:
    """A hospital with ana (budget 1), bob (none) and a coalition of both (budget 2); pure, 4."""
    hospital = Policy(
        path=tmp_path / "policy.toml",
        name="hospital",
        source="data/",
        ledger=tmp_path / "hospital.ledger",
        neighbours="add-remove",
        budget=Budget(Fraction(4), Fraction(1, 10**6)),
        accounting="pure",
        tables={},
        analysts={
            "ana": Analyst("ana", Budget(Fraction(1), Fraction(1, 10**7))),
            "bob": Analyst("bob", None),
        },
        coalitions={
            "both": Coalition(
                "both", frozenset({"ana", "bob"}), Budget(Fraction(2), Fraction(1, 10**6))
            )
        },
        engine=EngineLimits(memory_bytes=2**30, deadline_seconds=30.0, workers=1),
        delta_per_query=None,
        failures_max=3,
    )

    def make(**changes: Any) -> Policy:
        return replace(hospital, **changes)

    return make


@pytest.fixture
def laplace() -> Callable[[str], Charge]:
    """A count at the epsilon written."""

    def make(epsilon: str) -> Charge:
        exact = Fraction(epsilon)
        return Charge((LaplaceEvent(1 / exact, 1, 1),), exact, Fraction(0))

    return make


@pytest.fixture
def gaussian() -> Callable[[str, str], Charge]:
    """A count under Gaussian noise at the epsilon and delta written."""

    def make(epsilon: str, delta: str) -> Charge:
        rho = gaussian_rho_lower(Fraction(epsilon), Fraction(delta))
        event = GaussianEvent(1 / (2 * rho), Fraction(1))
        return Charge((event,), Fraction(epsilon), Fraction(delta))

    return make
