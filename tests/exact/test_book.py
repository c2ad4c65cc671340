"""A release is made once: repeats are free, overlaps refused, through restarts, crashes, updates."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import sanql
from exact.towns import AMOUNT, POLICY, ROWS, SCORE, Town, Truth, write_people, write_policy
from sanql.audit.ledger import verify
from sanql.cli.main import main
from sanql.engines.leases import Lease
from sanql.errors import LedgerError, PolicyError, Refused, Unavailable

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

SUM = "SELECT region, SUM(score) FROM people GROUP BY region"


def kinds(san: sanql.San) -> list[str]:
    return [record.kind for record in san.ledger.records()]


def test_the_release_is_on_record_before_a_row_is_read(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    san = town()
    seen = []
    run = Lease.run

    def watched(self: object, *given: object) -> object:
        seen.append(kinds(san))
        return run(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Lease, "run", watched)
    san.query(SUM, exact=True)
    assert seen == [["open", "limits", "version", "claim", "exact"]]
    assert kinds(san) == ["open", "limits", "version", "claim", "exact", "spend"]


def test_repeats_and_other_unions_are_free_for_everybody_and_after_a_restart(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = town().query(SUM, exact=True)
    again = town()

    def fail(*_: object) -> None:
        raise AssertionError("rows were read again")

    monkeypatch.setattr(Lease, "run", fail)
    repeat = again.query(SUM, exact=True)
    assert repeat.rows == first.rows and repeat.cached and not first.cached
    total = again.query("SELECT SUM(score) FROM people", exact=True)
    assert total.value == sum(value for _, value in first.rows)
    assert repeat.certificate.to_dict() == first.certificate.to_dict()
    assert kinds(again).count("exact") == 1


def test_exact_answers_spend_no_budget_and_noisy_ones_still_do(town: Town) -> None:
    san = town()
    san.query(SUM, exact=True)
    assert san.budget()[0].spent_upper.epsilon == 0
    san.query(SUM, epsilon=1)
    assert san.budget()[0].spent_upper.epsilon > 0
    alone = str(san.query(SUM, exact=True).certificate.to_dict()["stands_alone"])
    assert "Theorem 6" in alone and "keep their own guarantee" in alone


def test_an_update_closes_the_book(town: Town, tmp_path: Path) -> None:
    san = town()
    san.query(SUM, exact=True)
    san.close()
    both = SCORE.replace("5 }", '5, known_columns = ["amount"] }') + AMOUNT.replace(
        "5 }", '5, known_columns = ["score"] }'
    )
    changed = town(both, rows=f"SELECT * FROM ({ROWS}) WHERE person_id <> 7")
    changed.refresh()
    for ask in (changed.query, changed.explain):
        with pytest.raises(Refused) as caught:
            ask("SELECT SUM(amount) FROM people", exact=True)
        assert caught.value.code == "exact_source_changed"
    assert changed.query("SELECT COUNT(*) FROM people", epsilon=1).rows
    assert verify(tmp_path / "town.ledger").sound


def test_cells_on_record_are_repeated_as_of_their_version(town: Town, tmp_path: Path) -> None:
    san = town()
    first = san.query(SUM, exact=True)
    san.close()
    changed = town(rows=f"SELECT * FROM ({ROWS}) WHERE person_id <> 7")
    for _ in range(2):
        again = changed.query(SUM, exact=True)
        assert (again.rows, again.version, again.cached) == (first.rows, 1, True)
        changed.refresh()
    assert changed.query("SELECT COUNT(*) FROM people", epsilon=1).version == 3
    assert verify(tmp_path / "town.ledger").sound


@pytest.mark.parametrize(
    "changed",
    [
        SCORE.replace('"region", "urban"', '"region"'),
        SCORE.replace("0.15", "0.16"),
        SCORE.replace("records_min = 150", "records_min = 160"),
        SCORE.replace("[exact.score]", "[exact.score]\nmissing = 3"),
    ],
)
def test_a_declaration_is_fixed_in_advance(town: Town, changed: str) -> None:
    town().query(SUM, exact=True)
    with pytest.raises(Refused) as caught:
        town(changed).query("SELECT SUM(score) FROM people", exact=True)
    assert caught.value.code == "exact_declaration_changed"


def test_a_second_column_is_refused_unless_each_class_knows_the_other(town: Town) -> None:
    town().query(SUM, exact=True)
    with pytest.raises(Refused) as caught:
        town("amount").query("SELECT SUM(amount) FROM people", exact=True)
    assert caught.value.code == "exact_combination"


def test_two_columns_together_have_the_guarantee_of_theorem_6(town: Town) -> None:
    both = SCORE.replace("5 }", '5, known_columns = ["amount"] }') + AMOUNT.replace(
        "5 }", '5, known_columns = ["score"] }'
    )
    san = town(both)
    one = san.query(SUM, exact=True).certificate.to_dict()
    answer = san.query("SELECT SUM(amount) FROM people", exact=True)
    two = answer.certificate.to_dict()
    assert "together" not in one
    joint = two["together"]
    assert joint["releases"] == ["score", "amount"] and joint["epsilon"] == 2.0
    first, second = float(str(one["delta"])), float(str(two["delta"]))
    e = 2.718281828459045
    assert joint["delta"] == pytest.approx(max(first * e + second, first + second * e), rel=1e-9)
    assert joint["delta"] >= max(first * e + second, first + second * e)
    shown = f"[exact.score] and [exact.amount] together: (2, {joint['delta']:.3g})-DDP by Theorem 6"
    explained = san.explain("SELECT SUM(amount) FROM people", exact=True)
    assert shown in answer.summary() and shown in str(explained)


SMALL = f"SELECT * FROM ({ROWS}) WHERE region <> 'north' OR person_id % 16 = 0"


def test_a_small_cell_is_refused_for_every_question_with_the_same_words(
    town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    san = town(rows=SMALL)
    with pytest.raises(Refused) as first:
        san.query(SUM, exact=True)
    assert first.value.code == "exact_cell_small"
    assert "150 records, which the owner declares as records_min" in first.value.message
    assert "uniform part" not in first.value.remedy and "5 known records" in first.value.message
    assert "with noise" in first.value.remedy
    # from now on the ledger alone decides: no row is read, whichever cells are asked for
    monkeypatch.setattr(Lease, "run", None)
    for sql in (SUM, "SELECT SUM(score) FROM people WHERE region = 'south'"):
        for ask in (san.query, san.explain):
            with pytest.raises(Refused) as again:
                ask(sql, exact=True)
            assert again.value.message == first.value.message
    assert kinds(san) == ["open", "limits", "version", "claim", "exact", "void"]
    listed = run("ledger", "list", "-p", str(tmp_path / "policy.toml"))
    assert "has [exact.score] asked for, void, 8 cells" in listed and "released" not in listed
    assert verify(tmp_path / "town.ledger").sound


def test_the_refusal_does_not_depend_on_which_cell_is_small_or_by_how_much(
    tmp_path: Path,
) -> None:
    said = set()
    for number, where in enumerate(
        ["region <> 'north'", "person_id % 400 <> 3", "person_id < 3", "urban", "false"]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        write_people(folder, f"SELECT * FROM ({ROWS}) WHERE {where}")
        with sanql.open(write_policy(folder, SCORE.replace("150", "200"))) as san:
            with pytest.raises(Refused) as caught:
                san.query("SELECT SUM(score) FROM people WHERE region = 'west'", exact=True)
            said.add((caught.value.code, caught.value.message, caught.value.remedy))
    assert len(said) == 1


def test_a_failure_says_nothing_and_may_be_tried_again(
    town: Town, truth: Truth, monkeypatch: pytest.MonkeyPatch
) -> None:
    san = town()
    with monkeypatch.context() as broken:
        broken.setattr(Lease, "run", lambda *_: 1 / 0)
        with pytest.raises(Unavailable) as caught:
            san.query(SUM, exact=True)
    assert caught.value.code == "unavailable" and caught.value.__cause__ is None
    assert sorted(san.query(SUM, exact=True).rows) == sorted(truth(SUM))
    assert kinds(san) == ["open", "limits", "version", "claim", "exact", "void", "exact", "spend"]


def test_cells_that_come_out_differently_are_not_released_twice(town: Town) -> None:
    san = town()
    san.query(SUM, exact=True)
    (entry,) = san.ledger.exact.entries()
    with pytest.raises(LedgerError):
        san.ledger.exact.spend(entry, b'{"records": [1], "totals": [1]}')


CHILD = """
import sys, time, sanql
from sanql.engines import pool
san = sanql.open(sys.argv[1])
moment = sys.argv[2]
if moment == "reserved":
    def wait(*_):
        print("now", flush=True)
        time.sleep(600)
    pool.Lease.run = wait
san.query("SELECT SUM(score) FROM people", exact=True)
print("now", flush=True)
time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["reserved", "answered"])
def test_after_kill_9_the_release_stands_and_the_same_question_is_answered(
    town: Town, truth: Truth, tmp_path: Path, moment: str
) -> None:
    town().close()
    policy = tmp_path / "policy.toml"
    command = [sys.executable, "-c", CHILD, str(policy), moment]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"now\n"
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    san = town()
    assert [entry.open for entry in san.ledger.exact.entries()] == [moment == "reserved"]
    answer = san.query(SUM, exact=True)
    assert sorted(answer.rows) == sorted(truth(SUM))
    assert answer.cached is (moment == "answered")
    assert kinds(san).count("exact") == 1
    with pytest.raises(Refused) as caught:
        san.query("SELECT SUM(score) FROM people WHERE age > 50", exact=True)
    assert caught.value.code == "exact_outside_cells"
    san.close()
    later = town(rows=f"SELECT * FROM ({ROWS}) WHERE person_id <> 7").query(SUM, exact=True)
    assert (later.rows, later.version) == (answer.rows, 1)


@pytest.mark.slow
def test_after_kill_9_before_an_answer_an_updated_source_stays_closed(
    town: Town, tmp_path: Path
) -> None:
    town().close()
    command = [sys.executable, "-c", CHILD, str(tmp_path / "policy.toml"), "reserved"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"now\n"
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    time.sleep(0.01)
    updated = town(rows=f"SELECT * FROM ({ROWS}) WHERE person_id <> 7")
    for code in ("source_changed", "exact_source_changed"):
        with pytest.raises(Refused) as caught:
            updated.query(SUM, exact=True)
        assert caught.value.code == code
        updated.refresh()


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_check_tells_what_a_declaration_takes_before_a_row_is_read(
    town: Town, tmp_path: Path
) -> None:
    town("score").close()
    policy = str(tmp_path / "policy.toml")
    assert "[exact.score]: at least 150 records in every cell (declared); (1, " in run(
        "check", policy
    )
    (terms,) = json.loads(run("check", policy, "--format", "json"))["exact"].values()
    assert terms["records_min"] == 150 and terms["epsilon"] == 1.0 and terms["delta"] <= 1e-6
    town("regions").close()
    assert "records in a cell that is shown (found to pass); (1, " in run("check", policy)


def test_the_commands_know_the_book(town: Town, truth: Truth, tmp_path: Path) -> None:
    town().close()
    policy = ["-p", str(tmp_path / "policy.toml")]
    asked = json.loads(run("query", *policy, "--exact", "--format", "json", SUM))
    assert sorted(map(tuple, asked["rows"])) == sorted(truth(SUM))
    assert asked["release"] == "exact" and asked["certificate"]["assumptions"]
    assert "no noise" in run("query", *policy, "--exact", SUM)
    assert "recorded already" in run("explain", *policy, "--exact", SUM)
    assert "[exact.score] released, 8 cells" in run("ledger", "list", *policy)
    assert "exact score: 8 cells, answered" in run("ledger", "verify", *policy)
    checked = json.loads(run("ledger", "verify", *policy, "--format", "json"))
    assert [entry["state"] for entry in checked["exact"]] == ["answered"]
    assert '"kind": "exact"' in run("ledger", "export", *policy)
    assert "'score' of 'people' by region, urban (8 cells)" in run("budget", *policy)
    budget = json.loads(run("budget", *policy, "--format", "json"))
    assert budget["exact"][0]["certificate"]["class"] == asked["certificate"]["class"]
    refused = CliRunner().invoke(main, ["query", *policy, "--exact", "SELECT SUM(age) FROM people"])
    assert refused.exit_code == 2 and "declared no exact releases of age" in refused.output


BOTH = SCORE.replace("5 }", '5, known_columns = ["amount"] }') + AMOUNT.replace(
    "5 }", '5, known_columns = ["score"] }'
)


def capped(epsilon: str, delta: str) -> str:
    cap = f"exact_together = {{ epsilon = {epsilon}, delta = {delta} }}\n"
    return POLICY.replace("accounting =", f"{cap}accounting =", 1)


def test_an_explanation_counts_the_release_that_is_asked_about(town: Town) -> None:
    san = town(BOTH)
    assert "together" not in san.explain(SUM, exact=True).certificate.to_dict()
    san.query(SUM, exact=True)
    asked = "SELECT SUM(amount) FROM people"
    before = san.explain(asked, exact=True).certificate.to_dict()["together"]
    assert before["releases"] == ["score", "amount"]
    assert san.query(asked, exact=True).certificate.to_dict()["together"] == before


@pytest.mark.parametrize(
    ("epsilon", "delta", "allowed"),
    [("2", "3e-6", True), ("1.999", "3e-6", False), ("2", "2e-6", False), ("1", "1e-6", False)],
)
def test_the_owner_caps_what_leaves_exactly_in_all(
    town: Town, epsilon: str, delta: str, allowed: bool
) -> None:
    san = town(BOTH, policy=capped(epsilon, delta))
    first = san.query(SUM, exact=True)
    asked = "SELECT SUM(amount) FROM people"
    if allowed:
        joint = san.query(asked, exact=True).certificate.to_dict()["together"]
        assert joint["epsilon"] <= float(epsilon) and joint["delta"] <= float(delta)
        assert joint["at_most"] == {"epsilon": float(epsilon), "delta": float(delta)}
        return
    for ask in (san.explain, san.query, san.query):
        with pytest.raises(Refused) as caught:
            ask(asked, exact=True)
        assert caught.value.code == "exact_together"
    assert kinds(san).count("exact") == 1
    assert san.query(SUM, exact=True).rows == first.rows  # what has left can be shown again


def test_a_cap_that_is_lowered_closes_nothing_that_has_left(town: Town) -> None:
    san = town(BOTH)
    asked = "SELECT SUM(amount) FROM people"
    before = san.query(SUM, exact=True).rows, san.query(asked, exact=True).rows
    san.close()
    lower = town(BOTH, policy=capped("1", "1e-6"))
    assert (lower.query(SUM, exact=True).rows, lower.query(asked, exact=True).rows) == before


def test_a_cap_below_what_a_release_accepts_is_a_fault(tmp_path: Path) -> None:
    write_people(tmp_path)
    with pytest.raises(PolicyError, match="could never be asked"):
        sanql.open(write_policy(tmp_path, SCORE, capped("0.5", "1e-6")))
