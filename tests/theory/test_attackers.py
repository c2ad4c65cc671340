"""Attackers learn what theory says they learn, and no more in the ideal world."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner

from sanql.cli.theory import theory
from sanql.theory.attackers import bayesian, membership, reconstruction, separations
from sanql.theory.channels import Channel, exact_statistic, from_function, randomised_response
from sanql.theory.definitions.worlds import World, records
from sanql.theory.distributions import Distribution
from sanql.theory.errors import TheoryError
from theory.vectors import ALL, number

BITS = list(product((0, 1), repeat=2))


def test_the_bayesian_learns_a_record_from_an_exact_sum_and_nothing_from_a_simulation() -> None:
    channel = exact_statistic(BITS, sum)
    world = World.without_side_information(Distribution.uniform(BITS))
    first = records(2)[0]
    simulator = Channel.of({first.alt(x): Distribution.over(["1/4", "1/2", "1/4"]) for x in BITS})
    told = bayesian.update(channel, world, first, simulator, output=2)
    assert isinstance(told.real, Distribution)
    assert isinstance(told.ideal, Distribution)
    assert told.real[1] == 1
    assert told.ideal[1] == Fraction(1, 2)
    assert told.details["distance"] == Fraction(1, 2)
    with pytest.raises(TheoryError, match="probability 0"):
        bayesian.update(channel, world, first, simulator, output=9)


def test_the_bayesian_guess_uses_the_side_information() -> None:
    channel = exact_statistic(BITS, sum)
    simulator = exact_statistic([(0, (v,)) for v in (0, 1)], lambda seen: seen[1][0])
    first = records(2)[0]
    for world, real in (
        (World.without_side_information(Distribution.uniform(BITS)), Fraction(3, 4)),
        (World.knowing(Distribution.uniform(BITS), lambda x: x[1]), Fraction(1)),
    ):
        told = bayesian.guesses(
            channel, world, lambda x: x[0], simulator_input=first, simulator=simulator
        )
        assert told.real == real
        assert told.ideal == Fraction(1, 2) == told.details["without any output"]


def test_the_membership_tester_reaches_the_trade_off_curve() -> None:
    told = membership.tester(randomised_response(1, odds=3), (1,), (0,), "1/4")
    assert told.real == Fraction(3, 4)
    assert told.ideal == Fraction(1, 4)
    assert told.details["advantage"] == Fraction(1, 2)


def test_the_balanced_tester_accuses_where_the_member_is_likelier() -> None:
    rows = {(0,): Distribution.over(["8/10", "1/10", "1/10"]), (1,): Distribution.over([0, 0, 1])}
    told = membership.tester(Channel.of(rows), (1,), (0,), "1/20")
    # the record is taken to be used after output 2, which an innocent one gives one time in ten
    assert told.details["errors of the balanced test"] == (Fraction(1, 10), Fraction(0))
    assert told.details["advantage"] == Fraction(9, 10)
    assert told.real == Fraction(1, 2)


def test_a_tie_of_scores_is_half_a_win_for_homer() -> None:
    # one attribute: member and stranger agree about half of the time, and then no score is larger
    told = membership.homer(people=1, attributes=1, trials=2000)
    assert isinstance(told.ideal, float)
    # 2,000 trials of three values leave [0.4, 0.6] with probability below 1e-15
    assert 0.4 < told.ideal < 0.6
    assert membership.homer(people=30, attributes=1, noise=1e300, trials=50).ideal != 0


def test_attacks_too_large_for_the_machine_are_refused() -> None:
    with pytest.raises(TheoryError, match="noise is 1e\\+300"):
        reconstruction.linear(5, 5, noise=1e300)
    with pytest.raises(TheoryError, match="people"):
        reconstruction.linear(10_000, 10_000, noise=1)
    with pytest.raises(TheoryError, match="people times attributes"):
        membership.homer(people=10**6, attributes=10**6)


def test_homer_finds_members_in_exact_averages_and_not_in_noisy_ones() -> None:
    exact = membership.homer(people=20, attributes=600, trials=100)
    noisy = membership.homer(people=20, attributes=600, noise=3.0, trials=100)
    assert isinstance(exact.real, float)
    assert isinstance(exact.ideal, float)
    assert isinstance(noisy.real, float)
    assert exact.real > 0.95
    # 100 fair coins leave [0.2, 0.8] with probability below 1e-9
    assert 0.2 < exact.ideal < 0.8
    assert 0.2 < noisy.real < 0.8


def test_the_differencer_reads_one_value_from_two_exact_sums() -> None:
    told = reconstruction.differencer([4, 9, 2], 1, answer=float, ideal=float)
    assert (told.real, told.ideal) == (9.0, 0.0)
    rounded = reconstruction.differencer([4, 9, 2], 1, lambda s: 100 * round(s / 100), float)
    assert rounded.real == 0
    with pytest.raises(TheoryError):
        reconstruction.differencer([1], 3, float, float)


def test_linear_reconstruction_works_below_root_n_noise_and_fails_far_above() -> None:
    small = reconstruction.linear(people=64, queries=400, noise=1.0, seed=3)
    large = reconstruction.linear(people=64, queries=400, noise=64.0, seed=3)
    assert isinstance(small.real, float)
    assert isinstance(small.ideal, float)
    assert isinstance(large.real, float)
    assert small.real >= 0.98
    assert small.ideal < 0.8
    assert large.real < small.real - 0.1


def test_the_parity_separates_the_two_forms_of_ddp() -> None:
    told = separations.parity(3)
    assert (told.real, told.ideal) == (Fraction(1, 2), Fraction(0))
    with pytest.raises(TheoryError):
        separations.parity(1)


def test_the_common_sign_is_private_to_ddp_and_not_to_noiseless_privacy() -> None:
    hidden = separations.common_sign(3, "1/10", sign_is_known=False)
    known = separations.common_sign(3, "1/10", sign_is_known=True)
    assert (hidden.real, hidden.ideal) == (Fraction(41, 50), Fraction(9, 100))
    assert (known.real, known.ideal) == (Fraction(9, 50), Fraction(9, 100))


def test_a_belief_far_from_reality_is_misled_almost_surely() -> None:
    given = next(vector for vector in ALL if vector["id"] == "E09_A2_discrete")["input"]
    by_sum = [Distribution.over(row) for row in given["rows_by_sum"]]
    channel = from_function(list(product((0, 1), repeat=4)), lambda x: by_sum[sum(x)])
    belief = Distribution.uniform([(0, 0, 0, 0), (1, 0, 0, 0)])
    told = separations.reality(channel, belief, (1, 1, 1, 1), "2/5")
    assert told.real == number("98304/102529")
    assert told.ideal == number("1665/102529")
    gaussian = separations.gaussian_sum(100, math.sqrt(50))
    assert gaussian.real == pytest.approx(0.37974313753224925)


def test_every_attack_is_plain_data_and_one_sentence() -> None:
    told = separations.parity(2)
    assert told.to_dict()["real"] == "1/2"
    assert "real world" in told.describe()


COIN = {"databases": {"0": ["3/4", "1/4"], "1": ["1/4", "3/4"]}}


def attacked(*arguments: str) -> dict[str, object]:
    done = CliRunner().invoke(theory, ["attack", *arguments, "--format", "json"])
    told: dict[str, object] = json.loads(done.output)
    assert (done.exit_code == 0) != ("error" in told)
    return told


def test_every_attacker_runs_from_the_command_line(tmp_path: Path) -> None:
    """With the numbers its function gives, each worse for the person in the real world."""
    parity = attacked("parity", "--people", "2")
    assert (parity["real"], parity["ideal"]) == ("1/2", "0")
    told = attacked("mu", "--people", "3", "--flip", "1/4")
    assert told == separations.common_sign(3, "1/4", sign_is_known=False).to_dict()
    told = attacked("mu", "--people", "3", "--flip", "1/4", "--sign-known")
    assert told == separations.common_sign(3, "1/4", sign_is_known=True).to_dict()
    assert attacked("a2", "--sigma", "2") == separations.gaussian_sum(10, 2.0).to_dict()
    told = attacked("homer", "--trials", "20", "--attributes", "200", "--people", "20")
    assert told["real"] > 0.9  # type: ignore[operator]
    assert told["ideal"] < 0.8  # type: ignore[operator]
    told = attacked("reconstruct", "--people", "20", "--queries", "80", "--noise", "1/2")
    assert told["real"] == 1.0 > told["ideal"]  # type: ignore[operator]
    told = attacked("difference", "--values", "3,5,4", "--person", "2")
    assert (told["real"], told["ideal"]) == (5.0, 0.0)
    blurred = attacked("difference", "--scale", "10", "--seed", "7")
    assert blurred["real"] not in (3.0, 0.0)
    (tmp_path / "c.json").write_text(json.dumps(COIN), encoding="utf-8")
    asked = ["membership", str(tmp_path / "c.json"), "--member", "1", "--absent", "0"]
    told = attacked(*asked, "--false-alarms", "1/8")
    assert (told["real"], told["ideal"]) == ("3/8", "1/8")
    shown = CliRunner().invoke(theory, ["attack", *asked])
    assert "advantage: 1/2" in shown.output


def test_an_attacker_refuses_what_it_cannot_use(tmp_path: Path) -> None:
    for arguments in (
        ("parity", "--people", "1"),
        ("difference", "--values", "1/2,3"),
        ("difference", "--person", "4"),
        ("difference", "--scale", "-1"),
        ("mu", "--flip", "2"),
        ("membership", str(tmp_path / "none.json"), "--member", "1", "--absent", "0"),
    ):
        assert "remedy" in attacked(*arguments)["error"]  # type: ignore[operator]
