"""Each attack succeeds on a database without the rules, and is refused by the one that has them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import sanql
from exact.attackers import (
    RulesOff,
    difference,
    membership_scores,
    reconstruct,
    rules_on,
    track,
)
from exact.towns import MEMBER, POLICY, ROWS, SCORE, Town, Truth, write_people, write_policy
from sanql.errors import PolicyError, Refused
from sanql.policy import load
from sanql.theory.attackers.bayesian import guesses
from sanql.theory.attackers.membership import homer
from sanql.theory.attackers.reconstruction import differencer, linear
from sanql.theory.channels import exact_statistic
from sanql.theory.definitions.worlds import World, canonical_simulator, records
from sanql.theory.distributions import Distribution

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

VICTIM = "age = 3 AND NOT member AND region = 'north'"
"""What an attacker knows of the one person it is true of."""


@pytest.fixture
def rules_off(town: Town, tmp_path: Path) -> RulesOff:
    victim = f"""
    SELECT * REPLACE (CASE WHEN person_id = 44 THEN 3 ELSE age END AS age,
                      person_id <> 44 AND member AS member) FROM ({ROWS})
    """
    town(rows=f"SELECT * FROM ({victim}) WHERE person_id = 44 OR NOT ({VICTIM})")
    return RulesOff(tmp_path / "people.parquet")


def test_differencing(rules_off: RulesOff, town: Town, truth: Truth) -> None:
    people = truth(f"SELECT score, {VICTIM} AS victim FROM people")
    values = [score for score, _ in people]
    (victim,) = [index for index, (_, is_victim) in enumerate(people) if is_victim]
    learned = differencer(values, victim, answer=float, ideal=float)
    assert difference(rules_off, VICTIM) == learned.real == values[victim]
    with pytest.raises(Refused) as caught:
        difference(rules_on(town()), VICTIM)
    assert caught.value.code == "exact_outside_cells"


def test_tracker(rules_off: RulesOff, town: Town, truth: Truth) -> None:
    ((score,),) = truth(f"SELECT score FROM people WHERE {VICTIM}")
    assert track(rules_off, VICTIM) == score
    with pytest.raises(Refused) as caught:
        track(rules_on(town()), VICTIM)
    assert caught.value.code == "exact_outside_cells"


def test_differencing_by_two_declarations(rules_off: RulesOff, town: Town) -> None:
    """A finer partition declared later would cut through the cells that have left."""
    coarse, fine = SCORE.replace('"region", "urban"', '"region"'), SCORE
    rules_on(town(coarse))("SELECT SUM(score) FROM people")
    with pytest.raises(Refused) as caught:
        rules_on(town(fine))("SELECT SUM(score) FROM people WHERE urban")
    assert caught.value.code == "exact_declaration_changed"


def test_differencing_by_an_update(rules_off: RulesOff, town: Town, truth: Truth) -> None:
    sql = "SELECT SUM(score) FROM people"
    ((score,),) = truth(f"SELECT score FROM people WHERE {VICTIM}")
    before, san = rules_off(sql), town()
    released = rules_on(san)(sql)
    san.close()
    duckdb.sql(
        f"COPY (SELECT * FROM '{rules_off.people}' WHERE NOT ({VICTIM})) "
        f"TO '{rules_off.people.with_suffix('.new')}' (FORMAT parquet)"
    )
    rules_off.people.with_suffix(".new").replace(rules_off.people)
    assert before - rules_off(sql) == score
    later = town()
    assert rules_on(later)(sql) == released
    later.refresh()
    assert rules_on(later)(sql) == released


def test_reconstruction(tmp_path: Path) -> None:
    """Forty bits from 120 exact counts, as linear reconstruction without noise predicts."""
    write_people(
        tmp_path, f"SELECT * REPLACE (person_id AS age) FROM ({ROWS}) WHERE person_id < 40"
    )
    bits = duckdb.sql(
        f"SELECT member FROM '{tmp_path / 'people.parquet'}' ORDER BY person_id"
    ).fetchall()
    found = reconstruct(RulesOff(tmp_path / "people.parquet"), 40, 120)
    assert [bool(bit) for bit in found] == [bit for (bit,) in bits]
    assert linear(40, 120, noise=0.0).real == 1.0
    with sanql.open(write_policy(tmp_path, MEMBER)) as san:
        with pytest.raises(Refused) as caught:
            reconstruct(rules_on(san), 40, 120)
        assert caught.value.code == "exact_outside_cells"
        with pytest.raises(Refused) as caught:  # nor is the whole of so small a table released
            rules_on(san)("SELECT COUNT(*) FROM people WHERE member")
        assert caught.value.code == "exact_cell_small"


def test_membership(tmp_path: Path) -> None:
    """Members stand out from strangers in many exact averages; one column is all that may leave."""
    rng = np.random.default_rng(7)
    names = [f"g{i}" for i in range(400)]
    population = rng.uniform(0.2, 0.8, len(names))
    study, strangers = ((rng.random((60, len(names))) < population).astype(float) for _ in range(2))
    table = tmp_path / "people.parquet"
    with duckdb.connect() as connection:
        arrow = pa.table({name: study[:, i].astype(bool) for i, name in enumerate(names)})
        connection.register("study", arrow)
        connection.sql(f"COPY study TO '{table}'")
    scores = membership_scores(RulesOff(table), names, population, np.vstack([study, strangers]))
    members, others = scores[:60], scores[60:]
    area = float((members[:, None] > others[None, :]).mean())
    assert area > 0.95
    assert homer(60, 400).real > 0.95 and abs(float(str(homer(60, 400).ideal)) - 0.5) < 0.2

    declared = "\n".join(f"{name} = {{ type = 'boolean' }}" for name in names)
    policy = POLICY.split("[table.people]")[0] + (
        f"[table.people]\nprivacy_unit = 'row'\n[table.people.column]\n{declared}\n"
    )
    adversary = "adversary = { class = 'binary', beta = 0.2, known_records = 0 }"
    accept = "accept = { epsilon = 1, delta = 1e-3 }"
    one, two = (f"[exact.{name}]\n{adversary}\n{accept}\n" for name in names[:2])
    path = write_policy(tmp_path, one + two, policy)
    with pytest.raises(PolicyError, match="neither class is said to hold"):
        load(path)
    with sanql.open(write_policy(tmp_path, one, policy)) as san:
        with pytest.raises(Refused) as caught:
            membership_scores(rules_on(san), names[1:], population[1:], study[:, 1:])
        assert caught.value.code == "exact_not_declared"


def test_a_wrong_prior(rules_off: RulesOff, town: Town, truth: Truth, tmp_path: Path) -> None:
    """Who knows everybody else reads the last record; declared honestly, that is refused.

    A declaration that is false is not caught by any rule: the certificate says whom it is against.
    """
    ((score,),) = truth(f"SELECT score FROM people WHERE {VICTIM}")
    ((others,),) = truth(f"SELECT SUM(score) FROM people WHERE NOT ({VICTIM})")
    total = "SELECT SUM(score) FROM people"
    assert rules_off(total) - others == score
    assert rules_on(town())(total) - others == score  # outside the declared class
    honest = SCORE.replace("known_records = 5", "known_records = 149")
    with pytest.raises(PolicyError, match="leave nobody unknown"):
        load(write_policy(tmp_path, honest))
    nearly = SCORE.replace("known_records = 5", "known_records = 147")
    with pytest.raises(PolicyError, match="is accepted"):
        load(write_policy(tmp_path, nearly))


def test_a_wrong_prior_in_the_textbook() -> None:
    """The best guess of one bit from an exact sum: certain for whoever knows the others."""
    people = list(product((0, 1), repeat=4))
    total = exact_statistic(people, sum)
    protection = records(4)[0]
    simulator = canonical_simulator(exact_statistic(list(product((0, 1), repeat=3)), sum), 4)
    uniform = Distribution.uniform(people)
    blind = World.knowing(uniform, lambda _: None)
    informed = World.knowing(uniform, lambda x: x[1:])
    told, inside = (
        guesses(total, world, lambda x: x[0], simulator_input=protection, simulator=simulator)
        for world in (informed, blind)
    )
    assert told.real == 1 and Fraction(str(inside.real)) < 1
