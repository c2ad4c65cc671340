"""A question is charged to every kind of unit that it tells anything of, and to no other."""

# ruff: noqa: E501  (a question stands on one line)
from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from account.forging import forge
from sanql.account.charge import Charge
from sanql.account.events import LaplaceEvent
from sanql.account.ledger import journal
from sanql.account.ledger.ledger import Ledger
from sanql.account.ledger.terms import account_terms
from sanql.audit.ledger import verify
from sanql.cli.main import main
from sanql.errors import BudgetExceeded, LedgerError, Refused
from sanql.policy import Policy, load
from sanql.san import San
from support.cells import priced
from support.kinds import hospital

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

HALF = Charge((LaplaceEvent(Fraction(2), 1, 1),), Fraction(1, 2), Fraction(0))
OF_DOCTORS = Charge(HALF.events, HALF.epsilon, HALF.delta, ("doctor",))


def spent(policy: Policy) -> dict[tuple[str, str | None], Fraction]:
    with San(policy, "ana") as san:
        return {(b.kind, b.protects): b.spent_upper.epsilon for b in san.budget()}


@pytest.mark.parametrize(
    ("sql", "patient", "doctor"),
    [
        ("SELECT COUNT(*) FROM people", "1/4", "0"),
        ("SELECT SUM(paid) FROM bills JOIN people ON bills.person = people.person_id", "1/4", "0"),
        ("SELECT AVG(years) FROM doctors", "0", "1/4"),
        ("SELECT AVG(years) FROM doctors WHERE years < (SELECT AVG(age) FROM people)", "1/4", "1/4"),
        ("SELECT COUNT(*), SUM(cost) FROM visits", "1/4", "1/4"),
        ("SELECT ward, COUNT(*) FROM visits GROUP BY ward", "1/4", "1/4"),
        ("SELECT COUNT(*) FROM visits JOIN wards ON visits.ward = wards.name WHERE beds > 3", "1/4", "1/4"),
        ("SELECT (SELECT COUNT(*) FROM doctors) * 1.0 / COUNT(*) FROM people", "1/4", "1/4"),
    ],
)  # fmt: skip
def test_each_question_is_charged_to_whom_it_is_about(
    sql: str, patient: str, doctor: str, tmp_path: Path
) -> None:
    policy = load(hospital(tmp_path))
    with San(policy, "ana") as san:
        answer = san.query(sql, epsilon=0.25)
        named = {
            kind for kind, epsilon in (("patient", patient), ("doctor", doctor)) if epsilon != "0"
        }
        assert set(answer.charge.protects) == named
        assert all(kind in answer.summary() for kind in named)
    expected = {"patient": Fraction(patient), "doctor": Fraction(doctor)}
    for (_, kind), epsilon in spent(policy).items():
        assert kind is not None and epsilon == expected[kind]
    found = verify(policy.ledger)
    assert found.sound
    assert {(a.kind, a.protects, a.epsilon_spent_upper) for a in found.accounts} == {
        (*key, epsilon) for key, epsilon in spent(policy).items()
    }


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM doctors d JOIN people p ON d.doctor_id = p.person_id",
        "SELECT COUNT(*) FROM doctors, people",
        "SELECT COUNT(*) FROM doctors WHERE EXISTS (SELECT 1 FROM people)",
        "SELECT COUNT(*) FROM people WHERE person_id IN (SELECT doctor_id FROM doctors)",
        "SELECT COUNT(*) FROM (SELECT person_id AS i FROM people UNION ALL SELECT doctor_id FROM doctors) t",
        "SELECT COUNT(*) FROM visits v JOIN people p ON v.person_id = p.person_id",
        "WITH d AS (SELECT doctor_id FROM doctors) SELECT COUNT(*) FROM people JOIN d ON d.doctor_id = people.person_id",
    ],
)  # fmt: skip
def test_rows_of_two_kinds_never_lie_beside_each_other(sql: str, tmp_path: Path) -> None:
    policy = load(hospital(tmp_path))
    with San(policy, "ana") as san, pytest.raises(Refused) as refused:
        san.query(sql, epsilon=0.25)
    assert refused.value.code == "join_across_kinds"
    assert set(spent(policy).values()) == {0}


def test_one_table_twice_is_no_way_to_rows_of_two_kinds(tmp_path: Path) -> None:
    with San(load(hospital(tmp_path)), "ana") as san, pytest.raises(Refused) as refused:
        san.query("SELECT COUNT(*) FROM visits a JOIN visits b ON a.person_id = b.person_id", epsilon=0.25)  # fmt: skip
    assert refused.value.code == "kinds_read_alone"


def test_a_full_account_of_one_kind_stops_what_is_about_that_kind(tmp_path: Path) -> None:
    policy = load(hospital(tmp_path))
    with San(policy, "ana") as san:
        san.query("SELECT COUNT(*) FROM doctors", epsilon=1)
        with pytest.raises(BudgetExceeded, match="of doctor units"):
            san.query("SELECT AVG(years) FROM doctors", epsilon=0.1)
        with pytest.raises(BudgetExceeded, match="of doctor units"):
            san.query(
                "SELECT AVG(years) FROM doctors WHERE years < (SELECT AVG(age) FROM people)",
                epsilon=0.1,
            )
        san.query("SELECT COUNT(*) FROM people", epsilon=1)
    assert verify(policy.ledger).sound


@pytest.mark.parametrize("whom", [(), ("nurse",), ("doctor", "nurse")])
def test_a_charge_that_names_nobody_known_is_charged_to_everybody(
    whom: tuple[str, ...], tmp_path: Path
) -> None:
    policy = load(hospital(tmp_path))
    charge = Charge(HALF.events, HALF.epsilon, HALF.delta, whom)
    with Ledger.open(policy, account_terms(policy)) as ledger:
        ledger.reserve("ana", "a" * 64, charge)
        assert {b.spent_upper.epsilon for b in ledger.balances()} == {Fraction(1, 2)}
        assert {b.reserved for b in ledger.balances()} == {1}
    assert {a.epsilon_spent_upper for a in verify(policy.ledger).accounts} == {Fraction(1, 2)}


def test_accounts_of_a_kind_that_are_declared_later_begin_with_what_was_spent_of_it(
    tmp_path: Path,
) -> None:
    path = hospital(tmp_path)
    policy = load(path)
    with Ledger.open(policy, account_terms(policy)) as ledger:
        ledger.reserve("ben", "a" * 64, OF_DOCTORS)
    path.write_text(path.read_text().replace("[analyst.ben]", "[analyst.ben]\nbudget = { epsilon = 1, delta = 0 }"))  # fmt: skip
    policy = load(path)
    with Ledger.open(policy, account_terms(policy)) as ledger:
        left = {b.protects: b.spent_upper.epsilon for b in ledger.balances() if b.account == "ben"}
    assert left == {"doctor": Fraction(1, 2), "patient": 0}
    assert verify(policy.ledger).sound


def test_a_checkpoint_keeps_each_kind_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "CHECKPOINT_RECORDS", 3)
    policy = load(hospital(tmp_path, accounting="renyi"))
    with Ledger.open(policy, account_terms(policy)) as ledger:
        for number in range(4):
            kept = ledger.reserve("ben", f"{number}" * 64, OF_DOCTORS if number % 2 else HALF)
            if number % 2:
                ledger.spend(kept, b"x")
        then = ledger.balances()
        assert [r.kind for r in ledger.records()].count("checkpoint") >= 2
    with Ledger.open(policy, account_terms(policy)) as ledger:
        assert ledger.balances() == then
    assert verify(policy.ledger).sound


def test_kinds_are_terms_that_an_account_goes_on_with(tmp_path: Path) -> None:
    path = hospital(tmp_path)
    policy = load(path)
    with Ledger.open(policy, account_terms(policy)) as ledger:
        ledger.reserve("ben", "a" * 64, OF_DOCTORS)
    text = path.read_text()
    more = "[unit.nurse]\nbudget = { epsilon = 9, delta = 1e-6 }\n[analyst.ana]"
    for changed in (
        text.replace("[analyst.ana]", more, 1),
        text.replace('{ patient = "person_id", doctor = "doctor_id" }', '{ patient = "person_id" }')
        .replace("rows_per_group_max = { patient = 3, doctor = 4 }", "rows_per_unit_max = 3"),
        text.replace('{ doctor = "doctor_id" }', '{ patient = "doctor_id" }'),
    ):  # fmt: skip
        assert changed != text
        path.write_text(changed)
        other = load(path)
        with pytest.raises(LedgerError) as error:
            Ledger.open(other, account_terms(other))
        assert error.value.code == "ledger_terms"


def _limits_without(body: dict[str, object], kind: str) -> dict[str, object]:
    accounts = body["accounts"]
    assert isinstance(accounts, list)
    return body | {"accounts": [each for each in accounts if each["protects"] != kind]}


def test_a_ledger_that_was_forged_to_charge_one_kind_less_is_found(tmp_path: Path) -> None:
    """Limits without the doctors' accounts, written with good hashes: books and auditor refuse them."""
    policy = load(hospital(tmp_path))
    with Ledger.open(policy, account_terms(policy)) as ledger:
        ledger.reserve("ben", "a" * 64, OF_DOCTORS)
        limits = json.loads([*ledger.records()][1].body)
    forge(policy, "limits", _limits_without(limits, "doctor"))
    fault = verify(policy.ledger).fault
    assert fault is not None and "other kinds of unit" in fault.message
    with pytest.raises(LedgerError):
        Ledger.open(policy, account_terms(policy))


def test_the_certificate_of_rows_of_both_says_whom_it_protects_and_by_which_limits(
    tmp_path: Path,
) -> None:
    with San(load(hospital(tmp_path)), "ana") as san:
        answer = san.query("SELECT COUNT(*) FROM visits", epsilon=0.25)
        explained = san.explain("SELECT COUNT(*) FROM visits", epsilon=0.25)
    assert "one patient (person_id) or one doctor (doctor_id)" in answer.certificate.unit
    assert answer.certificate.limits == {
        "rows_per_group (patient)": 3,
        "rows_per_group (doctor)": 4,
    }
    assert "3 rows of a patient in a group and 4 rows of a doctor in a group" in str(answer)
    assert "on the doctor and patient accounts" in str(explained)
    assert answer.to_dict()["price"]["protects"] == ["doctor", "patient"]
    assert {b["protects"] for b in answer.to_dict()["balances"]} == {"doctor", "patient"}


def test_no_profile_or_bound_is_found_of_rows_of_both(tmp_path: Path) -> None:
    """San's own questions bound units of one kind, and are charged for none where they are refused."""
    path = hospital(tmp_path)
    policy = load(path)
    with San(policy, "ana") as san:
        for ask in (
            lambda: san.suggest_limits("visits", epsilon=0.1),
            lambda: san.profile("visits", epsilon=0.1),
        ):
            with pytest.raises(Refused) as refused:
                ask()
            assert refused.value.code == "kinds_not_covered"
    assert set(spent(policy).values()) == {0}


def test_what_identifies_units_of_a_kind_keeps_its_name(tmp_path: Path) -> None:
    """Its text on record would stay, and another column of the old name could be taken for it."""
    path = hospital(tmp_path)
    declared = 'age = { type = "integer", bounds = [0, 120] }'
    path.write_text(
        path.read_text().replace(declared, declared + '\nperson_id = { type = "integer" }')
    )
    policy = load(path)
    with Ledger.open(policy, account_terms(policy)) as ledger:
        ledger.reserve("ben", "a" * 64, OF_DOCTORS)
    renamed = CliRunner().invoke(main, ["account", "rename", "-p", str(path), "people.person_id", "pid", "--because", "moved"])  # fmt: skip
    assert renamed.exit_code and "one of several kinds" in renamed.output
    body = {"author": "x", "reason": "y", "time": "2026-01-01T00:00:00+00:00"}
    forge(policy, "rename", body | {"table": "people", "column": "person_id", "to": "pid"})
    fault = verify(policy.ledger).fault
    assert fault is not None and "one of several kinds" in fault.message
    with pytest.raises(LedgerError):
        Ledger.open(policy, account_terms(policy))


def test_a_table_of_both_kinds_may_join_later_and_one_of_a_stranger_may_not(tmp_path: Path) -> None:
    path = hospital(tmp_path)
    whole = path.read_text()
    start, end = whole.index("[table.visits]"), whole.index("[table.wards]")
    path.write_text(whole[:start] + whole[end:])
    policy = load(path)
    with Ledger.open(policy, account_terms(policy)) as ledger:
        ledger.reserve("ben", "a" * 64, OF_DOCTORS)
    path.write_text(whole)
    policy = load(path)
    with Ledger.open(policy, account_terms(policy)) as ledger:
        ledger.reserve("ben", "b" * 64, HALF)
        assert [r.kind for r in ledger.records()][-2:] == ["tables", "reserve"]
    assert verify(policy.ledger).sound
    more = (
        '[table.nights]\nprivacy_unit = { doctor = "chief" }\nrows_per_unit_max = 2\n[table.wards]'
    )
    path.write_text(whole.replace("[table.wards]", more))
    policy = load(path)
    with pytest.raises(LedgerError) as error:
        Ledger.open(policy, account_terms(policy))
    assert error.value.code == "ledger_terms"
    body = {"private": {"nights": "chief (doctor)"}, "public": [], "columns": {}}
    forge(policy, "tables", body | {"time": "2026-01-01T00:00:00+00:00"})
    fault = verify(policy.ledger).fault
    assert fault is not None and "does not protect" in fault.message


def test_how_long_a_doctors_name_may_be_is_part_of_the_question(tmp_path: Path) -> None:
    """It decides whose a row is, so an answer under another length is no repeat."""
    path = hospital(tmp_path)
    text, day = path.read_text(), 'day = { type = "integer" }'
    names = []
    for most in (8, 9):
        declared = f'{day}\ndoctor_id = {{ type = "text", bytes_max = {most} }}'
        path.write_text(text.replace(day, declared))
        tables = load(path).tables
        names.append(priced("SELECT COUNT(*) FROM visits", tables).digest("data"))
    assert names[0] != names[1]
