"""`sanql init --look`: what it proposes of rows is wide, round and marked, and names nobody."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanql.examine import chosen_looking, look_to_draft, looks_of
from sanql.policy import Column, ListedDomain, Policy, load
from sanql.policy.proposals import round_beyond
from support.commands import run

pytestmark = pytest.mark.usefixtures("in_this_process")

HOSTILE = (
    'say "hi"',
    "two\nlines",
    "<script>alert(1)</script>",
    "back\\slash",
    "'''",
    "\u202eabc]",
)
N = 240
COLUMNS: Mapping[str, Sequence[object]] = {
    "": list(range(N)),
    "patient_id": [n // 2 for n in range(N)],
    "age": [18 + n % 60 for n in range(N)],
    "part": [None if n == 7 else 0.25 + n % 5 for n in range(N)],
    "mood = x": [HOSTILE[n % len(HOSTILE)] for n in range(N)],
    "name": ["ann" if n % 2 else "bo" for n in range(N)],
    "wrote": [f"person {n}" for n in range(N)],
    "rare": ["only one" if n == 3 else "common" for n in range(N)],
    "born": [date(1950 + n % 40, 3, 5) for n in range(N)],
    "day first": [f"{1 + n % 28:02}/12/2024" for n in range(N)],
    "huge": [10**25 + n for n in range(N)],
    "odd": [math.nan if n % 2 else 1.5 for n in range(N)],
    'we"ird': ["a"] * N,
    "<b>html</b>": [n % 2 for n in range(N)],
    "nothing": [None] * N,
}


def written(folder: Path, form: str) -> Path:
    """Write the table as CSV or Parquet; whole numbers beyond 64 bits are text in the latter."""
    file = folder / f"people.{form}"
    if form == "csv":
        with file.open("w", newline="", encoding="utf-8") as opened:
            rows = csv.writer(opened, lineterminator="\n")
            rows.writerow(COLUMNS)
            rows.writerows(zip(*COLUMNS.values(), strict=True))
    else:
        stored = {
            name: list(map(str, values)) if name == "huge" else values
            for name, values in COLUMNS.items()
        }
        pq.write_table(pa.table({n: pa.array(values) for n, values in stored.items()}), file)
    return file


def drafted(folder: Path, form: str) -> Path:
    file, policy = written(folder, form), folder / "policy.toml"
    done = run("init", file, "--look", "--preset", "events", "-o", policy)
    assert done.exit_code == 0, done.stderr
    text = policy.read_text(encoding="utf-8")
    policy.write_text(
        text.replace(file.as_posix(), file.name).replace('type = ""', 'type = "text"')
    )
    return policy


def columns_of(policy: Policy) -> Mapping[str, Column]:
    return policy.tables["people"].columns


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_proposals_are_wide_and_round_and_name_nobody(tmp_path: Path, form: str) -> None:
    file = drafted(tmp_path, form)
    policy = load(file)
    columns, text = columns_of(policy), file.read_text(encoding="utf-8")
    assert columns["age"].bounds == (10, 80) and not columns["age"].nullable
    assert columns["part"].bounds == (0, 5) and columns["part"].nullable
    assert columns["odd"].nullable and columns["odd"].bounds is not None
    assert columns["born"].bounds == (date(1950, 1, 1), date(1989, 12, 31))
    moods = columns["mood = x"].domain
    assert isinstance(moods, ListedDomain) and set(moods.values) == set(HOSTILE)
    blank = ("name", "wrote", "rare", "patient_id", "day first", "huge")
    for name in (*blank, "nothing") if form == "csv" else blank:  # Parquet has no type for that
        assert columns[name].domain is None and columns[name].bounds is None, name
    assert columns["day first"].type == "text"
    for told in ("ann", "person 1", "only one", "100000000000"):
        assert told not in re.sub(r"(?m)^#.*$", "", text), told
    assert columns["<b>html</b>"].domain == ListedDomain((0, 1))
    assert 'we"ird' not in columns and "rename it in the data" in text
    for line in text.splitlines():
        assert not re.search(r"^[^#]*(bounds|domain|nullable) = ", line) or "# SEEN" in line


@pytest.mark.slow
def test_the_look_is_on_record_and_what_was_proposed_is_marked(tmp_path: Path) -> None:
    file = drafted(tmp_path, "csv")
    policy = load(file)
    assert [look.command for look in looks_of(policy).times] == ["init --look"]
    marked = set(chosen_looking(policy))
    place = "table.people.column"
    assert {f"{place}.age.bounds", f"{place}.age.nullable", f"{place}.mood = x.domain"} <= marked
    told = json.loads(run("check", file, "--format", "json").stdout)
    assert f"{place}.age.bounds" in told["chosen_looking"][0]
    checked = run("check", "--data", file)
    assert "age" not in "".join(re.findall("WRONG.*", checked.stdout)), checked.stdout
    assert not list(tmp_path.glob(".examin*")), "no copy of rows is left"


def test_without_look_no_row_is_read_and_nothing_is_on_record(tmp_path: Path) -> None:
    file = written(tmp_path, "csv")
    assert run("init", file, "-o", tmp_path / "policy.toml").exit_code == 0
    text = (tmp_path / "policy.toml").read_text()
    assert "SEEN" not in text and "script" not in text and "no row was read" in text
    assert not list(tmp_path.glob("*.looks"))


def test_nothing_is_looked_at_for_a_draft_that_cannot_be_written(tmp_path: Path) -> None:
    file, policy = written(tmp_path, "csv"), tmp_path / "policy.toml"
    policy.write_text("mine")
    assert run("init", file, "--look", "-o", policy).exit_code == 2
    assert policy.read_text() == "mine"
    link = tmp_path / "link.toml"
    link.symlink_to(tmp_path / "elsewhere.toml")
    assert run("init", file, "--look", "-o", link).exit_code == 2
    assert run("init", file, "--look").exit_code == 2
    assert not list(tmp_path.glob("*.looks")) and not (tmp_path / "elsewhere.toml").exists()


@pytest.mark.slow
def test_years_beyond_the_calendar_and_few_rows_propose_nothing(tmp_path: Path) -> None:
    moments = pa.array([-(2**62), 2**62], pa.timestamp("us"))
    small = pa.table({"at": moments, "name of it": ["a", "b"], "kind": ["x", "y"]})
    pq.write_table(small, tmp_path / "few.parquet")
    seen = look_to_draft([tmp_path / "few.parquet"], "d", tmp_path / "p.toml", lambda words: None)
    assert seen["few"]["kind"].values is None and not seen["few"]["kind"].likely_unit
    pq.write_table(
        pa.table({"at": pa.array([datetime(2024, 5, 6, 7, 8)] * 3)}), tmp_path / "at.parquet"
    )
    assert run("init", tmp_path / "at.parquet", "--look", "-o", tmp_path / "q.toml").exit_code == 0
    assert "[2024-01-01T00:00:00, 2024-12-31T23:59:59]" in (tmp_path / "q.toml").read_text()
    done = run("init", tmp_path / "few.parquet", "--look", "-o", tmp_path / "r.toml")
    assert done.exit_code == 0 and "bounds = [-" not in (tmp_path / "r.toml").read_text()


NUMBERS = st.fractions(-(10**12), 10**12, max_denominator=10**6)


@given(NUMBERS, NUMBERS)
def test_round_numbers_are_beyond_both_ends_and_not_far(one: Fraction, other: Fraction) -> None:
    low, high = min(one, other), max(one, other)
    below, above = round_beyond(low, high, Fraction(1, 10**9))
    assert below < low or low == below == 0
    assert above > high or high == above == 0
    span = (high - low) or abs(high) or 1
    assert above - below <= 3 * span + Fraction(1, 10**8)
    assert (below >= 0) == (low >= 0) and (above <= 0) == (high <= 0)
