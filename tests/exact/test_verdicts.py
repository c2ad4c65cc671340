"""Verdicts in SQL: which law fits, the most frequent value, a lower median, a share; exact, and once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sanql
from exact.towns import MEMBERS, POLICY, ROWS, Town, Truth, write_people, write_policy
from sanql.audit.ledger import verify
from sanql.engines.leases import Lease
from sanql.errors import PolicyError, Refused
from sanql.exact import terms_of
from sanql.policy import load

pytestmark = [pytest.mark.usefixtures("in_this_process")]

TOWN = POLICY.replace(
    'score = { type = "integer", bounds = [1, 5] }',
    'score = { type = "integer", bounds = [1, 5], domain = [1, 2, 3, 4, 5] }\n'
    'diet = { type = "text", domain = ["plants", "fish", "meat"] }',
)
DIETS = f"""
SELECT *, CASE WHEN person_id % 97 = 5 THEN NULL
               WHEN hash(person_id, 9) % 10 < CASE region WHEN 'north' THEN 7 ELSE 2 END THEN 'plants'
               WHEN hash(person_id, 9) % 10 < 8 THEN 'fish' ELSE 'meat' END AS diet
FROM ({ROWS})
"""
FAMILY = "laws = [[0.7, 0.1, 0.2], [0.2, 0.6, 0.2]], known_records = 5"
DIET = f"""
[exact.diets]
column = "diet"
partition = ["region"]
function = "map"
missing = "meat"
adversary = {{ class = "family", names = ["inland", "coast"], {FAMILY} }}
accept = {{ delta = 1e-6 }}
records_min = 380
"""
USUAL = DIET.replace('"map"', '"mode"')
SCORES = """
[exact.scores]
column = "score"
partition = ["urban"]
function = "median"
missing = 1
accept = { delta = 1e-6 }
[exact.scores.adversary]
class = "family"
laws = [[0.05, 0.1, 0.7, 0.1, 0.05], [0.7, 0.2, 0.05, 0.03, 0.02]]
known_records = 5
"""
FITS = (
    "SELECT region, MAP_ESTIMATE(diet, 'diets') AS fit FROM people GROUP BY region ORDER BY region"
)


@pytest.fixture
def diets(town: Town) -> Callable[..., sanql.San]:
    return lambda exact, rows=DIETS: town(exact, rows=rows, policy=TOWN)


@pytest.mark.slow
def test_a_map_estimate_is_the_law_that_fits_the_counts_best(
    diets: Callable[..., sanql.San], truth: Truth
) -> None:
    answer = diets(DIET).query(FITS, exact=True)
    counts = truth(
        "SELECT region, sum((diet = 'plants')::INT), sum((diet = 'fish')::INT), "
        "sum((diet IS NULL OR diet = 'meat')::INT) FROM people GROUP BY region ORDER BY region"
    )
    inland, coast = (7, 1, 2), (2, 6, 2)
    expected = []
    for region, *cell in counts:
        fits = [1, 1]
        for n, p, q in zip(cell, inland, coast, strict=True):
            fits = [fits[0] * p**n, fits[1] * q**n]
        expected.append((region, "inland" if fits[0] >= fits[1] else "coast"))
    assert answer.rows == expected
    assert {fit for _, fit in expected} == {"inland", "coast"}
    certificate = answer.certificate.to_dict()
    assert certificate["epsilon"] == 0 and certificate["delta"] <= 1e-6
    assert "exact, no noise" in answer.summary() and "count as meat" in answer.summary()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("declared", "sql", "plain"),
    [
        (
            USUAL,
            "SELECT region, MODE(diet) FROM people GROUP BY region",
            "SELECT region, mode(coalesce(diet, 'meat')) FROM people GROUP BY region",
        ),
        (
            SCORES,
            "SELECT urban, QUANTILE_DISC(score, 0.5) FROM people GROUP BY urban",
            "SELECT urban, quantile_disc(score, 0.5) FROM people GROUP BY urban",
        ),
        (
            MEMBERS,
            "SELECT SHARE_AT_LEAST(member, 0.5) FROM people",
            "SELECT avg(member::INT) >= 0.5 FROM people",
        ),
    ],
)
def test_a_stable_function_is_duckdbs(
    diets: Callable[..., sanql.San], truth: Truth, declared: str, sql: str, plain: str
) -> None:
    assert sorted(diets(declared).query(sql, exact=True).rows) == sorted(truth(plain))


@pytest.mark.slow
def test_a_verdict_is_on_record_before_a_row_is_read_and_repeats_are_free(
    diets: Callable[..., sanql.San], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    san = diets(DIET)
    told = str(san.explain(FITS, exact=True))
    assert "(0, " in told and "ideal world: the same, without your record" in told
    first = san.query(FITS, exact=True)

    def fail(*_: object) -> None:
        raise AssertionError("rows were read again")

    monkeypatch.setattr(Lease, "run", fail)
    again = san.query(FITS, exact=True)
    assert again.rows == first.rows and again.cached
    north = san.query(FITS.replace("GROUP", "WHERE region = 'north' GROUP"), exact=True)
    assert north.rows == [row for row in first.rows if row[0] == "north"]
    kinds = [record.kind for record in san.ledger.records()]
    assert kinds.count("exact") == 1 and kinds.index("exact") < kinds.index("spend")
    san.close()
    assert verify(tmp_path / "town.ledger").sound


def test_nothing_but_verdicts_is_kept_of_the_counts(diets: Callable[..., sanql.San]) -> None:
    san = diets(DIET)
    san.query(FITS, exact=True)
    (entry,) = san.ledger.exact.entries()
    kept = json.loads(san.ledger.exact.answer_of(entry) or b"")
    assert kept["records"] == [0, 0, 0, 0] and set(kept["totals"]) <= {0, 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT MAP_ESTIMATE(diet, 'diets') FROM people", "exact_outside_cells"),
        ("SELECT urban, MAP_ESTIMATE(diet, 'diets') FROM people GROUP BY urban", "exact_outside_cells"),
        (FITS.replace("GROUP", "WHERE age > 3 GROUP"), "exact_outside_cells"),
        ("SELECT region, MAP_ESTIMATE(diet, 'others') FROM people GROUP BY region", "exact_not_declared"),
        ("SELECT region, MODE(diet) FROM people GROUP BY region", "exact_not_declared"),
        ("SELECT region, COUNT(*) FROM people GROUP BY region", "exact_not_declared"),
        ("SELECT region, MAP_ESTIMATE(score, 'diets') FROM people GROUP BY region", "exact_not_declared"),
        ("SELECT region, MAP_ESTIMATE(diet, diet) FROM people GROUP BY region", "map_family"),
        ("SELECT SHARE_AT_LEAST(age, 0.5) FROM people", "share_invalid"),
        ("SELECT SHARE_AT_LEAST(member, 2) FROM people", "share_invalid"),
    ],
)  # fmt: skip
def test_what_is_not_the_declared_verdict_on_a_cell_is_refused(
    diets: Callable[..., sanql.San], sql: str, code: str
) -> None:
    san = diets(DIET)
    for ask in (san.explain, san.query):
        with pytest.raises(Refused) as refused:
            ask(sql, exact=True)
        assert refused.value.code == code
    assert not san.ledger.exact.entries()


@pytest.mark.parametrize(
    "sql",
    [FITS, "SELECT SHARE_AT_LEAST(member, 0.5) FROM people"],
)
def test_a_verdict_has_no_noisy_form_and_costs_nothing_to_ask_for(
    diets: Callable[..., sanql.San], sql: str
) -> None:
    san = diets(DIET)
    with pytest.raises(Refused) as refused:
        san.query(sql, epsilon=1)
    assert refused.value.code == "exact_only"
    assert san.budget()[0].spent_upper.epsilon == 0


@pytest.mark.slow
def test_a_second_release_of_the_same_people_is_refused_unless_either_allows_for_the_other(
    diets: Callable[..., sanql.San], tmp_path: Path
) -> None:
    with pytest.raises(PolicyError, match="about the same people"):
        diets(DIET + MEMBERS)
    with pytest.raises(PolicyError, match="release the same column twice"):
        diets(DIET + USUAL.replace("exact.diets", "exact.usual"))
    both = DIET.replace("= 5 }", '= 5, known_columns = ["member"] }') + MEMBERS.replace(
        "= 20 }", '= 20, known_columns = ["diet"] }'
    )
    san = diets(both)
    san.query(FITS, exact=True)
    joint: Any = san.query("SELECT SHARE_AT_LEAST(member, 0.5) FROM people", exact=True)
    together = joint.certificate.to_dict()["together"]
    assert together["epsilon"] == 0 and together["releases"] == ["diets", "members"]
    assert 0 < together["delta"] <= 2e-6


@pytest.mark.slow
def test_an_update_closes_the_book_of_verdicts_too(
    diets: Callable[..., sanql.San], tmp_path: Path
) -> None:
    san = diets(DIET)
    first = san.query(FITS, exact=True).rows
    san.close()
    changed = diets(DIET, f"SELECT * FROM ({DIETS}) WHERE person_id <> 7")
    changed.refresh()
    again = changed.query(FITS, exact=True)
    assert (again.rows, again.version) == (first, 1)  # what has left, as of its version
    other = diets(DIET.replace("records_min = 380", "records_min = 390"), None)
    with pytest.raises(Refused) as refused:
        other.query(FITS, exact=True)
    assert refused.value.code in ("exact_declaration_changed", "exact_source_changed")


@pytest.mark.slow
def test_a_small_cell_is_refused_with_words_that_name_no_cell(
    diets: Callable[..., sanql.San],
) -> None:
    small = f"SELECT * FROM ({DIETS}) WHERE region <> 'north' OR person_id % 16 = 0"
    san = diets(DIET, small)
    for sql in (FITS, FITS.replace("GROUP", "WHERE region = 'south' GROUP")):
        with pytest.raises(Refused) as refused:
            san.query(sql, exact=True)
        assert refused.value.code == "exact_cell_small"
        assert "at least one of the 4 cells" in refused.value.message


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("[0.7, 0.1, 0.2]", "[0.7, 0.1]"), "are not the probabilities of plants, fish, meat"),
        (("[0.7, 0.1, 0.2]", "[0.7, 0.1, 0.1]"), "add up to 1"),
        (("[0.7, 0.1, 0.2]", "[0.8, 0.0, 0.2]"), "above 0"),
        (("[0.7, 0.1, 0.2]", "[0.2, 0.6, 0.2]"), "two that are the same"),
        (('"inland", "coast"', '"inland"'), "1 names for 2 laws"),
        (('"map"', '"guess"'), "guess"),
        (('"map"', '"median"'), "no integer"),
        (('"map"', '"share"'), "share goes with"),
        (('missing = "meat"', 'missing = "cake"'), "not a value the column can have"),
        (('missing = "meat"\n', ""), "missing is missing"),
        (("delta = 1e-6", "epsilon = 1, delta = 1e-6"), "epsilon 0"),
        (("records_min = 380", "records_min = 20"), "at least"),
        (("records_min = 380", "records_min = 6"), "known records leave nobody"),
        (('column = "diet"', 'column = "age"'), "no listed domain"),
        (('column = "diet"', 'column = "amount"'), "is a decimal"),
    ],
)
def test_a_declaration_that_cannot_be_certified_is_a_fault(
    tmp_path: Path, changed: tuple[str, str], said: str
) -> None:
    assert changed[0] in DIET
    write_people(tmp_path, DIETS)
    with pytest.raises(PolicyError, match=said):
        load(write_policy(tmp_path, DIET.replace(*changed), TOWN))


def test_the_number_of_records_that_is_found_passes_and_is_about_the_least(tmp_path: Path) -> None:
    write_people(tmp_path, DIETS)
    exact = load(write_policy(tmp_path, SCORES, TOWN)).exact["scores"]
    terms = terms_of(exact)
    assert exact.against(terms.least - 1).bound(0).delta_upper <= 1e-6  # type: ignore[union-attr]
    fewer = round(terms.least * 0.9)
    assert exact.against(fewer).bound(0).delta_upper > 1e-6  # type: ignore[union-attr]


@pytest.mark.slow
def test_units_with_several_rows_count_once_and_rows_of_nobody_not_at_all(
    diets: Callable[..., sanql.San], tmp_path: Path
) -> None:
    doubled = f"""
        SELECT * FROM ({DIETS}) UNION ALL
        SELECT * REPLACE ('meat' AS diet) FROM ({DIETS}) WHERE region = 'north' UNION ALL
        SELECT * REPLACE (NULL AS person_id, 'meat' AS diet) FROM ({DIETS})
    """
    plain = diets(DIET).query(FITS, exact=True).rows
    other = tmp_path / "other"
    other.mkdir()
    write_people(other, doubled)
    with sanql.open(write_policy(other, DIET, TOWN)) as san:
        assert san.query(FITS, exact=True).rows == plain
    assert duckdb.sql(f"SELECT count(*) FROM '{other / 'people.parquet'}'").fetchall() == [(3600,)]
