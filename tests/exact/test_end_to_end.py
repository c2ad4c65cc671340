"""The demo hospital and a million rows: exact averages by region, through a crash and a restart."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

import sanql
from sanql.audit.ledger import verify
from sanql.errors import Refused
from support.hospitals import hospital_in
from support.policies import dataset

pytestmark = pytest.mark.slow

AVERAGES = "SELECT {region}, AVG(income), SUM(income), COUNT(*) FROM people GROUP BY {region}"

CHILD = """
import sys, time, sanql
from sanql.engines.leases import Lease
san = sanql.open(sys.argv[1], analyst=sys.argv[2])
def wait(*_):
    print("now", flush=True)
    time.sleep(600)
Lease.run = wait
san.query(sys.argv[3], exact=True)
"""


def kill_after_reserving(policy: Path, analyst: str, sql: str) -> None:
    """Ask exactly in another process, and kill it once the release is reserved but not answered."""
    command = [sys.executable, "-c", CHILD, str(policy), analyst, sql]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"now\n"
        os.kill(child.pid, signal.SIGKILL)
        child.wait()


def check(policy: Path, analyst: str, region: str, truth: dict[str, tuple[int, int]]) -> None:
    """Check exact averages against whole cents, a repeat, an overlap, a crash and a restart."""
    sql = AVERAGES.format(region=region)
    kill_after_reserving(policy, analyst, sql)
    for cached in (False, True):
        with sanql.open(policy, analyst=analyst) as san:
            answer = san.query(sql, exact=True)
            assert answer.cached is cached
            found = {row[0]: row[1:] for row in answer.rows}
            assert found.keys() == truth.keys()
            for name, (cents, records) in truth.items():
                average, total, count = found[name]
                assert average == float(Fraction(cents, 100 * records))
                assert (total * 100, count) == (cents, records)
            repeat = san.query(f"SELECT AVG(income) FROM people GROUP BY {region}", exact=True)
            assert repeat.cached
            with pytest.raises(Refused) as caught:
                san.query(f"{sql.replace('GROUP', 'WHERE age > 40 GROUP')}", exact=True)
            assert caught.value.code == "exact_outside_cells"
            assert all(balance.spent_upper.epsilon == 0 for balance in san.budget())
            ledger = san.policy.ledger
    found_in_ledger = verify(ledger)
    assert found_in_ledger.sound and [e.state for e in found_in_ledger.exact] == ["answered"]


def cents_by(region: str, path: Path, where: str = "true") -> dict[str, tuple[int, int]]:
    rows = duckdb.sql(
        f"SELECT {region}, SUM(CAST(income * 100 AS BIGINT)), COUNT(*) FROM '{path}' "
        f"WHERE {where} GROUP BY 1"
    ).fetchall()
    return {name: (int(cents), count) for name, cents, count in rows}


@pytest.mark.slow
def test_the_demo_hospital_has_exact_incomes(tmp_path: Path) -> None:
    policy = hospital_in(tmp_path)
    people = tmp_path / "data" / "people.parquet"
    ((total,),) = duckdb.sql(f"SELECT SUM(CAST(income * 100 AS BIGINT)) FROM '{people}'").fetchall()
    with sanql.open(policy, analyst="ana") as san:
        average = san.query("SELECT AVG(income) FROM people", exact=True)
        assert average.value == float(Fraction(int(total), 100 * 20_000))


@pytest.mark.slow
def test_the_demo_hospital_by_district(tmp_path: Path) -> None:
    policy = hospital_in(tmp_path)
    districts = ("Harbour", "Old Town", "Hill", "Station")
    text = policy.read_text(encoding="utf-8").split("[exact.income]")[0]
    listed = ", ".join(f'"{name}"' for name in districts)
    text = text.replace(
        'district = { type = "text" }', f'district = {{ type = "text", domain = [{listed}] }}'
    )
    text += """
[exact.income]
partition = ["district"]
adversary = { class = "uniform-component", alpha = 0.4, width = 60000, known_records = 20 }
accept = { epsilon = 1, delta = 1e-6 }
records_min = 2000
"""
    policy.write_text(text, encoding="utf-8")
    people = tmp_path / "data" / "people.parquet"
    check(policy, "ana", "district", cents_by("district", people, f"district IN {districts}"))


MILLION = """
SELECT i AS person_id, ['north', 'south', 'east', 'west'][CAST(hash(i, 1) % 4 AS INTEGER) + 1] AS region,
       CAST((hash(i, 2) % 20000001) / 100.0 AS DECIMAL(10, 2)) AS income,
       CAST(hash(i, 3) % 100 AS INTEGER) AS age
FROM range(1000000) AS people(i)
"""
POLICY = (
    dataset(
        "people.parquet",
        name="land",
        neighbours="change-one",
        epsilon=1,
        delta="1e-6",
        accounting="renyi",
    )
    + """\
[table.people]
privacy_unit = "person_id"
unique = true
[table.people.column]
region = { type = "text", domain = ["north", "south", "east", "west"] }
income = { type = "decimal", bounds = [0, 200000], precision = 0.01 }
age = { type = "integer", bounds = [0, 100] }
[exact.income]
partition = ["region"]
adversary = { class = "uniform-component", alpha = 0.4, width = 60000, known_records = 1000 }
accept = { epsilon = 0.1, delta = 1e-9 }
records_min = 240000
"""
)


@pytest.mark.slow
def test_a_million_rows_by_region(tmp_path: Path) -> None:
    people = tmp_path / "people.parquet"
    duckdb.sql(f"COPY ({MILLION}) TO '{people}'")
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY, encoding="utf-8")
    check(policy, "analyst", "region", cents_by("region", people))
