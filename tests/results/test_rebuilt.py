"""Whatever is handed out can be rebuilt from its plain data: it shows, converts and says the same."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb
import pytest

from exact.towns import AMOUNT, write_people, write_policy
from sanql.errors import Refused
from sanql.policy import load
from sanql.results import (
    Answer,
    Balance,
    Budget,
    ExactAnswer,
    ExactExplanation,
    Explanation,
    Suggestion,
    answer_from_dict,
    certificate_from_dict,
    explanation_from_dict,
)
from sanql.san import San
from support.policies import dataset

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]
POLICY = (
    dataset("shop.duckdb", name="shop", epsilon="100", delta="1e-6", accounting="renyi")
    + """\
[table.customers]
privacy_unit = "id"
rows_per_unit_max = 3
[table.customers.column]
age = { type = "integer", bounds = [0, 90] }
since = { type = "date", bounds = [2020-01-01, 2020-12-31] }
city = { type = "text" }
sex = { type = "text", domain = ["F", "M"] }
[table.products]
public = true
"""
)
NOISY = [
    "SELECT COUNT(*) FROM customers",
    "SELECT city, COUNT(*) AS n, AVG(age) AS a, MEDIAN(age) AS m FROM customers GROUP BY city",
    "SELECT sex, SUM(age) / (COUNT(*) - COUNT(*)) AS z, AVG(age) AS a FROM customers GROUP BY sex",
    "SELECT sex, city, COUNT(*) AS n FROM customers GROUP BY ROLLUP (sex, city)",
    "SELECT DATE_TRUNC('month', since) AS month, COUNT(*) AS n FROM customers GROUP BY 1",
    "SELECT city, COUNT(*) AS n FROM customers WHERE age > 200 GROUP BY city",  # no rows
]
PUBLIC = "SELECT * FROM products ORDER BY name"


@pytest.fixture(scope="module")
def san(tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    folder = tmp_path_factory.mktemp("shop")
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE customers AS SELECT range // 2 AS id, (range % 90)::INTEGER AS age, "
            "DATE '2020-01-01' + (range % 300)::INTEGER AS since, 'city ' || range % 3 AS city, "
            "CASE WHEN range % 2 = 0 THEN 'F' ELSE 'M' END AS sex FROM range(2000)"
        )
        connection.execute(
            "CREATE TABLE products AS FROM (VALUES ('=a', 2, 1.5, true, DATE '2020-01-01', "
            "TIMESTAMP '2020-01-01 10:00:00.5'), (NULL, NULL, NULL, NULL, NULL, NULL)) "
            "AS t(name, price, weight, sold, day, moment)"
        )
    (folder / "policy.toml").write_text(POLICY)
    with San(load(folder / "policy.toml")) as opened:
        yield opened


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    folder = tmp_path_factory.mktemp("town")
    write_people(folder)
    with San(load(write_policy(folder, AMOUNT))) as opened:
        yield opened


def sent(shape: dict[str, Any]) -> dict[str, Any]:
    """Return plain data as it arrives somewhere else."""
    arrived: dict[str, Any] = json.loads(json.dumps(shape, allow_nan=False))
    return arrived


def assert_same_answer(rebuilt: Answer, answer: Answer) -> None:
    assert type(rebuilt) is type(answer)
    assert str(rebuilt) == str(answer) and repr(rebuilt) == repr(answer)
    assert rebuilt._repr_html_() == answer._repr_html_()
    assert rebuilt.to_csv() == answer.to_csv() and rebuilt.to_json() == answer.to_json()
    assert rebuilt.rows == answer.rows and rebuilt.intervals == answer.intervals
    assert [*map(type, sum(rebuilt.rows, ()))] == [*map(type, sum(answer.rows, ()))]
    assert rebuilt.cells() == answer.cells() and rebuilt.columns == answer.columns
    assert rebuilt.to_arrow().equals(answer.to_arrow())
    assert rebuilt.to_arrow().schema == answer.to_arrow().schema
    assert rebuilt.to_pandas().equals(answer.to_pandas())
    assert rebuilt.to_polars().equals(answer.to_polars(), null_equal=True)
    assert rebuilt.certificate == answer.certificate and rebuilt.remaining == answer.remaining
    assert (rebuilt.charge.epsilon, rebuilt.charge.delta) == (
        answer.charge.epsilon,
        answer.charge.delta,
    )
    for name, (low, high) in answer.ends.items():
        assert rebuilt.ends[name][0].tolist() == low.tolist()
        assert rebuilt.ends[name][1].tolist() == high.tolist()
    assert (rebuilt.cached, rebuilt.version, rebuilt.free, rebuilt.confidence, rebuilt.noise) == (
        answer.cached,
        answer.version,
        answer.free,
        answer.confidence,
        answer.noise,
    )


@pytest.mark.parametrize("sql", NOISY)
def test_an_answer_is_rebuilt_from_its_plain_data(san: San, sql: str) -> None:
    for _ in range(2):  # the second is a repeat, whose price is still known
        answer = san.query(sql, epsilon="0.3", delta="1e-8", confidence="0.9")
        assert_same_answer(answer_from_dict(sent(answer.to_dict())), answer)


def test_rows_of_public_tables_are_rebuilt_with_their_types(san: San) -> None:
    answer = san.query(PUBLIC)
    assert len(answer.rows) == 2 and answer.free
    assert_same_answer(answer_from_dict(sent(answer.to_dict())), answer)


def test_an_accuracy_that_costs_the_least_is_rebuilt_with_that_remark(san: San) -> None:
    answer = san.query("SELECT COUNT(*) FROM customers WHERE age < 50", accuracy=10**6)
    assert answer.raised and "the least" in answer.summary()
    assert_same_answer(answer_from_dict(sent(answer.to_dict())), answer)


def test_exact_answers_are_rebuilt_with_their_decimals(town: San) -> None:
    for _ in range(2):
        answer = town.query(
            "SELECT region, SUM(amount), AVG(amount) FROM people GROUP BY 1", exact=True
        )
        assert isinstance(answer, ExactAnswer)
        assert_same_answer(answer_from_dict(sent(answer.to_dict())), answer)
    explained = town.explain("SELECT SUM(amount) FROM people", exact=True)
    rebuilt = explanation_from_dict(sent(explained.to_dict()))
    assert isinstance(rebuilt, ExactExplanation) and str(rebuilt) == str(explained)
    assert rebuilt.to_dict() == explained.to_dict()


@pytest.mark.parametrize("sql", [*NOISY, PUBLIC])
def test_an_explanation_is_rebuilt_from_its_plain_data(san: San, sql: str) -> None:
    prices = [{}] if sql == PUBLIC else [{"epsilon": "0.7"}, {"epsilon": "0.3"}, {"epsilon": 900}]
    for price in prices:  # of which one may be on record, and one does not fit
        asked = {} if sql == PUBLIC else {"delta": "1e-8", **price}
        explained = san.explain(sql, **asked)  # type: ignore[arg-type]
        rebuilt = explanation_from_dict(sent(explained.to_dict()))
        assert isinstance(rebuilt, Explanation) and isinstance(explained, Explanation)
        assert str(rebuilt) == str(explained) and rebuilt._repr_html_() == explained._repr_html_()
        assert rebuilt.to_dict() == explained.to_dict()
        assert rebuilt.statement.in_full() == explained.statement.in_full()
        assert (rebuilt.fits, rebuilt.cached, rebuilt.expected, rebuilt.levels == ()) == (
            explained.fits,
            explained.cached,
            explained.expected,
            explained.levels == (),
        )


def test_a_suggestion_is_rebuilt_from_its_plain_data(san: San) -> None:
    for _ in range(2):
        suggested = san.suggest_limits("customers", epsilon="0.5", by="city")
        rebuilt = Suggestion.from_dict(sent(suggested.to_dict()))
        assert str(rebuilt) == str(suggested) and rebuilt.to_json() == suggested.to_json()
        assert rebuilt.limits == suggested.limits and rebuilt.toml() == suggested.toml()


def test_certificates_are_rebuilt_of_whichever_kind(san: San, town: San) -> None:
    noisy = san.query(NOISY[0], epsilon="0.3", delta="1e-8").certificate
    exact = town.query("SELECT COUNT(*) FROM people", exact=True).certificate
    for certificate in (noisy, exact):
        assert certificate_from_dict(sent(certificate.to_dict())) == certificate


def test_a_balance_that_is_long_to_write_is_sent_on_the_safe_side() -> None:
    long = Budget(Fraction(10**300 + 1, 3 * 10**300), Fraction(1, 3))
    told = Balance.from_dict(sent(Balance("d", "dataset", long, long, long, 0).to_dict()))
    assert told.spent_upper.epsilon > long.epsilon > told.remaining_lower.epsilon
    assert told.spent_upper.epsilon - told.remaining_lower.epsilon < Fraction(1, 10**50)
    assert told.remaining_lower.delta == Fraction(1, 3)


WITHOUT = """
import json, sys
for name in ("duckdb", "flint", "numpy", "pandas", "polars", "pyarrow", "scipy", "sqlglot"):
    sys.modules[name] = None
import sanql
from sanql.results import answer_from_dict
shape = json.load(sys.stdin)
answer = answer_from_dict(shape)
assert isinstance(answer, sanql.Answer)
for convert in (answer.to_arrow, answer.to_pandas, answer.to_polars, lambda: answer.ends):
    try:
        convert()
    except sanql.Refused as refused:
        print(refused.code, refused.message, refused.remedy, sep=" / ", file=sys.stderr)
print(answer, answer.to_csv(), answer._repr_html_(), answer.to_json(), sep="\\n")
"""


def test_it_is_rebuilt_and_shown_where_no_engine_is_installed(san: San) -> None:
    answer = san.query(NOISY[1], epsilon="0.3", delta="1e-8")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        input=answer.to_json(),
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    forms = [str(answer), answer.to_csv(), answer._repr_html_(), answer.to_json()]
    assert done.stdout == "\n".join(forms) + "\n"
    missing = [line.split(" / ")[1] for line in done.stderr.splitlines()]
    assert missing == [
        f"{name} is not installed" for name in ("pyarrow", "pandas", "polars", "numpy")
    ]


def test_what_is_missing_is_said_with_the_extra_that_brings_it(
    san: San, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(Refused, match=r"pandas is not installed") as caught:
        san.query(PUBLIC).to_pandas()
    assert caught.value.remedy == "install it (it is the extra sanql[pandas]), or use to_arrow()"


def test_a_version_can_be_put_in_place_of_another(san: San) -> None:
    answer = answer_from_dict(sent(san.query(NOISY[0], epsilon="0.3", delta="1e-8").to_dict()))
    assert "as of version 7" in str(replace(answer, version=7))
