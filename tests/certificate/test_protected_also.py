"""What is proved over several steps is never below the truth, by brute force on small noises."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product

import pytest

from sanql.account import Charge, FailureEvent, GaussianEvent, LaplaceEvent, epsilon_upper
from sanql.certificate import meaning
from sanql.certificate.protected_also import over_steps
from sanql.policy import Group, Protections

DELTA = Fraction(1, 10**6)
BOTH = Protections(("city",), Group(3, "household"))


def _noise(event: LaplaceEvent | GaussianEvent, reach: int) -> list[float]:
    """The law of one cell's noise between -reach and reach, by its formula."""
    if isinstance(event, LaplaceEvent):
        weights = [math.exp(-abs(x) / float(event.scale)) for x in range(-reach, reach + 1)]
    else:
        weights = [math.exp(-x * x / 2 / float(event.sigma2)) for x in range(-reach, reach + 1)]
    return [weight / sum(weights) for weight in weights]


def _delta(law: list[float], moves: tuple[int, ...], epsilon: float) -> float:
    """The hockey stick of independent cells moved by `moves` against unmoved ones."""
    size, total = len(law), 0.0
    for outcome in product(range(size), repeat=len(moves)):
        p = math.prod(law[x] for x in outcome)
        q = math.prod(
            law[x - move] if 0 <= x - move < size else 0.0
            for x, move in zip(outcome, moves, strict=True)
        )
        total += max(0.0, p - math.exp(epsilon) * q)
    return total


def _steps_of(event: LaplaceEvent | GaussianEvent) -> list[tuple[int, int]]:
    """Every move of two cells that one step may make."""
    inside = []
    for move in product(range(-3, 4), repeat=2):
        if isinstance(event, LaplaceEvent):
            fits = sum(map(abs, move)) <= event.l1 and max(map(abs, move)) <= event.linf
        else:
            fits = sum(m * m for m in move) <= event.l2_squared
        if fits:
            inside.append(move)
    return inside


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_no_chain_of_steps_tells_more_than_is_proved(seed: int) -> None:
    random.seed(seed)
    event: LaplaceEvent | GaussianEvent
    if seed % 2:
        event, delta = LaplaceEvent(Fraction(random.randint(2, 5)), random.choice([1, 2]), 1), 0
    else:
        event, delta = GaussianEvent(Fraction(random.randint(4, 12)), Fraction(2)), 1
    allowed = Fraction(delta, 1000)
    one = Charge((event,), epsilon_upper((event,), allowed), allowed)
    law = _noise(event, 45 if seed % 2 else 18)
    for steps in (2, 3):
        proved = over_steps(one, steps)
        assert proved is not None
        assert proved.delta == one.delta
        for _ in range(4):
            chain = [random.choice(_steps_of(event)) for _ in range(steps)]
            moved = tuple(sum(move[i] for move in chain) for i in range(2))
            # what the window leaves out of Laplace noise is at most e^(-reach/scale)
            assert _delta(law, moved, float(proved.epsilon)) <= float(proved.delta) + 2e-3 * (
                seed % 2
            )
        farthest = max(_steps_of(event), key=lambda move: (move[0] + move[1], move[0]))
        most = tuple(steps * move for move in farthest)
        assert _delta(law, most, float(proved.epsilon) / steps) > float(proved.delta)


def test_gaussian_noise_is_better_than_a_factor() -> None:
    event = GaussianEvent(Fraction(10_000), Fraction(1))
    one = Charge((event,), epsilon_upper((event,), DELTA), DELTA)
    for steps in (2, 10, 100):
        proved = over_steps(one, steps)
        assert proved is not None
        assert proved.delta == DELTA
        assert proved.epsilon == epsilon_upper(
            (GaussianEvent(Fraction(10_000), Fraction(steps**2)),), DELTA
        )
        generic = DELTA * sum(Fraction(math.exp(float(one.epsilon))) ** i for i in range(steps))
        assert generic > DELTA


@pytest.mark.parametrize("steps", [2, 5])
def test_what_fails_outright_has_the_general_bound(steps: int) -> None:
    """Attained by a mechanism that shows a unit with delta, else answers at random."""
    event = LaplaceEvent(Fraction(2), 1, 1)
    one = Charge((event, FailureEvent(DELTA)), Fraction(1, 2), DELTA)
    proved = over_steps(one, steps)
    assert proved is not None
    assert proved.epsilon == steps * Fraction(1, 2)
    least = float(DELTA) * sum(math.exp(i / 2) for i in range(steps))
    assert least <= float(proved.delta) <= least * (1 + 1e-9)


def test_nothing_is_promised_where_the_chance_of_failure_is_one() -> None:
    half = Charge((FailureEvent(Fraction(1, 2)),), Fraction(0), Fraction(1, 2))
    assert over_steps(half, 2) is None
    large = Charge(
        (LaplaceEvent(Fraction(1, 600), 1, 1), FailureEvent(DELTA)), Fraction(600), DELTA
    )
    assert over_steps(large, 2) is None
    told = meaning(half, "one row", "add-remove", BOTH)["also"]
    assert isinstance(told, list)
    assert [case["words"] for case in told if "epsilon" not in case] == [
        "also: everything but city, which may be known, of one unit in the data: nothing is promised",
        "also: whether 3 units at most with the same household are in the data or stay away: "
        "nothing is promised",
        "also: everything but city, which may be known, of 3 units at most with the same household in "
        "the data: nothing is promised",
    ]


@pytest.mark.parametrize(
    ("neighbours", "steps"), [("add-remove", [2, 3, 6]), ("change-one", [1, 3, 3])]
)
def test_each_case_has_its_steps(neighbours: str, steps: list[int]) -> None:
    charge = Charge((LaplaceEvent(Fraction(10), 1, 1),), Fraction(1, 10), Fraction(0))
    told = meaning(
        charge, "one row", "change-one" if neighbours == "change-one" else "add-remove", BOTH
    )
    also = told["also"]
    assert isinstance(also, list)
    assert [case["steps"] for case in also] == steps
    for case, count in zip(also, steps, strict=True):
        assert case["epsilon"] == pytest.approx(count / 10)
        assert case["epsilon"] >= count / 10
        assert case["posterior"][1] <= 1 / (1 + math.exp(-count / 10)) + 1e-9
        assert case["posterior"][1] > 0.5


def test_without_a_declaration_nothing_is_added() -> None:
    charge = Charge((LaplaceEvent(Fraction(10), 1, 1),), Fraction(1, 10), Fraction(0))
    assert "also" not in meaning(charge, "one row", "add-remove")
