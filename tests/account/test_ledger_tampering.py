"""What an operator may do to the files, and where each is noticed.

Not noticed, and said so in the documentation: an old ledger restored together with its old head.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest

from sanql.account.charge import Charge
from sanql.account.ledger.chain import canonical_json, head_path, record_hash
from sanql.account.ledger.ledger import Ledger
from sanql.audit.ledger import verify
from sanql.audit.ledger.exporting import export
from sanql.errors import LedgerError
from sanql.policy.model import Policy

pytestmark = pytest.mark.slow

MakePolicy = Callable[..., Policy]
Laplace = Callable[[str], Charge]

TERMS = {"neighbours": "add-remove"}


def question(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def used(make_policy: MakePolicy, laplace: Laplace) -> Policy:
    """A ledger of 10 records in the main file: open, limits, then four times reserve, spend."""
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger:
        for i in range(4):
            reservation = ledger.reserve("ana", question(str(i)), laplace("0.1"))
            ledger.spend(reservation, f"answer {i}".encode())
    assert not policy.ledger.with_name("hospital.ledger-wal").exists()
    return policy


def edit(path: Path, *statements: str) -> None:
    """Change the database as somebody would who knows it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for (trigger,) in connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'trigger'"
        ).fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        for statement in statements:
            connection.execute(statement)


def assert_both_notice(policy: Policy, sequence: int | None, words: str) -> None:
    with pytest.raises(LedgerError) as error:
        Ledger.open(policy, TERMS)
    assert words in error.value.message
    verification = verify(policy.ledger)
    assert verification.fault is not None
    if sequence is not None:
        assert f"record {sequence} " in error.value.message
        assert verification.fault.sequence == sequence


def test_an_untouched_ledger_is_sound(used: Policy) -> None:
    verification = verify(used.ledger)
    assert verification.sound
    assert verification.records == 10
    lines = [json.loads(line) for line in export(used.ledger)]
    assert [line["sequence"] for line in lines] == list(range(1, 11))


@pytest.mark.parametrize("column", ["kind", "body", "previous", "hash"])
@pytest.mark.parametrize("sequence", [1, 2, 5, 10])
def test_a_changed_column_is_noticed_and_named(used: Policy, column: str, sequence: int) -> None:
    last = f"substr({column}, 1, length({column}) - 1) || 'x'"
    edit(used.ledger, f"UPDATE record SET {column} = {last} WHERE sequence = {sequence}")
    assert_both_notice(used, sequence, "record")
    with pytest.raises(LedgerError):
        list(export(used.ledger))


def test_a_flipped_byte_anywhere_in_a_record_is_noticed(used: Policy) -> None:
    pristine = used.ledger.read_bytes()
    with Ledger.open(used, TERMS) as ledger:
        records = list(ledger.records())
    for record in records:
        for text in (record.body, record.hash):
            start = pristine.index(text.encode())
            for offset in {0, len(text) // 2, len(text) - 1}:
                for bit in (0x01, 0x80):
                    flipped = bytearray(pristine)
                    flipped[start + offset] ^= bit
                    used.ledger.write_bytes(flipped)
                    assert_both_notice(used, None, "record")
    used.ledger.write_bytes(pristine)
    assert verify(used.ledger).sound


@pytest.mark.slow
def test_a_flipped_byte_anywhere_in_the_file_is_noticed_or_changes_nothing(used: Policy) -> None:
    pristine, head = used.ledger.read_bytes(), head_path(used.ledger).read_bytes()
    good = list(export(used.ledger))
    noticed = 0
    for position in range(0, len(pristine), 29):
        flipped = bytearray(pristine)
        flipped[position] ^= 0x55
        used.ledger.write_bytes(flipped)
        head_path(used.ledger).write_bytes(head)
        try:
            with Ledger.open(used, TERMS) as ledger:
                kept = [asdict(record) | {"body": record.content} for record in ledger.records()]
                assert [json.dumps(record, sort_keys=True) for record in kept] == good
        except LedgerError:
            noticed += 1
            assert not verify(used.ledger).sound
    assert noticed > 50


@pytest.mark.parametrize("sequence", [1, 2, 3, 6, 9])
def test_a_deleted_record_is_noticed_and_named(used: Policy, sequence: int) -> None:
    edit(used.ledger, f"DELETE FROM record WHERE sequence = {sequence}")
    assert_both_notice(used, sequence, "missing")


@pytest.mark.parametrize("kept", [0, 2, 5, 9])
def test_a_chain_cut_short_is_noticed_by_its_head(used: Policy, kept: int) -> None:
    edit(
        used.ledger,
        f"DELETE FROM record WHERE sequence > {kept}",
        f"DELETE FROM answer WHERE reservation >= {kept}",
    )
    assert_both_notice(used, kept + 1, "missing")


def test_two_records_swapped_are_noticed(used: Policy) -> None:
    edit(
        used.ledger,
        "UPDATE record SET sequence = -5 WHERE sequence = 5",
        "UPDATE record SET sequence = 5 WHERE sequence = 7",
        "UPDATE record SET sequence = 7 WHERE sequence = -5",
    )
    assert_both_notice(used, 5, "record 5")


def test_a_smaller_charge_with_all_later_hashes_made_anew_is_noticed_by_the_head(
    used: Policy,
) -> None:
    with closing(sqlite3.connect(used.ledger)) as connection:
        rows = connection.execute("SELECT * FROM record ORDER BY sequence").fetchall()
    statements, previous = [], "0" * 64
    for sequence, kind, body, _, _ in rows:
        forged = body.replace('"1/10"', '"1/100"').replace('"10/1"', '"100/1"')
        digest = record_hash(sequence, kind, forged, previous)
        statements.append(
            f"UPDATE record SET body = '{forged}', previous = '{previous}', hash = '{digest}' "
            f"WHERE sequence = {sequence}"
        )
        previous = digest
    edit(used.ledger, *statements)
    assert_both_notice(used, 10, "record 10")


def test_a_charge_above_the_budget_is_noticed_even_under_a_valid_chain(
    used: Policy, laplace: Laplace
) -> None:
    with closing(sqlite3.connect(used.ledger)) as connection:
        ((previous,),) = connection.execute("SELECT hash FROM record WHERE sequence = 10")
        charge = laplace("0.7").to_dict()
        body = canonical_json(
            {"analyst": "ana", "charge": charge, "question": question("x"), "time": "2030-01-01"}
        )
        digest = record_hash(11, "reserve", body, previous)
        with connection:
            connection.execute(
                "INSERT INTO record VALUES (11, 'reserve', ?, ?, ?)", (body, previous, digest)
            )
    fault = verify(used.ledger).fault
    assert fault is not None
    assert fault.sequence == 11
    assert "analyst account 'ana' exceeds its budget" in fault.message


def test_a_charge_that_claims_less_than_its_events_is_noticed_even_under_a_valid_chain(
    used: Policy, laplace: Laplace
) -> None:
    with closing(sqlite3.connect(used.ledger)) as connection:
        ((previous,),) = connection.execute("SELECT hash FROM record WHERE sequence = 10")
        charge = laplace("0.5").to_dict() | {"epsilon": "1/10"}
        body = canonical_json(
            {"analyst": "ana", "charge": charge, "question": question("x"), "time": "2030-01-01"}
        )
        digest = record_hash(11, "reserve", body, previous)
        with connection:
            connection.execute(
                "INSERT INTO record VALUES (11, 'reserve', ?, ?, ?)", (body, previous, digest)
            )
    assert_both_notice(used, 11, "record 11")


def test_an_old_copy_of_the_ledger_is_noticed(
    used: Policy, laplace: Laplace, tmp_path: Path
) -> None:
    shutil.copy(used.ledger, tmp_path / "old")
    with Ledger.open(used, TERMS) as ledger:
        ledger.reserve("ana", question("new"), laplace("0.1"))
    shutil.copy(tmp_path / "old", used.ledger)
    assert_both_notice(used, 11, "is missing")


def test_a_write_ahead_log_thrown_away_is_noticed(
    used: Policy, laplace: Laplace, tmp_path: Path
) -> None:
    with Ledger.open(used, TERMS) as ledger:
        ledger.reserve("ana", question("new"), laplace("0.1"))
        # What a killed process leaves behind: the newest records are only in the log.
        for name in ("hospital.ledger", "hospital.ledger.head"):
            shutil.copy(used.ledger.with_name(name), tmp_path / f"after.{name}")
    for name in ("hospital.ledger", "hospital.ledger.head"):
        shutil.copy(tmp_path / f"after.{name}", used.ledger.with_name(name))
    assert_both_notice(used, 11, "is missing")


def test_an_old_copy_put_in_place_under_a_running_process_is_noticed_by_it(
    used: Policy, laplace: Laplace, tmp_path: Path
) -> None:
    shutil.copy(used.ledger, tmp_path / "old")
    with Ledger.open(used, TERMS) as ledger:
        ledger.reserve("ana", question("new"), laplace("0.1"))
        (tmp_path / "old").replace(used.ledger)
        with pytest.raises(LedgerError) as error:
            ledger.reserve("ana", question("newer"), laplace("0.1"))
        assert error.value.code == "ledger_rolled_back"


def test_an_old_copy_of_both_files_is_not_noticed_as_the_documentation_says(
    used: Policy, laplace: Laplace, tmp_path: Path
) -> None:
    shutil.copy(used.ledger, tmp_path / "old")
    shutil.copy(head_path(used.ledger), tmp_path / "old.head")
    with Ledger.open(used, TERMS) as ledger:
        ledger.reserve("ana", question("new"), laplace("0.1"))
    shutil.copy(tmp_path / "old", used.ledger)
    shutil.copy(tmp_path / "old.head", head_path(used.ledger))
    assert verify(used.ledger).sound


def test_a_missing_ledger_is_never_started_anew(used: Policy) -> None:
    used.ledger.unlink()
    with pytest.raises(LedgerError) as error:
        Ledger.open(used, TERMS)
    assert error.value.code == "ledger_missing"
    assert not used.ledger.exists()
    assert not verify(used.ledger).sound
    with pytest.raises(LedgerError):
        list(export(used.ledger))


@pytest.mark.parametrize("size", [0, 1, 100, 4096, 5000, 8192])
def test_a_truncated_file_is_noticed(used: Policy, size: int) -> None:
    used.ledger.write_bytes(used.ledger.read_bytes()[:size])
    with pytest.raises(LedgerError):
        Ledger.open(used, TERMS)
    assert not verify(used.ledger).sound
    with pytest.raises(LedgerError):
        list(export(used.ledger))


def test_a_missing_or_spoilt_head_is_noticed(used: Policy) -> None:
    head = head_path(used.ledger)
    good = head.read_text()
    for spoilt in ("", "{}", good[:-10], good.replace("10", "9"), '{"hash":1,"sequence":10}'):
        head.write_text(spoilt)
        with pytest.raises(LedgerError):
            Ledger.open(used, TERMS)
        assert not verify(used.ledger).sound
    head.unlink()
    with pytest.raises(LedgerError) as error:
        Ledger.open(used, TERMS)
    assert error.value.code == "ledger_head_missing"
    assert not verify(used.ledger).sound


def test_a_head_behind_the_chain_is_the_mark_of_a_crash_and_is_mended(used: Policy) -> None:
    newest = head_path(used.ledger).read_text()
    with Ledger.open(used, TERMS) as ledger:
        fifth = list(ledger.records())[4]
    head_path(used.ledger).write_text(canonical_json({"hash": fifth.hash, "sequence": 5}) + "\n")
    assert verify(used.ledger).sound
    Ledger.open(used, TERMS).close()
    assert head_path(used.ledger).read_text() == newest


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE answer SET content = CAST('forged' AS BLOB) WHERE reservation = 5",
        "DELETE FROM answer WHERE reservation = 5",
    ],
)
def test_a_damaged_answer_is_never_handed_out(used: Policy, statement: str) -> None:
    edit(used.ledger, statement)
    with Ledger.open(used, TERMS) as ledger:
        assert ledger.find("ana", question("0")) == b"answer 0"
        with pytest.raises(LedgerError, match="record 5"):
            ledger.find("ana", question("1"))
    fault = verify(used.ledger).fault
    assert fault is not None
    assert fault.sequence == 6


def test_an_answer_nobody_recorded_is_noticed(used: Policy) -> None:
    edit(used.ledger, "INSERT INTO answer VALUES (77, CAST('planted' AS BLOB))")
    fault = verify(used.ledger).fault
    assert fault is not None
    assert "never recorded" in fault.message


def test_records_and_answers_cannot_be_changed_by_accident(used: Policy) -> None:
    with closing(sqlite3.connect(used.ledger)) as connection:
        for statement in ("UPDATE record SET kind = 'void'", "DELETE FROM answer"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement)
