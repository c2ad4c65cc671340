"""Several kinds of privacy unit: each with a budget, each private table with whose rows it holds."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from sanql.errors import PolicyError
from sanql.policy import ColumnUnit, Kind, SecondKind, load
from sanql.results import Budget
from support.kinds import hospital


def test_each_kind_has_a_budget_and_each_table_says_whose_rows_it_holds(tmp_path: Path) -> None:
    policy = load(hospital(tmp_path))
    delta = Fraction(1, 10**6)
    assert policy.kinds == {
        "patient": Kind("patient", Budget(Fraction(4), delta)),
        "doctor": Kind("doctor", Budget(Fraction(2), delta)),
    }
    assert policy.budget == Budget(Fraction(2), delta)
    kinds = {name: table.kinds for name, table in policy.tables.items()}
    assert kinds == {
        "people": ("patient",),
        "bills": ("patient",),
        "doctors": ("doctor",),
        "visits": ("doctor", "patient"),
        "wards": (),
    }
    visits = policy.tables["visits"]
    assert visits.unit == ColumnUnit("person_id")
    assert visits.second == SecondKind("doctor", "doctor_id", 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "instead", "said"),
    [
        ('{ patient = "person_id" }', '"person_id"', "does not say of which kind"),
        ('{ patient = "person_id" }', '{ nurse = "person_id" }', 'no kind "nurse" is declared'),
        ('{ patient = "person_id" }', '{ patient = "row" }', "a row is no unit of a kind"),
        ('{ patient = "person_id" }', '{ patient = "a (b" }', "taken for a column and its kind"),
        ('references = "people"', 'references = "doctors"', "units of another kind"),
        ('references = "people"', 'references = "visits"', "units of another kind, or of two"),
        (
            'patient = "person_id", doctor = "doctor_id"',
            'patient = "x", doctor = "X"',
            "same column",
        ),
        (
            'patient = "person_id", doctor = "doctor_id"',
            'patient = "person_id", doctor = { via = "doctor_id", references = "doctors" }',
            "named by a column of the table itself",
        ),
        ("patient = 3, doctor = 4", "patient = 3", "doctor is missing"),
        ("patient = 3, doctor = 4", "patient = 3, doctor = 4, nurse = 2", 'unknown key "nurse"'),
        (
            "rows_per_group_max = { patient = 3, doctor = 4 }",
            "rows_per_unit_max = 7",
            "has no rows_per_unit_max",
        ),
        ("[unit.doctor]\nbudget = { epsilon = 2, delta = 1e-6 }", "", "needs no name"),
        ("budget = { epsilon = 2, delta = 1e-6 }\n\n[analyst", "\n[analyst", "budget is missing"),
        ("epsilon = 1, delta = 1e-7", "epsilon = 5, delta = 1e-7", "could never be spent"),
        (
            'accounting = "pure"',
            'accounting = "pure"\nbudget = { epsilon = 1, delta = 0 }',
            "its own",
        ),
        (
            "bounds = [-2, 5] }",
            "bounds = [-2, 5], total_bounds = [0, 9] }",
            "a total of one unit is not bounded",
        ),
        (
            "[unit.patient]",
            '[engine]\nkind = "spark"\nmaster = "local[2]"\nlayout = "l"\n[unit.patient]',
            "counted on one machine",
        ),
        (
            "[table.wards]",
            '[exact.cost]\ntable = "people"\n[table.wards]',
            "exact answers are proved of one kind of unit",
        ),
        ("[unit.doctor]", '[unit."a/b"]', "cannot be what a kind is called"),
        ("[unit.doctor]", "[unit.via]", "cannot be what a kind is called"),
    ],
)
def test_what_is_not_said_clearly_is_a_fault(
    written: str, instead: str, said: str, tmp_path: Path
) -> None:
    policy = hospital(tmp_path)
    text = policy.read_text()
    assert written in text
    policy.write_text(text.replace(written, instead, 1))
    with pytest.raises(PolicyError) as error:
        load(policy)
    assert said in str(error.value)


def test_without_kinds_nothing_may_name_one(tmp_path: Path) -> None:
    policy = hospital(tmp_path)
    text = policy.read_text()
    start, end = text.index("[unit.patient]"), text.index("[analyst.ana]")
    whole = 'accounting = "pure"\nbudget = { epsilon = 4, delta = 1e-6 }\n'
    policy.write_text((text[:start] + text[end:]).replace('accounting = "pure"\n', whole))
    with pytest.raises(PolicyError) as error:
        load(policy)
    assert 'unknown key "patient"' in str(error.value)
