"""What the report says of budgets with tranches, of counts released period by period, and of alerts."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sanql import San
from sanql.policy import load
from sanql.report import gather, page_of

POLICY = """
[dataset]
name = "clinic"
source = "visits.parquet"
neighbours = "add-remove"
accounting = "pure"
budget = { epsilon = 1, per = "month", total = 4, delta = 1e-6 }
alerts_at = [0.5]

[table.visits]
privacy_unit = "person"
rows_per_unit_max = 20
[table.visits.column]
day = { type = "date", bounds = ["2025-01-01", "2027-01-01"] }

[continual.visits]
table = "visits"
of = "rows"
by = "day"
per = "day"
start = "2026-01-05"
releases = 20
rows_per_unit = 2
epsilon = 0.75
delta = 1e-7
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("over_time")
    days = pa.array([date(2026, 1, 5) + timedelta(day % 4) for day in range(200)], pa.date32())
    pq.write_table(pa.table({"person": range(200), "day": days}), place / "visits.parquet")
    (place / "policy.toml").write_text(POLICY)
    with San(load(place / "policy.toml"), "ana") as san:
        san.ledger.tranches.open("2026-01")
        san.release_continual("visits", "2026-01-07")
    return place / "policy.toml"


@pytest.mark.slow
def test_it_says_what_was_opened_released_and_is_to_be_looked_at(asked: Path) -> None:
    report = gather(load(asked))
    assert report.alerts == ("dataset clinic: 75 % of its newest tranche is spent",)
    (count,) = report.continual
    assert (count.released, count.releases, count.rows_per_unit) == (3, 20, 2)
    assert any("opened for 2026-01" in change.what for change in report.changes)
    assert any("opened by 1 a month" in change.what for change in report.changes)
    page = page_of(report)
    for words in (
        "75 % of its newest tranche is spent",
        "Counts released period by period",
        "3 of 20",
        "the owner opens 1 for each month, 1 so far",
        "the dataset itself",
        "epsilon 1 open, 1 a month",
        "everything about a person in all versions",
    ):
        assert words in page
    assert report.whole.balance.budget.epsilon == 4
    assert report.to_dict()["continual"][0]["name"] == "visits"
