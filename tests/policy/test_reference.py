"""docs/policy.md is the reference: its examples load, as those of docs/sources.md do; no key lacks."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from sanql.errors import PolicyError
from sanql.kernel.stored_types import TEXT_BYTES_DEFAULT, ColumnType, convert
from sanql.policy import load
from sanql.policy.keys import ENGINE_DEFAULT, FAILURES_MAX_DEFAULT, KEYS
from sanql.sources.kinds import locate

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "policy.md").read_text(encoding="utf-8")
SOURCES = (DOCS / "sources.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```toml\n(.*?)^```$", PAGE + SOURCES, re.DOTALL | re.MULTILINE)
HEADINGS = {
    "dataset": "[dataset]",
    "budget": "budget",
    "attacker": "attacker",
    "auto_bounds": "auto_bounds",
    "engine": "[engine]",
    "unit": "[unit.NAME]",
    "analyst": "[analyst.NAME]",
    "coalition": "[coalition.NAME]",
    "reserved": "[reserved.NAME]",
    "continual": "[continual.NAME]",
    "table": "[table.NAME]",
    "column": "[table.NAME.column]",
    "domain": "domain",
    "privacy_unit": "privacy_unit",
    "summaries": "summaries",
    "group": "group",
    "exact": "[exact.NAME]",
    "adversary": "adversary",
    "accept": "accept",
    "exact_together": "exact_together",
}


def rows_under(heading: str) -> dict[str, str]:
    """Return the keys in the table under a heading, each with its default."""
    part = PAGE.split(f"\n## `{heading}`\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \|$", part, re.MULTILINE)
    return {key: default for key, _, default in rows}


@pytest.mark.parametrize("example", EXAMPLES)
def test_each_example_loads(write: Callable[[str], Path], example: str) -> None:
    assert load(write(example)).tables


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_tables_of_each_example_are_found_in_its_source(
    write: Callable[[str], Path], example: str
) -> None:
    """One file is one table; several tables need a folder or a database."""
    policy = load(write(example))
    if policy.origin is not None:
        with pytest.raises(PolicyError, match=r"no snapshot of .* yet"):
            locate(policy)
        return
    source = policy.path.parent / policy.source
    folder = not source.suffix
    (source if folder else source.parent).mkdir(parents=True, exist_ok=True)
    for file in [source / f"{name}.parquet" for name in policy.tables] if folder else [source]:
        file.touch()
    locate(policy)


@pytest.mark.parametrize("section", KEYS)
def test_the_page_has_exactly_the_keys_that_are_read(section: str) -> None:
    assert sorted(rows_under(HEADINGS[section])) == sorted(KEYS[section])


def test_every_section_of_keys_has_a_heading() -> None:
    assert HEADINGS.keys() == KEYS.keys()


def test_the_page_states_the_defaults_that_hold() -> None:
    assert rows_under("[dataset]")["failures_max"] == str(FAILURES_MAX_DEFAULT)
    assert rows_under("[table.NAME.column]")["bytes_max"] == str(TEXT_BYTES_DEFAULT)
    assert rows_under("[engine]") == {
        "memory": f'`"{ENGINE_DEFAULT.memory_bytes // 10**9}GB"`',
        "deadline": f"{ENGINE_DEFAULT.deadline_seconds:g}",
        "workers": str(ENGINE_DEFAULT.workers),
        "kind": '`"local"`',
        "master": 'required with `"spark"`, and only there',
        "layout": 'required with `"spark"`, and only there',
        "encryption_key_file": "none: they are not, unless the variable `SANQL_ENCRYPTION_KEY_FILE` "
        "names one",
    }


def test_every_key_is_used_by_an_example() -> None:
    written = "\n".join(EXAMPLES)
    unused = [
        key for keys in KEYS.values() for key in keys if not re.search(rf"\b{key}\b", written)
    ]
    assert unused == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "written", "read"),
    [
        ("date", "2026-01-31", "2026-01-31"),
        ("timestamp", "2026-01-31 12:00:00", "2026-01-31 12:00:00"),
        ("timestamp", "2026-01-31T12:00:00", "2026-01-31 12:00:00"),
        ("decimal", "1234.5", "1234.5"),
        ("integer", "-7", "-7"),
        ("float", "1e3", "1000.0"),
        ("boolean", "true", "True"),
        ("boolean", "0", "False"),
        ("date", "31.01.2026", "None"),
        ("date", "01/31/2026", "None"),
        ("decimal", "1,5", "None"),
        ("integer", "1,000", "None"),
        ("float", "$5", "None"),
    ],
)
def test_text_is_read_as_the_page_says(kind: ColumnType, written: str, read: str) -> None:
    assert f"`{written}`" in PAGE or written == "2026-01-31T12:00:00"
    with duckdb.connect() as engine:
        sql = f"SELECT {convert('field', 'VARCHAR', kind)} FROM (SELECT ? AS field)"
        row = engine.execute(sql, [written]).fetchone()
    assert row is not None and str(row[0]) == read
