"""Continual counts released from data that grow: what is charged, recorded, counted and refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sanql import San
from sanql.account import DATASET
from sanql.ask.measure import recorded
from sanql.audit.ledger import verify
from sanql.continual import ContinualRelease
from sanql.continual.weights import weights
from sanql.errors import BudgetExceeded, PolicyError, Refused
from sanql.policy import load
from support.samplers import SilentSampler

START = date(2026, 1, 5)
POLICY = """
[dataset]
name = "clinic"
source = "visits.parquet"
neighbours = "add-remove"
accounting = "renyi"
budget = {{ epsilon = {budget}, delta = 1e-6 }}

[table.visits]
privacy_unit = "person"
rows_per_unit_max = 20
[table.visits.column]
day = {{ type = "date", bounds = ["2025-01-01", "2027-01-01"] }}
kind = {{ type = "text", domain = ["a", "b"] }}

[continual.visits]
table = "visits"
of = "rows"
where = "kind = 'a'"
by = "day"
per = "day"
start = "2026-01-05"
releases = 20
rows_per_unit = 2
epsilon = 1
delta = 1e-7

[continual.people]
table = "visits"
of = "units"
by = "day"
per = "week"
start = "2026-W02"
releases = 5
epsilon = 0.5
delta = 1e-7
"""
Row = tuple[int, date, str]


def rows_of(people: int, days: int, seed: int) -> list[Row]:
    random = Random(seed)
    return [
        (
            random.randrange(people),
            START + timedelta(random.randrange(-3, days)),
            random.choice("ab"),
        )
        for _ in range(4 * people)
    ]


def write(place: Path, rows: list[Row]) -> None:
    person, day, kind = ([*part] for part in zip(*rows, strict=True))
    table = pa.table({"person": person, "day": pa.array(day, pa.date32()), "kind": kind})
    pq.write_table(table, place / "visits.parquet")


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., San]:
    def open_(rows: list[Row], budget: float = 4, sampler: object = None) -> San:
        write(tmp_path, rows)
        (tmp_path / "policy.toml").write_text(POLICY.format(budget=budget))
        made = {} if sampler is None else {"sampler": sampler}
        return San(load(tmp_path / "policy.toml"), "ana", **made)  # type: ignore[arg-type]

    return open_


def counted(rows: list[Row], last: date, most: int) -> int:
    """Return how many rows of kind a there are by a day, of each person the first so many."""
    per_person: dict[int, int] = {}
    for person, day, kind in rows:
        if kind == "a" and day <= last:
            per_person[person] = per_person.get(person, 0) + 1
    return sum(min(most, own) for own in per_person.values())


@pytest.mark.slow
def test_without_noise_every_period_has_what_a_loop_counts(opened: Callable[..., San]) -> None:
    rows = rows_of(40, 12, 1)
    with opened(rows, sampler=SilentSampler()) as san:
        visits = san.release_continual("visits", "2026-01-16")
        people = san.release_continual("people", "2026-W03")
    for place, period in enumerate(visits.periods):
        day = START + timedelta(place)
        assert period.period == day.isoformat()
        assert period.so_far == pytest.approx(counted(rows, day, 2), abs=1e-6)
    new = [period.new for period in visits.periods]
    assert sum(new) == pytest.approx(visits.periods[-1].so_far)
    for period, last in zip(people.periods, (date(2026, 1, 11), date(2026, 1, 18)), strict=True):
        there = {person for person, day, _ in rows if day <= last}
        assert period.so_far == pytest.approx(len(there), abs=1e-6)


@pytest.mark.slow
def test_one_person_moves_what_is_released_by_their_first_rows_by_age(
    opened: Callable[..., San],
) -> None:
    """The sums that meet noise, against weights added up in a loop: late rows come with a version."""
    others = rows_of(20, 5, 2)
    mine = [(99, START + timedelta(day), "a") for day in (3, 1, 4)]
    own = weights(20)
    with opened([*others, mine[0]], sampler=SilentSampler()) as san:
        place = Path(san.session.policy.path).parent
        stream = _released(san, "visits", "2026-01-08")
        write(place, [*others, *mine])
        san.refresh()
        stream = _released(san, "visits", "2026-01-10")
    for number, value in enumerate(stream):
        there = [mine[0]] if number <= 3 else mine
        kept: dict[int, list[int]] = {}
        for person, day, kind in [*others, *there]:
            came = max(0, (day - START).days)
            if kind == "a" and (day - START).days <= number:
                kept.setdefault(person, []).append(came)
        expected = sum(own[number - came] for days in kept.values() for came in sorted(days)[:2])
        assert value == expected, number


def _released(san: San, name: str, until: str) -> list[int]:
    from sanql.ask.release_continual import _released as released
    from sanql.ask.release_continual import _stream

    san.release_continual(name, until)
    return [*released(san.session, _stream(san.session, name))]


@pytest.mark.slow
def test_the_first_release_is_charged_with_all_and_later_ones_and_repeats_are_free(
    opened: Callable[..., San],
) -> None:
    with opened(rows_of(40, 12, 3)) as san:
        first = san.release_continual("visits", "2026-01-05")
        spent = san.budget()[0].spent_upper.epsilon
        assert 0 < spent <= 1
        later = san.release_continual("visits", "2026-01-08")
        assert later.periods[0] == first.periods[0]
        assert san.release_continual("visits", "2026-01-08") == later == san.continual("visits")
        san.refresh()
        assert san.release_continual("visits", "2026-01-08") == later
        assert san.budget()[0].spent_upper.epsilon == spent
        assert later.remaining == 16
        charges = [r.content for r in san.ledger.records() if r.kind == "reserve"]
        assert [each["charge"]["epsilon"] for each in charges] == ["1/1", "0/1", "0/1", "0/1"]  # type: ignore[index]
        assert {each["analyst"] for each in charges} == {DATASET}
        path = san.session.policy.ledger
    assert verify(path).sound


@pytest.mark.slow
def test_another_condition_price_or_start_is_another_count_and_is_charged(
    opened: Callable[..., San],
) -> None:
    with opened(rows_of(40, 12, 4)) as san:
        san.release_continual("visits", "2026-01-06")
        policy = san.session.policy.path
    text = policy.read_text()
    for change in (("kind = 'a'", "kind = 'b'"), ("rows_per_unit = 2", "rows_per_unit = 3")):
        policy.write_text(text.replace(*change))
        with San(load(policy), "ana") as san:
            assert san.continual("visits").periods == ()
            before = san.budget()[0].spent_upper.epsilon
            san.release_continual("visits", "2026-01-05")
            assert san.budget()[0].spent_upper.epsilon > before


@pytest.mark.slow
def test_what_the_dataset_cannot_pay_is_refused_before_a_row_is_read(
    opened: Callable[..., San],
) -> None:
    with opened(rows_of(40, 12, 5), budget=1.05) as san:
        san.release_continual("visits", "2026-01-05")
        san.release_continual("visits", "2026-01-07")
        with pytest.raises(BudgetExceeded):
            san.release_continual("people", "2026-W02")


@pytest.mark.parametrize(
    ("name", "until", "code"),
    [
        ("visitors", "2026-01-05", "continual_unknown"),
        ("visits", "2026-01-25", "period_unknown"),
        ("visits", "2026-W02", "period_unknown"),
    ],
)
def test_what_is_not_declared_is_refused(
    name: str, until: str, code: str, opened: Callable[..., San]
) -> None:
    with opened(rows_of(5, 5, 6)) as san:
        with pytest.raises(Refused) as refused:
            san.release_continual(name, until)
        assert refused.value.code == code
        assert not [record for record in san.ledger.records() if record.kind == "reserve"]


def test_records_that_are_lost_may_be_releases_so_the_count_has_another_name(
    opened: Callable[..., San],
) -> None:
    """A second draw of the same period would be paid by nobody."""
    with opened(rows_of(5, 5, 7)) as san:
        from sanql.ask.release_continual import _release, _stream

        stream = _stream(san.session, "visits")
        name = _release(san.session, stream, 3).name
        lost = ContinualRelease(stream, 3, san.session.tables, "clinic, 1 losses of records")
        assert name != lost.name
        assert recorded(san.session, DATASET, lost) is None


@pytest.mark.parametrize(
    "change",
    [
        ('by = "day"', 'by = "kind"'),
        ("rows_per_unit = 2", "rows_per_unit = 21"),
        ("rows_per_unit = 2", ""),
        ("rows_per_unit = 2", "rows_per_unit = 0"),
        ('start = "2026-01-05"', 'start = "2026-W02"'),
        ("releases = 20", "releases = 1"),
        ("delta = 1e-7", "delta = 0"),
        ("epsilon = 1\n", "epsilon = 5\n"),
        ("kind = 'a'", "kind = 'a') OR (kind = 'b'"),
        ("kind = 'a'", "kind = 'a' -- all"),
        ("kind = 'a'", "kind IN (SELECT kind FROM kinds)"),
        ("kind = 'a'", "kind = 'a"),
        ('privacy_unit = "person"', 'privacy_unit = "row"'),
    ],
)
def test_what_cannot_be_counted_so_is_a_fault_of_the_policy(
    change: tuple[str, str], tmp_path: Path
) -> None:
    text = POLICY.format(budget=4)
    assert change[0] in text
    (tmp_path / "policy.toml").write_text(text.replace(*change))
    with pytest.raises(PolicyError):
        load(tmp_path / "policy.toml")


def test_a_price_too_small_for_any_noise_is_none(tmp_path: Path) -> None:
    from sanql.continual import Stream

    (tmp_path / "policy.toml").write_text(POLICY.format(budget=4))
    declared = load(tmp_path / "policy.toml").continual["visits"]
    stream = Stream(declared, "add-remove")
    assert stream.charge.epsilon == 1
    assert stream.charge.delta == Fraction(1, 10**7)
    assert Stream(declared, "change-one").noise.sigma2 > 1.9 * stream.noise.sigma2
