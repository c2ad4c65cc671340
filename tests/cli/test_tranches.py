"""`sanql budget open` and `sanql continual`, from a policy's first day."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.commands import run

pytestmark = pytest.mark.usefixtures("in_this_process")

POLICY = """
[dataset]
name = "clinic"
source = "visits.parquet"
neighbours = "add-remove"
accounting = "pure"
budget = { epsilon = 1, per = "month", total = 4, delta = 1e-6 }

[table.visits]
privacy_unit = "person"
rows_per_unit_max = 20
[table.visits.column]
day = { type = "date", bounds = ["2025-01-01", "2027-01-01"] }

[continual.people]
table = "visits"
of = "units"
by = "day"
per = "day"
start = "2026-01-05"
releases = 20
epsilon = 0.75
delta = 1e-7
"""


@pytest.fixture
def policy(tmp_path: Path) -> str:
    days = pa.array([date(2026, 1, 5) + timedelta(day % 4) for day in range(200)], pa.date32())
    pq.write_table(pa.table({"person": range(200), "day": days}), tmp_path / "visits.parquet")
    (tmp_path / "policy.toml").write_text(POLICY)
    return str(tmp_path / "policy.toml")


@pytest.mark.slow
def test_a_tranche_is_opened_once_and_pays_for_all_releases(policy: str) -> None:
    release = ("continual", "release", "people", "--until", "2026-01-06", "-p", policy)
    refused = run(*release)
    assert refused.exit_code == 3 and "next tranche" in refused.stderr
    opened = run("budget", "open", "2026-01", "-p", policy)
    assert opened.exit_code == 0, opened.stderr
    assert "the tranche of 2026-01 is open, of the dataset account 'clinic'" in opened.stdout
    again = run("budget", "open", "2026-01", "-p", policy)
    assert again.exit_code != 0 and "tranche_none" in again.stderr
    told = json.loads(run(*release, "--format", "json").stdout)
    assert [period["period"] for period in told["periods"]] == ["2026-01-05", "2026-01-06"]
    assert run("continual", "show", "people", "-p", policy).stdout.count("±") == 4
    spent = json.loads(run("budget", "-p", policy, "--format", "json").stdout)
    assert spent["accounts"][0]["open"] == {"epsilon": 1}
    assert spent["accounts"][0]["spent"]["epsilon"] == 0.75
    said = run("budget", "-p", policy).stdout
    assert "held something 10% likely" in said and "epsilon 1 open, 1 a month" in said


@pytest.mark.slow
def test_no_tranche_is_opened_where_the_ledger_is_gone(policy: str) -> None:
    assert run("budget", "open", "2026-01", "-p", policy).exit_code == 0
    assert (
        run("continual", "release", "people", "--until", "2026-01-05", "-p", policy).exit_code == 0
    )
    ledger = Path(policy).parent / "clinic.ledger"
    for kept in (ledger, ledger.with_name("clinic.ledger.head")):
        kept.unlink()
    gone = run("budget", "open", "2026-02", "-p", policy)
    assert gone.exit_code != 0 and "ledger_missing" in gone.stderr
    assert not ledger.exists()
