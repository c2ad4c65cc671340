"""Whatever is typed, only SanqlError comes back, and never with a word of the data in it."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from privacy.grammar import Grammar
from privacy.oracle import orderly_row, roomy_policy
from privacy.worlds import UNITS, Row
from sanql.errors import SanqlError, Unavailable
from sanql.san import San
from support.counting import at_most
from support.plans import plan_of
from support.samplers import SilentSampler
from support.volume import few_of

pytestmark = pytest.mark.slow

MARKERS = ("Xanadu7193", "Qwghlm5527", "88123457001", "6172839.25", "1987-06-05")
SEEDS = [
    "SELECT COUNT(*) FROM visits",
    "SELECT city, AVG(income) AS a FROM visits WHERE age BETWEEN 1 AND 9 GROUP BY 1 ORDER BY a LIMIT 3",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5, delta=1e-6) COUNT(*) FROM stays",
    "SELECT CASE WHEN sex = 'F' THEN 1 ELSE 0 END, SUM(LEAST(5, big)) FROM readings GROUP BY 1",
    "WITH x AS (SELECT 1) SELECT * FROM x",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT COUNT(*) OVER (PARTITION BY city) FROM visits",
    "SELECT CAST(city AS INTEGER), error(city) FROM visits; DROP TABLE visits",
    "SELECT COUNT(*) FROM visits v JOIN stays s ON v.person = s.patient",
]
PIECES = [
    *"()[]{},;.*+-/%^=<>'\"$@#!?:|&~\\`",
    " NULL ", " SELECT ", " FROM visits ", " WHERE ", " GROUP BY ", " HAVING ", " ORDER BY ",
    " LIMIT ", " OFFSET ", " DISTINCT ", " CASE WHEN ", " END ", " AND ", " OR ", " NOT ", " IN ",
    "--", "/*", "*/", "E'\\x'", "$$", "1e999", "0x1f", "1_000", "９", "é", "\x00", "\ud800", "🦀",
    "DATE '2020-13-01'", "INTERVAL 1 DAY", "city::INT", "rowid", "COLUMNS(*)", "?", ":a", "$1",
    "sleep_ms(9)", "getenv('HOME')", "person", "(" * 120, "-" * 150, "9" * 60, "1.", ".5", "::",
    " UNION ALL ", " QUALIFY ", " FILTER (WHERE flag) ", "{'a': 1}", "[1, 2]", "x -> x", "age.b.c",
]  # fmt: skip


@pytest.fixture(scope="module")
def san(tmp_path_factory: pytest.TempPathFactory) -> Iterator[San]:
    rng = random.Random(4)
    marked: Row = {"city": MARKERS[0], "sex": MARKERS[1], "big": 88123457001, "raw": 6172839.25}
    rows = {
        table: [
            {
                **orderly_row(rng),
                **marked,
                **({unit: MARKERS[1] if unit == "patient" else 88123457001} if unit else {}),
            }
            for _ in range(5)
        ]
        for table, unit in UNITS.items()
    }
    with San(
        roomy_policy(tmp_path_factory.mktemp("fuzz"), rows), sampler=SilentSampler()
    ) as opened:
        yield opened


def mutated(rng: random.Random, text: str) -> str:
    """Return the text with parts removed, doubled, exchanged or replaced."""
    for _ in range(rng.choice([0, 1, 1, 1, 2, 4])):
        start = rng.randrange(len(text) + 1)
        stop = min(len(text), start + rng.choice([0, 1, 1, 3, 9, 30]))
        part = rng.choice(["", rng.choice(PIECES), text[start:stop] * 2, rng.choice(SEEDS)[:stop]])
        text = text[:start] + part + text[stop:]
    return text


def fuzz(san: San, seed: int, count: int) -> dict[str, int]:
    """Return how many texts were planned or refused; anything else that comes back is a failure."""
    rng = random.Random(seed)
    grammar = Grammar(rng)
    seen = {"planned": 0, "refused": 0}
    for _ in range(count):
        base = rng.choice([*SEEDS, grammar.question(rng.choice(list(UNITS)))])
        sql = mutated(rng, base)
        try:
            with at_most(5_000_000):
                plan_of(san, sql, epsilon="0.5", delta="1e-6")
            seen["planned"] += 1
        except SanqlError as error:
            seen["refused"] += 1
            assert not isinstance(error, Unavailable)
            said = f"{error} {error.to_dict()} {error.__context__ if error.__suppress_context__ else ''}"
            assert not any(marker in said and marker not in sql for marker in MARKERS), sql
            assert error.message and error.remedy and error.code, sql
        except Exception as error:
            raise AssertionError(f"{type(error).__name__} came back for {sql!r}") from error
    return seen


@pytest.mark.parametrize("seed", few_of(range(1, 9), 1))
def test_any_text_is_answered_or_refused(san: San, seed: int) -> None:
    seen = fuzz(san, seed, 300)
    assert min(seen.values()) > 10, seen


EPSILONS = ["nan", "-1", "0", "inf", "1e-400", "１", "", None, float("nan"), True]
HOSTILE_WISHES: list[dict[str, object]] = [
    *({"epsilon": value} for value in EPSILONS),
    {"epsilon": "1", "delta": "2"},
    {"epsilon": "1", "delta": "-1e-9"},
    {"epsilon": "1", "confidence": "1"},
    {"epsilon": "1", "confidence": ("0.5",)},
    {"epsilon": "1", "accuracy": 5},
    {"accuracy": "0"},
    {"accuracy": "lots"},
    {"accuracy": {"relative": 1}},
    {"accuracy": {"half_width": 5, "rows": -1}},
    {"epsilon": "1", "max_groups_contributed": 0},
    {"epsilon": "1", "max_groups_contributed": "２"},
    {"epsilon": "1", "max_groups_contributed": 1.5},
]  # fmt: skip


@pytest.mark.parametrize("wishes", HOSTILE_WISHES, ids=repr)
def test_a_hostile_wish_is_refused(wishes: dict[str, object], san: San) -> None:
    with pytest.raises(SanqlError):
        san.query("SELECT COUNT(*) FROM visits", **wishes)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", ["0.001", "10000"])
def test_the_least_and_the_largest_epsilon_are_answered(epsilon: str, san: San) -> None:
    assert san.query("SELECT COUNT(*) FROM visits", epsilon=epsilon).table.num_rows == 1
