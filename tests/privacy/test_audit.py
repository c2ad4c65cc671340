"""The whole system attacked at once: 5,000 people with fair coins, one answer, and their coins guessed.

Each person is alone in a public group. With noise of the right size a guess is right with probability
e/(1+e) at most, so a true build is rejected with probability at most ALPHA. Halved noise guesses right
with e²/(1+e²) = 0.88, and is missed with probability below 1e-100.
"""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import numpy as np
import pytest

from sanql.audit import CanaryAudit, audit_answer
from sanql.mechanisms import DiscreteLaplace, ExactSampler, Noise, Sampler
from sanql.policy import load
from sanql.san import San
from support.policies import dataset
from support.samplers import TamperedSampler

PEOPLE = 5000
EPSILON = 1
ALPHA = 1e-9
POLICY = (
    dataset("canaries.duckdb", name="canaries", neighbours="{neighbours}", epsilon=2, delta=0)
    + """\
[analyst.ana]
[table.people]
privacy_unit = "person"
{limits}
[table.people.column]
seat = {{ type = "integer", bounds = [0, 4999] }}
"""
)


def attack(
    folder: Path, sampler: Sampler, *, rows: int = 1, limits: str = "unique = true"
) -> CanaryAudit:
    """Return how many coins one answer gives away; each person present has some rows in one seat."""
    rng = random.SystemRandom()
    coins = np.array([rng.random() < 0.5 for _ in range(PEOPLE)])
    with duckdb.connect(str(folder / "canaries.duckdb")) as database:
        database.execute("CREATE TABLE people (person BIGINT, seat BIGINT)")
        seats = [seat for seat in range(PEOPLE) if coins[seat] for _ in range(rows)]
        database.execute("INSERT INTO people SELECT unnest(?), unnest(?)", [seats, seats])
    path = folder / "policy.toml"
    path.write_text(POLICY.format(neighbours="add-remove", limits=limits), encoding="utf-8")
    with San(load(path), sampler=sampler) as san:
        answer = san.query(
            "SELECT seat, COUNT(*) AS n FROM people GROUP BY seat ORDER BY seat", epsilon=EPSILON
        )
    assert answer.table.column("seat").to_pylist() == list(range(PEOPLE))
    counts = answer.table.column("n").to_numpy()
    return audit_answer(coins, counts if rows == 1 else _nearer(counts, min(rows, 3)))


def _nearer(counts: np.ndarray, rows: int) -> np.ndarray:
    """Return 1 where a count is nearer to a full contribution than to none."""
    return (2 * counts > rows).astype(np.int64)


def _halved(noise: Noise) -> Noise:
    assert isinstance(noise, DiscreteLaplace)
    return DiscreteLaplace(noise.scale / 2)


@pytest.mark.slow
def test_an_attack_on_5000_people_does_not_refute_the_claimed_epsilon(tmp_path: Path) -> None:
    audit = attack(tmp_path, ExactSampler())
    assert not audit.rejects(EPSILON, ALPHA), audit
    # the attack is the best there is: it is right as often as the claim allows, up to chance
    assert audit.p_value(EPSILON) < 1 - ALPHA, audit


@pytest.mark.slow
def test_an_attack_on_people_with_several_rows_does_not_refute_the_claimed_epsilon(
    tmp_path: Path,
) -> None:
    limits = "rows_per_unit_max = 3"
    audit = attack(tmp_path, ExactSampler(), rows=7, limits=limits)
    assert not audit.rejects(EPSILON, ALPHA), audit


@pytest.mark.slow
def test_a_build_with_halved_noise_is_refuted(tmp_path: Path) -> None:
    audit = attack(tmp_path, TamperedSampler(_halved))
    assert audit.rejects(EPSILON, ALPHA), audit
    assert audit.epsilon_lower(ALPHA) > 1.5
