"""A profile from the owner's word to what every analyst is told: paid once, on record, used for free."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from sanql.account import DATASET
from sanql.audit.ledger import verify
from sanql.cli.main import main
from sanql.errors import BudgetExceeded, Refused
from sanql.policy import load
from sanql.results import Balance
from sanql.san import San
from support.policies import dataset
from support.samplers import SilentSampler

pytestmark = pytest.mark.usefixtures("in_this_process")

POLICY = (
    dataset("data.duckdb", neighbours="{neighbours}", epsilon="{budget}", delta="1e-3")
    + """\
[analyst.ana]
budget.epsilon = 2
budget.delta = 1e-4
[analyst.bo]
[table.visits]
privacy_unit = "person"
rows_per_unit_max = 4
groups_per_unit_max = 2
[table.visits.column]
city = {{ type = "text", domain = ["a", "b", "c", "d"] }}
street = {{ type = "text" }}
[table.people]
privacy_unit = "row"
"""
)
LIMITS = "rows_per_unit_max = 4\ngroups_per_unit_max = 2"
PRICE = {"epsilon": "6", "columns": ["city", "street"]}
COUNT = "SELECT COUNT(*) FROM visits"
UNKNOWN = "which share of the rows they keep is not known"
# 600 people have one visit, 300 two and 100 eight: 4 rows keep 1,600 of 2,000
SIZES = {1: 600, 2: 300, 8: 100}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("profiled") / "data.duckdb"
    people = [(size,) for size, count in SIZES.items() for _ in range(count)]
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE sizes (size INTEGER)")
        connection.executemany("INSERT INTO sizes VALUES (?)", people)
        connection.execute(
            "CREATE TABLE visits AS SELECT person, ['a', 'b', 'c', 'd'][1 + n % 4] AS city, "
            "'s' || n AS street FROM (SELECT row_number() OVER () AS person, size FROM sizes), "
            "LATERAL (SELECT unnest(range(size)) AS n)"
        )
        connection.execute("CREATE TABLE people AS SELECT 1 AS x")
        connection.execute("DROP TABLE sizes")
    return path


@pytest.fixture
def opened(data: Path, tmp_path: Path) -> Iterator[Callable[..., San]]:
    sans: list[San] = []
    shutil.copy(data, tmp_path)

    def make(
        analyst: str = "ana",
        budget: int = 10,
        neighbours: str = "add-remove",
        limits: str = LIMITS,
    ) -> San:
        path = tmp_path / "policy.toml"
        text = POLICY.format(budget=budget, neighbours=neighbours)
        path.write_text(text.replace(LIMITS, limits), encoding="utf-8")
        sans.append(San(load(path), analyst, sampler=SilentSampler()))
        return sans[-1]

    yield make
    for san in sans:
        san.close()


def spent(balances: list[Balance]) -> dict[str, float]:
    return {balance.account: float(balance.spent_upper.epsilon) for balance in balances}


def limits_line(san: San, sql: str = COUNT) -> str:
    return san.explain(sql, epsilon=0.1).certificate.to_dict()["limits_in_words"]  # type: ignore[return-value]


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add-remove", "change-one"])
def test_it_is_charged_to_the_dataset_once_and_to_nobody_else(
    opened: Callable[..., San], neighbours: str
) -> None:
    san = opened(neighbours=neighbours)
    (first,) = san.profile("visits", **PRICE)  # type: ignore[arg-type]
    assert spent(san.budget()) == {"data": 6.0, "ana": 0.0}
    (again,) = san.profile("Visits", **PRICE)  # type: ignore[arg-type]
    assert spent(san.budget()) == {"data": 6.0, "ana": 0.0} and again == first
    assert not san.history() and verify(san.policy.ledger).sound


@pytest.mark.slow
def test_it_tells_what_was_there(opened: Callable[..., San]) -> None:
    (profile,) = opened().profile("visits", **PRICE)  # type: ignore[arg-type]
    kept = profile.rows_kept(4)
    assert kept is not None and kept.low <= 800 <= kept.high and kept.up_to == 8
    groups = profile.groups_kept("city", 2)
    assert groups is not None and groups.low <= 1000 * 1400 / 1600 <= groups.high
    within = profile.units_within(2)
    assert within is not None and within.low <= 900 <= within.high
    assert profile.rows is not None and profile.rows.units == 1000
    # a unit counts in two of its cities at most: nobody is in b without a
    assert sum(profile.sizes["city"].sizes.values()) == 600 + 2 * 300 + 2 * 100


@pytest.mark.slow
def test_every_analyst_is_told_what_limits_keep_and_without_it_that_nobody_knows(
    opened: Callable[..., San],
) -> None:
    """Red where the profile, or its use in what is said of limits, is taken away."""
    ana = opened()
    assert UNKNOWN in limits_line(ana)
    before = str(ana.query(COUNT, epsilon=0.1))
    assert UNKNOWN in before and "0.95 intervals of the noise alone" in before
    ana.profile("visits", **PRICE)  # type: ignore[arg-type]
    for san in (ana, opened("bo")):
        said = limits_line(san)
        assert "the limit on rows keeps about" in said and UNKNOWN not in said
        assert "of the rows of visits whose unit has at most 8, " in said
        assert "version 1 of the data" in said
        assert "not known" not in limits_line(
            san, "SELECT city, COUNT(*) FROM visits GROUP BY city"
        )
        assert UNKNOWN in limits_line(
            san, "SELECT COUNT(*) FROM visits v JOIN visits w USING (person)"
        )
        assert "units:" in str(san.schema())
    repeated = [str(ana.query(COUNT, epsilon=0.1)) for _ in range(3)]
    assert all("the limit on rows keeps about" in text for text in repeated)
    assert spent(ana.budget())["ana"] == pytest.approx(0.1)


@pytest.mark.slow
def test_no_share_is_told_without_the_large_units_that_it_leaves_out(
    opened: Callable[..., San],
) -> None:
    """A limit that nobody seen exceeds may keep little, where a few have most of the rows."""
    san = opened()
    (profile,) = san.profile("visits", **PRICE)  # type: ignore[arg-type]
    of_rows = [line for line in profile.lines() if line.startswith("  rows: ")]
    assert of_rows[-1] == "  rows: a limit of 8 keeps all"
    beyond = re.search(r"up to \d+ of about [\d,]+ units have more", of_rows[0])
    assert beyond is not None and "units have more than 8: which share" in of_rows[0]
    said = limits_line(san)
    assert f"{beyond[0]} and may lose most of theirs" in said  # as many as the profile says
    assert said.index("of the rows of visits whose unit has at most 8") < said.index("keeps")
    suggested = str(san.suggest_limits("visits"))
    assert "some may have more than 8 rows: what they lose is in no line" in suggested


@pytest.mark.slow
def test_a_repeat_that_is_at_hand_is_told_of_a_profile_that_came_since(
    opened: Callable[..., San],
) -> None:
    san = opened()
    assert all(UNKNOWN in str(san.query(COUNT, epsilon=0.1)) for _ in range(3))
    san.profile("visits", **PRICE)  # type: ignore[arg-type]
    assert UNKNOWN not in str(san.query(COUNT, epsilon=0.1))


@pytest.mark.slow
def test_limits_are_suggested_from_it_for_nothing(opened: Callable[..., San]) -> None:
    san = opened("bo")
    with pytest.raises(Refused, match="has no profile") as caught:
        san.suggest_limits("visits")
    assert caught.value.code == "epsilon_needed"
    san.profile("visits", **PRICE)  # type: ignore[arg-type]
    before = spent(san.budget())
    found = san.suggest_limits("visits", by="CITY")
    assert found.cached and spent(san.budget()) == before
    assert found.limits == {"rows_per_unit_max": 8, "groups_per_unit_max": 4}
    with pytest.raises(Refused):
        san.suggest_limits("visits", by="person_")


@pytest.mark.slow
def test_an_empty_list_is_refused_before_it_is_charged_unless_insisted_on(
    opened: Callable[..., San],
) -> None:
    san = opened()
    sql, price = "SELECT street, COUNT(*) FROM visits GROUP BY street", {"delta": 1e-9}
    san.profile("visits", epsilon=5)
    with pytest.raises(Refused, match="no key is expected to appear: one needs about") as caught:
        san.query(sql, epsilon=0.01, **price)  # type: ignore[arg-type]
    said = re.search(
        r"about ([\d,]+) units(?: that have no other key, or ([\d,]+) that have 16 keys each)?, "
        r"and one has at most ([\d,]+) ",
        caught.value.message,
    )
    assert said is not None, caught.value.message
    alone, most = (int(said[group].replace(",", "")) for group in (1, 3))
    note = next(n for n in san.explain(sql, epsilon=0.01, even_if_empty=True, **price).notes)  # type: ignore[arg-type]
    assert most < alone and f"as often as not with {alone:,} units" in note
    assert caught.value.code == "list_empty" and spent(san.budget())["ana"] == 0
    assert not san.query(sql, epsilon=0.01, even_if_empty=True, **price).rows  # type: ignore[arg-type]
    assert san.query(sql, epsilon=1, **price).rows  # type: ignore[arg-type]


@pytest.mark.slow
def test_widths_of_averages_are_over_as_many_rows_as_the_profile_tells(
    opened: Callable[..., San],
) -> None:
    """By hand: of so many people with so many visits as many count as the limit says."""
    san = opened()
    share = "AVG(CASE WHEN city = 'a' THEN 1 ELSE 0 END) AS share"
    whole, parts, some = (
        f"SELECT {share} FROM visits",
        f"SELECT city, {share} FROM visits GROUP BY city",
        f"SELECT {share} FROM visits WHERE city <> 'b'",
    )
    before = [san.explain(sql, epsilon=1).expected[0] for sql in (whole, parts, some)]
    assert all(each.note == " if the group has 1,000 rows" for each in before)
    san.profile("visits", **PRICE)  # type: ignore[arg-type]
    for sql, groups in ((whole, 1), (parts, 4)):
        explained = san.explain(sql, epsilon=1)
        limit = explained.certificate.limits["rows_per_unit"]
        kept = sum(count * min(size, limit) for size, count in SIZES.items()) / groups
        said = re.search(r"has ([\d,]+) rows, as by the profile", explained.expected[0].note)
        assert said is not None
        rows, one_each = int(said[1].replace(",", "")), sum(SIZES.values()) / groups
        least = 0.85 * kept if groups == 1 else one_each  # norms keep no less than a smaller limit
        assert least <= rows <= kept and rows != 1000
    assert san.explain(some, epsilon=1).expected[0].note == before[2].note
    inner = san.explain_batch([whole, parts], epsilon=1).questions[0].expected[0]
    assert "as by the profile" in inner.note


@pytest.mark.slow
def test_a_list_is_refused_by_what_units_weigh_where_their_groups_are_known(
    opened: Callable[..., San],
) -> None:
    """A unit in four streets has a weight of a half in each: all of a key are fewer than all units."""
    san = opened(limits="rows_per_unit_max = 8")
    refused: list[set[int]] = []
    for columns in ((), ("street",)):
        (*_, profile) = san.profile("visits", epsilon=4, columns=columns)
        for where in ("", " WHERE city = 'a'") if columns else ("",):
            found = set()
            for step in range(40):
                try:
                    san.explain(
                        f"SELECT street, COUNT(*) FROM visits{where} GROUP BY street",
                        epsilon=round(0.01 * 1.06**step, 5),
                        delta=1e-9,
                    )
                except Refused as caught:
                    assert caught.code == "list_empty"
                    found.add(step)
                    weighed = "of these weigh (profile of visits)" in caught.message
                    assert weighed == (bool(columns) and not where), caught.message
            refused.append(found)
    by_units, by_weights, under_a_condition = refused
    assert by_units < by_weights and under_a_condition <= by_weights
    upper = profile.weights_upper("street", 8)
    assert upper is not None and 600 + 300 / 2**0.5 + 100 / 8**0.5 <= upper < 950
    assert profile.weights_upper("city", 8) is None
    # what many weigh is no more than so many, and each no more than one
    exact = profile.weights_upper("street", 1)
    assert exact is not None and exact >= 1000


def test_a_guess_refuses_a_list_for_nothing_and_explain_says_what_a_key_needs(
    opened: Callable[..., San],
) -> None:
    """Nothing is known but what the analyst thinks; red where the guess is not looked at."""
    san = opened()
    asked = {
        "sql": "SELECT street, COUNT(*) FROM visits GROUP BY street",
        "epsilon": 1,
        "delta": 1e-9,
    }
    (needs,) = (note for note in san.explain(**asked).notes if "as often as not" in note)  # type: ignore[arg-type]
    units = int(needs.split(" with ")[1].split(" units")[0].replace(",", ""))
    assert units > 10
    for guess, refused in ((units // 4, True), (units, False)):
        if refused:
            with pytest.raises(Refused, match="no key is expected to appear") as caught:
                san.query(**asked, units_guessed=guess)  # type: ignore[arg-type]
            assert caught.value.code == "list_empty" and spent(san.budget())["ana"] == 0
        else:
            assert san.query(**asked, units_guessed=guess).rows  # type: ignore[arg-type]
    insisted = f"{asked['sql']} -- again"
    assert san.query(insisted, epsilon=1, delta=1e-9, units_guessed=1, even_if_empty=True).rows


@pytest.mark.slow
def test_one_of_an_earlier_version_is_cited_as_such_and_decides_nothing(
    opened: Callable[..., San],
) -> None:
    san = opened()
    san.profile("visits", epsilon=5)
    san.refresh()
    assert "version 1 of the data" in str(san.query(COUNT, epsilon=0.1))
    with pytest.raises(Refused, match="has no profile"):
        san.suggest_limits("visits")
    sql = "SELECT street, COUNT(*) FROM visits GROUP BY street"
    assert not san.query(sql, epsilon=0.01, delta=1e-9).rows
    (profile,) = san.profile("visits", epsilon=1)
    assert profile.version == 2


def test_it_must_fit_the_dataset_s_budget_as_a_whole(opened: Callable[..., San]) -> None:
    san = opened(budget=3)
    with pytest.raises(BudgetExceeded):
        san.profile("visits", epsilon=4)
    assert spent(san.budget())["data"] == 0 and not san.profiles()


@pytest.mark.slow
def test_erasing_what_was_asked_puts_it_out_of_use_and_asking_again_is_free(
    opened: Callable[..., San],
) -> None:
    san = opened()
    san.profile("visits", **PRICE)  # type: ignore[arg-type]
    san.erase_texts(analyst=DATASET)
    assert not san.profiles() and UNKNOWN in limits_line(san)
    assert spent(san.budget())["data"] == 6


@pytest.mark.slow
def test_a_part_that_the_policy_reads_otherwise_now_is_not_used(
    opened: Callable[..., San], tmp_path: Path
) -> None:
    san = opened()
    san.profile("visits", epsilon=1, columns=["city"])
    san.close()
    path = tmp_path / "policy.toml"
    path.write_text(path.read_text().replace('"c", "d"]', '"c"]'), encoding="utf-8")
    with San(load(path), "ana", sampler=SilentSampler()) as changed:
        (profile,) = changed.profiles()
        assert profile.rows is not None and not profile.sizes


def test_nobody_asks_in_the_dataset_s_name(opened: Callable[..., San]) -> None:
    with pytest.raises(Refused, match="how the ledger calls the dataset"):
        opened(DATASET)


@pytest.mark.parametrize("table", ["people", "nothing"])
def test_a_table_without_such_units_is_refused(opened: Callable[..., San], table: str) -> None:
    with pytest.raises(Refused):
        opened().profile(table, epsilon=1)


@pytest.mark.slow
def test_the_command_measures_and_shows_it(opened: Callable[..., San], tmp_path: Path) -> None:
    opened().close()
    run, policy = CliRunner(), ["profile", "-p", str(tmp_path / "policy.toml")]
    assert "no profile is on record" in run.invoke(main, policy).output
    asked = run.invoke(main, [*policy, "visits", "-e", "5", "--columns", "city, street"])
    assert asked.exit_code == 0, asked.output
    assert "visits: profile of" in asked.output and "groups by street" in asked.output
    shown = run.invoke(main, [*policy, "--format", "json"])
    assert '"table": "visits"' in shown.output
