"""Whatever is written, the answer is a policy that keeps its rules or a PolicyError."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sanql.errors import PolicyError
from sanql.policy import draft, load
from sanql.policy.keys import KEYS, SECTIONS
from sanql.policy.model import ColumnUnit, ListedDomain, Policy, TableDomain

pytestmark = pytest.mark.slow

Text = Callable[..., str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def load_text(folder: Path, text: str) -> Policy | None:
    """Return the policy, None after a PolicyError; anything else raised fails the test."""
    path = folder / "policy.toml"
    path.write_bytes(text.encode())
    try:
        policy = load(path)
    except PolicyError as error:
        assert error.faults
        assert all(f.place and f.message and f.remedy for f in error.faults)
        assert json.dumps(error.to_dict())
        assert all(line.isprintable() for line in str(error).split("\n"))
        return None
    check_rules(policy)
    return policy


def check_rules(policy: Policy) -> None:
    """Check, from the model alone, what every later stage takes for granted."""
    budgets = [a.budget for a in policy.analysts.values()]
    budgets += [c.budget for c in policy.coalitions.values()]
    for budget in (policy.budget, *budgets):
        if budget is not None:
            assert 0 < budget.epsilon <= policy.budget.epsilon
            assert 0 <= budget.delta <= policy.budget.delta < 1
            assert budget.delta > 0 or policy.accounting == "pure"
    for coalition in policy.coalitions.values():
        assert coalition.members <= policy.analysts.keys()
    assert policy.tables
    assert policy.failures_max > 0
    assert len({name.casefold() for name in policy.tables}) == len(policy.tables)
    for table in policy.tables.values():
        rows, groups = table.rows_per_unit_max, table.groups_per_unit_max
        if table.public:
            assert (rows, table.rows_per_group_max, groups) == (None, None, None)
        else:
            assert rows is not None
            assert groups is not None
            assert 1 <= groups <= rows <= 2**20
            assert isinstance(table.unit, ColumnUnit) or rows == 1
            assert table.rows_per_group_max is None or rows <= table.rows_per_group_max * groups
        for column in table.columns.values():
            step = Fraction(1) if column.type == "integer" else column.precision
            if column.bounds is not None:
                low, high = column.bounds
                assert low <= high  # type: ignore[operator]
                assert type(low) is type(high)
                kinds = {"integer": int, "date": date, "timestamp": datetime}
                assert type(low) is kinds.get(column.type, Fraction)
                if isinstance(low, int | Fraction) and isinstance(high, int | Fraction):
                    assert column.type != "decimal" or step is not None
                    if step is not None:
                        largest = max(abs(low), abs(high)) / step
                        assert largest.denominator == 1
                        assert largest * (rows or 1) < 2**62
            if column.total_bounds is not None:
                assert step is not None
                assert column.total_bounds[0] <= 0 <= column.total_bounds[1] < 2**62 * step
            match column.domain:
                case ListedDomain(values):
                    assert len(set(values)) == len(values) > 0
                case TableDomain(name):
                    assert policy.tables[name].public
                case None:
                    pass


@settings(deadline=None)
@given(text=st.text(st.characters(codec="utf-8")))
@example(text="\x00")
@example(text="a = " + "{a = " * 500)
def test_any_text_is_a_policy_or_a_policy_error(folder: Path, text: str) -> None:
    load_text(folder, text)


@settings(deadline=None)
@given(content=st.binary())
def test_any_bytes_are_a_policy_or_a_policy_error(folder: Path, content: bytes) -> None:
    path = folder / "bytes.toml"
    path.write_bytes(content)
    with pytest.raises(PolicyError):
        load(path)


WORDS = sorted({key for keys in KEYS.values() for key in keys} | set(SECTIONS) | {"exact", "row"})
NAMES = st.sampled_from([*WORDS, "t", "T", "ana", "", "a b", "é", "\n"])
NUMBERS = st.sampled_from(
    [
        *("0", "1", "-1", "2", "120", "0x10", "1048576", "9007199254740993"),
        *("1e-6", "1e-7", "0.01", "4.0", "nan", "inf", "-inf", "1e400", "1e-400"),
    ]
)
OTHERS = st.sampled_from(
    ["true", "false", "2024-01-01", "2024-01-01T00:00:00", "2024-01-01T00:00:00Z", "07:32:00"]
)
TYPES = ["integer", "decimal", "float", "text", "boolean", "date", "timestamp"]
CHOICES = st.sampled_from([*TYPES, "add-remove", "change-one", "pure", "renyi", "4GB", "1"])


def toml_text(text: str) -> str:
    return json.dumps(text)


def toml_table(content: dict[str, str]) -> str:
    return "{ " + ", ".join(f"{toml_text(key)} = {value}" for key, value in content.items()) + " }"


def toml_list(values: list[str]) -> str:
    return f"[{', '.join(values)}]"


VALUES = st.recursive(
    NUMBERS | OTHERS | (CHOICES | NAMES | st.text(max_size=5)).map(toml_text),
    lambda inner: (
        st.lists(inner, max_size=3).map(toml_list)
        | st.dictionaries(NAMES, inner, max_size=4).map(toml_table)
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=150)
@given(content=st.dictionaries(st.sampled_from([*SECTIONS, "exact", "x"]), VALUES))
def test_any_toml_is_a_policy_or_a_policy_error(folder: Path, content: dict[str, str]) -> None:
    load_text(folder, "\n".join(f"{key} = {value}" for key, value in content.items()))


# Values of the right kind, near the edges of what is allowed.
FINITE = st.sampled_from(["-3", "0", "0.5", "7.0", "120", "1e6", str(2**42), str(2**53)])
KINDS = {
    "integer": st.sampled_from(["-3", "0", "7.0", "1e6", str(2**42), str(2**53)]),
    "decimal": FINITE,
    "float": FINITE,
    "text": CHOICES.map(toml_text),
    "boolean": st.sampled_from(["true", "false"]),
    "date": st.sampled_from(["2024-01-01", '"2024-12-31"']),
    "timestamp": st.sampled_from(["2024-01-01T00:00:00", '"2024-12-31T23:59:59"']),
}
LIMITS = st.sampled_from(["1", "2", "3", "6", "512", "1048576"])
TABLES = st.just({"privacy_unit": '"row"'}) | st.fixed_dictionaries(
    {"privacy_unit": st.just('"id"'), "rows_per_unit_max": LIMITS},
    optional={
        "rows_per_group_max": LIMITS,
        "groups_per_unit_max": LIMITS,
        "unique": st.just("false"),
    },
)


@st.composite
def columns(draw: st.DrawFn) -> dict[str, str]:
    """Return the keys of a column whose values are of its type."""
    type = draw(st.sampled_from(TYPES))
    values = KINDS[type]
    keys = {"domain": st.lists(values, min_size=1, max_size=3).map(toml_list)}
    keys["domain"] |= st.just('{ table = "public", column = "x" }')
    if type not in ("text", "boolean"):
        keys["bounds"] = st.lists(values, min_size=2, max_size=2).map(toml_list)
    if type in ("integer", "decimal", "float"):
        keys["total_bounds"] = values.map(lambda high: toml_list(["-0.0", high]))
    if type in ("decimal", "float"):
        keys["precision"] = st.sampled_from(["0.01", "0.5", "1", "1e-9"])
    return {"type": toml_text(type), **draw(st.fixed_dictionaries({}, optional=keys))}


@settings(deadline=None, max_examples=200)
@given(table=TABLES, column=columns())
def test_an_accepted_policy_keeps_every_rule(
    folder: Path, policy_text: Text, table: dict[str, str], column: dict[str, str]
) -> None:
    keys = "\n".join(f"{key} = {value}" for key, value in table.items())
    more = f"[table.t]\n{keys}\ncolumn.x = {toml_table(column)}\n[table.public]\npublic = true"
    load_text(folder, policy_text(tables=more))


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_a_damaged_policy_is_a_policy_or_a_policy_error(
    folder: Path, policy_text: Text, data: st.DataObject
) -> None:
    text = policy_text(
        more='[analyst.a]\n[analyst.b]\n[coalition.c]\nmembers = ["a", "b"]\n'
        "budget = { epsilon = 1, delta = 1e-7 }\n[engine]\nmemory = '1GB'\ndeadline = 1"
    )
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 8)))
        put = data.draw(NUMBERS | OTHERS | st.text(st.characters(codec="utf-8"), max_size=3))
        text = text[:start] + put + text[end:]
    load_text(folder, text)


@settings(deadline=None, max_examples=50)
@given(content=st.binary(max_size=200))
@pytest.mark.parametrize("suffix", ["csv", "parquet", "duckdb"])
def test_any_bytes_have_a_draft_or_are_a_policy_error(
    folder: Path, suffix: str, content: bytes
) -> None:
    path = folder / f"any.{suffix}"
    path.write_bytes(content)
    try:
        text = draft([path], "d")
    except PolicyError:
        return
    assert load_text(folder, text) is None
