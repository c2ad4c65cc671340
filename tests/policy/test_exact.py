"""`[exact.NAME]`: what loads, what it means on the grid, and every fault with place and remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from sanql.errors import Fault, PolicyError
from sanql.mechanisms.noiseless import CountAdversary, SumAdversary
from sanql.mechanisms.noiseless.summands import Lattice
from sanql.policy import load
from sanql.policy.exact.model import ExactHistogram, ExactValues, UniformComponent
from sanql.policy.exact.remedies import least_records

pytestmark = pytest.mark.slow

Write = Callable[[str], Path]
Text = Callable[..., str]

TABLES = """
[table.people]
privacy_unit = "person_id"
unique = true
[table.people.column]
age = { type = "integer", bounds = [0, 120] }
income = { type = "decimal", bounds = [0, 500000], precision = 0.01 }
height = { type = "float", bounds = [0, 250] }
sex = { type = "text", domain = ["F", "M", "X"] }
city = { type = "text" }
region = { type = "integer", domain = [1, 2, 3, 4], bounds = [1, 4] }
member = { type = "boolean" }
born = { type = "date" }
fixed = { type = "integer", bounds = [5, 5] }
huge = { type = "integer", bounds = [0, 9_000_000_000] }
[table.visits]
privacy_unit = "person_id"
rows_per_unit_max = 5
column.cost = { type = "integer", bounds = [0, 100] }
[table.cities]
public = true
column.name = { type = "text" }
"""
ACCEPT = "accept = { epsilon = 0.1, delta = 1e-9 }"
UNIFORM = 'adversary = { class = "uniform-component", eta = 0.1, known_records = 1000 }'
GOOD = f"[exact.income]\n{UNIFORM}\n{ACCEPT}"


def exact_of(write: Write, text: Text, more: str, name: str) -> ExactValues:
    found = load(write(text(tables=TABLES, more=more))).exact[name]
    assert isinstance(found, ExactValues)
    return found


def faults_of(path: Path) -> tuple[Fault, ...]:
    with pytest.raises(PolicyError) as caught:
        load(path)
    return caught.value.faults


def test_nothing_is_exact_unless_it_is_declared(write: Write, policy_text: Text) -> None:
    assert load(write(policy_text(tables=TABLES))).exact == {}


def test_the_shortest_declaration_names_its_column(write: Write, policy_text: Text) -> None:
    exact = exact_of(write, policy_text, GOOD, "income")
    assert (exact.table, exact.column, exact.cells.keys()) == ("people", "income", [()])
    assert (exact.grid, exact.low, exact.high) == (Fraction(1, 100), 0, 50_000_000)
    assert exact.adversary == UniformComponent(Fraction(1, 5), Fraction(500_000))
    assert (exact.known_records, exact.records_min, exact.missing) == (1000, None, 0)


def test_cells_are_every_combination_of_listed_values(write: Write, policy_text: Text) -> None:
    exact = exact_of(write, policy_text, f'{GOOD}\npartition = ["sex", "region"]', "income")
    assert exact.cells.count == 12
    assert exact.cells.keys()[:5] == [("F", 1), ("F", 2), ("F", 3), ("F", 4), ("M", 1)]


def test_classes_become_lattices_that_are_not_larger_than_declared(
    write: Write, policy_text: Text
) -> None:
    more = f"""
    [exact.ages]
    column = "age"
    adversary = {{ class = "lattice", first = 20, last = 69, mass = 0.01, known_records = 7 }}
    {ACCEPT}
    """
    ages = exact_of(write, policy_text, more, "ages").against(999)
    assert ages == SumAdversary(999, Fraction(1, 2), Fraction(60), Lattice(50), 7)
    more = f"""
    [exact.member]
    adversary = {{ class = "binary", beta = 0.2, known_records = 3 }}
    {ACCEPT}
    """
    assert exact_of(write, policy_text, more, "member").against(99) == CountAdversary(
        99, Fraction(1, 5), 3
    )


def test_a_rounded_uniform_part_is_at_least_the_lattice_that_is_certified(
    write: Write, policy_text: Text
) -> None:
    """Independent oracle: integrate the uniform density over each rounding cell."""
    more = f"""
    [exact.age]
    adversary = {{ class = "uniform-component", alpha = 0.6, width = 7, known_records = 0 }}
    {ACCEPT}
    """
    exact = exact_of(write, policy_text, more, "age")
    for width in (Fraction(7), Fraction(15, 2), Fraction(31, 4)):
        certified = replace(exact, adversary=UniformComponent(Fraction(3, 5), width)).against(10)
        assert isinstance(certified, SumAdversary) and isinstance(certified.summand, Lattice)
        points = certified.summand.points
        for start in [Fraction(i, 16) for i in range(16)]:
            cells = [
                Fraction(3, 5)
                * max(0, min(start + width, c + Fraction(1, 2)) - max(start, c - Fraction(1, 2)))
                / width
                for c in range(-1, 12)
            ]
            least = [min(cells[i : i + points]) for i in range(len(cells) - points + 1)]
            assert max(least) * points >= certified.alpha
        # values already on the grid: one of floor(width) + 1 points, or fewer
        on_grid = Fraction(3, 5) / (width // 1 + 1)
        assert on_grid * points >= certified.alpha


@pytest.mark.parametrize(
    ("more", "missing"),
    [("", 0), ("missing = 17", 17), ("missing = 120", 120)],
)
def test_a_missing_value_is_zero_unless_declared(
    write: Write, policy_text: Text, more: str, missing: int
) -> None:
    text = GOOD.replace("income", "age") + f"\n{more}"
    assert exact_of(write, policy_text, text, "age").missing == missing


def test_histograms_have_cells_and_a_sampling_prior(write: Write, policy_text: Text) -> None:
    more = """
    [exact.regions]
    table = "people"
    partition = ["region"]
    adversary = { class = "binomial", rate = 0.5, known_records = 0 }
    accept = { epsilon = 1, delta = 1e-6 }
    threshold = 60
    """
    found = load(write(policy_text(tables=TABLES, more=more))).exact["regions"]
    assert isinstance(found, ExactHistogram)
    assert found.against(60).bound(1).delta_upper <= 1e-6


def test_the_least_number_of_records_is_the_one_in_the_fault(
    write: Write, policy_text: Text
) -> None:
    exact = exact_of(write, policy_text, GOOD, "income")
    least = least_records(exact)
    assert exact_of(write, policy_text, f"{GOOD}\nrecords_min = {least}", "income").records_min
    (fault,) = faults_of(
        write(policy_text(tables=TABLES, more=f"{GOOD}\nrecords_min = {least - 1}"))
    )
    assert f"at least {least} records" in fault.remedy
    assert "known records" in fault.remedy and "eta" in fault.remedy


def test_two_columns_are_covered_when_each_class_knows_the_other(
    write: Write, policy_text: Text
) -> None:
    both = GOOD.replace("1000 }", '1000, known_columns = ["age"] }') + GOOD.replace(
        "income", "age"
    ).replace("1000 }", '1000, known_columns = ["income"] }').join(["\n", "\n"])
    assert set(load(write(policy_text(tables=TABLES, more=both))).exact) == {"income", "age"}


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


HISTOGRAM = """[exact.h]
table = "people"
partition = ["region"]
adversary = { class = "binomial", rate = 0.5, known_records = 0 }
accept = { epsilon = 1, delta = 1e-6 }"""

FAULTS = [
    (changed("eta = 0.1", "eta = 0.51"), "adversary.eta", "0.51 is not above 0 and at most 0.5"),
    (changed("eta = 0.1", "eta = 0"), "adversary.eta", "not above 0"),
    (changed("eta = 0.1", "eta = nan"), "adversary.eta", "not a finite number"),
    (changed("eta = 0.1", "alpha = 1.2, width = 5"), "adversary.alpha", "at most 1"),
    (changed("eta = 0.1", "alpha = 0.5"), "adversary", "eta alone, or by alpha and width"),
    (changed("eta = 0.1", "eta = 0.1, alpha = 0.2, width = 9"), "adversary", "eta alone"),
    (changed("eta = 0.1", "alpha = 0.5, width = 600000"), "adversary.width", "between the bounds"),
    (changed("eta = 0.1", "alpha = 0.5, width = 0.02"), "adversary.width", "three steps"),
    (changed("eta = 0.1", "eta = 0.1, beta = 0.2"), "adversary.beta", "unknown key"),
    (changed("uniform-component", "uniform"), "adversary.class", "unknown value"),
    (changed(", known_records = 1000", ""), "adversary.known_records", "missing"),
    (changed("1000 }", "1000 }\nrecords_min = 1001"), "adversary.known_records", "at most 999"),
    (changed("1000 }", "1000 }\nrecords_min = 5000"), "records_min", "is accepted & at least"),
    (changed("1000 }", "1000 }\nrecords_min = 1"), "records_min", "not between 2"),
    (changed("1000 }", "-1 }"), "adversary.known_records", "not between 0"),
    (changed("epsilon = 0.1", "epsilon = 4.5"), "accept.epsilon", "at most 4, the dataset's"),
    (changed("epsilon = 0.1", "epsilon = 0"), "accept.epsilon", "not above 0"),
    (changed("delta = 1e-9", "delta = 0"), "accept.delta", "not above 0"),
    (changed("delta = 1e-9", "delta = 1"), "accept.delta", "below 1"),
    (changed(ACCEPT, ""), "accept", "missing"),
    (changed(UNIFORM, ""), "adversary", "missing"),
    (changed("[exact.income]", "[exact.incom]"), "table", 'no table with a column "incom"'),
    (changed(ACCEPT, f'{ACCEPT}\ncolumn = "incom"\ntable="people"'), "column", 'write "income"'),
    (changed(ACCEPT, f'{ACCEPT}\ntable = "cities"'), "table", "is public"),
    (changed(ACCEPT, f'{ACCEPT}\ntable = "peeple"'), "table", 'not declared & write "people"'),
    (changed("[exact.income]", "[exact.cost]"), "table", "several rows & unique = true"),
    (changed("[exact.income]", "[exact.height]"), "", "no precision"),
    (changed("[exact.income]", "[exact.city]"), "", "no sums"),
    (changed("[exact.income]", "[exact.fixed]"), "", "one value"),
    (changed("[exact.income]", "[exact.huge]"), "", "beyond 2**62"),
    (changed(ACCEPT, f'{ACCEPT}\npartition = ["city"]'), "partition", "no listed domain"),
    (changed(ACCEPT, f'{ACCEPT}\npartition = ["born"]'), "partition", "no listed domain"),
    (changed(ACCEPT, f'{ACCEPT}\npartition = ["height"]'), "partition", "is a float"),
    (changed(ACCEPT, f'{ACCEPT}\npartition = ["person_id"]'), "partition", "declares no column"),
    (changed(ACCEPT, f'{ACCEPT}\npartition = ["sex", "sex"]'), "partition", "twice"),
    (changed(ACCEPT, f"{ACCEPT}\npartition = 3"), "partition", "list of columns"),
    (changed(ACCEPT, f"{ACCEPT}\nthreshold = 3"), "threshold", "only histograms"),
    (changed(ACCEPT, f"{ACCEPT}\nmissing = -1"), "missing", "could have"),
    (changed(ACCEPT, f"{ACCEPT}\nnoise = 1"), "noise", "unknown key"),
    (
        changed("1000 }", '1000, known_columns = ["income"] }'),
        "adversary.known_columns",
        "the column itself",
    ),
    (
        '[exact.age]\nadversary = { class = "lattice", mass = 0.01, known_records = 0 }\n' + ACCEPT,
        "adversary.mass",
        "at most 0.00826446 & 121 values",
    ),
    (
        '[exact.age]\nadversary = { class = "lattice", first = 5, last = 130, mass = 0.001, '
        f"known_records = 0 }}\n{ACCEPT}",
        "adversary.last",
        "could have",
    ),
    (
        '[exact.age]\nadversary = { class = "binary", beta = 0.1, known_records = 0 }\n' + ACCEPT,
        "adversary.class",
        "neither boolean nor",
    ),
    (
        '[exact.member]\nadversary = { class = "binary", beta = 0.6, known_records = 0 }\n'
        + ACCEPT,
        "adversary.beta",
        "at most 0.5",
    ),
    (HISTOGRAM.replace("0.5", "1"), "adversary.rate", "below 1 & census"),
    (HISTOGRAM + "\nthreshold = 59", "threshold", "write threshold = 60"),
    (HISTOGRAM + "\nrecords_min = 59", "records_min", "has no records_min"),
    (HISTOGRAM.replace('partition = ["region"]', ""), "partition", "needs the columns"),
    (
        HISTOGRAM.replace("known_records = 0", "known_records = 70") + "\nthreshold = 60",
        "threshold",
        "70 known",
    ),
]


@pytest.mark.parametrize(("more", "place", "words"), FAULTS)
def test_a_bad_declaration_is_one_fault_with_place_reason_and_remedy(
    write: Write, policy_text: Text, more: str, place: str, words: str
) -> None:
    faults = faults_of(write(policy_text(tables=TABLES, more=more)))
    assert len(faults) == 1, faults
    name = more[len("[exact.") : more.index("]")]
    assert faults[0].place.split(" (line")[0] == f"[exact.{name}] {place}".strip()
    said = f"{faults[0].message}; {faults[0].remedy}"
    assert [word for word in words.split(" & ") if word not in said] == [], said
    assert faults[0].remedy


TOGETHER = [
    (GOOD.replace("income", "age"), "neither class is said to hold"),
    (
        GOOD.replace("income", "age").replace("1000 }", '1000, known_columns = ["income"] }'),
        "neither class",
    ),
    (GOOD.replace("[exact.income]", '[exact.more]\ncolumn = "income"'), "the same column twice"),
    (HISTOGRAM, "needs the sizes of the cells to be secret"),
]


@pytest.mark.parametrize(("second", "words"), TOGETHER)
def test_releases_that_no_theorem_covers_together_are_a_fault(
    write: Write, policy_text: Text, second: str, words: str
) -> None:
    (fault,) = faults_of(write(policy_text(tables=TABLES, more=f"{GOOD}\n{second}")))
    assert words in fault.message and fault.remedy


def test_two_tables_are_not_covered_together(write: Write, policy_text: Text) -> None:
    tables = TABLES.replace("rows_per_unit_max = 5", "unique = true")
    more = f"{GOOD}\n{GOOD.replace('income', 'cost')}"
    (fault,) = faults_of(write(policy_text(tables=tables, more=more)))
    assert "two tables" in fault.message and "dataset of its own" in fault.remedy


def test_all_faults_are_reported_at_once(write: Write, policy_text: Text) -> None:
    more = """
    [exact.income]
    adversary = { class = "uniform-component", eta = 0.7, known_records = -1 }
    accept = { epsilon = 99, delta = 2 }
    partition = ["city"]
    records_min = 0
    """
    assert len(faults_of(write(policy_text(tables=TABLES, more=more)))) == 6


def test_too_many_cells_are_a_fault(write: Write, policy_text: Text) -> None:
    values = ", ".join(str(i) for i in range(200))
    tables = (
        TABLES
        + f"""
    [table.many]
    privacy_unit = "row"
    column.a = {{ type = "integer", domain = [{values}] }}
    column.b = {{ type = "integer", domain = [{values}] }}
    column.x = {{ type = "integer", bounds = [0, 9] }}
    """
    )
    more = f'[exact.x]\npartition = ["a", "b"]\n{UNIFORM}\n{ACCEPT}'
    (fault,) = faults_of(write(policy_text(tables=tables, more=more)))
    assert "40,000 cells" in fault.message
