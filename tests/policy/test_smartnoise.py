"""SmartNoise metadata become a draft: what they say is kept, what they leave open stays open."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

from sanql.errors import PolicyError, Refused
from sanql.policy import load
from sanql.policy.model import ColumnUnit, RowUnit
from sanql.policy.smartnoise import from_smartnoise

pytestmark = pytest.mark.usefixtures("in_this_process")

METADATA = """
engine: postgres
clinic:
  public:
    people:
      max_ids: 3
      rows: 1000
      sample_max_ids: false
      clamp_counts: true
      censor_dims: false
      pid: { type: int, private_id: true }
      age: { type: int, lower: 0, upper: 120.0 }
      income: { type: float, lower: -0.1, upper: 1e6, nullable: false }
      debt: { type: float, lower: 0, sensitivity: 5 }
      city: { type: string, card: 12, missing_value: "none" }
      member: { type: boolean }
      seen: { type: datetime }
      blob: { type: unknown }
  other:
    visits:
      row_privacy: true
      cost: { type: int, lower: 0, upper: 10 }
"""
DECIDED = [
    ('source = ""', 'source = "data.duckdb"'),
    ('neighbours = ""', 'neighbours = "add-remove"'),
    ('epsilon = "", delta = ""', "epsilon = 1, delta = 1e-6"),
    ('accounting = ""', 'accounting = "pure"'),
]


def draft_of(folder: Path, metadata: str) -> str:
    path = folder / "meta.yaml"
    path.write_text(metadata, encoding="utf-8")
    return from_smartnoise(path)


def faults_of(folder: Path, metadata: str) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        draft_of(folder, metadata)
    assert all(fault.remedy for fault in caught.value.faults)
    return [f"{fault.place}: {fault.message}" for fault in caught.value.faults]


def table_of(folder: Path, lines: str) -> str:
    """Return the draft of a metadata file with one table of these lines."""
    inside = "\n".join(f"      {line}" for line in lines.strip().splitlines())
    return draft_of(folder, f"db:\n  s:\n    t:\n{inside}\n")


def test_once_decided_the_policy_means_what_the_metadata_did(tmp_path: Path) -> None:
    text = draft_of(tmp_path, METADATA)
    for blank, decided in DECIDED:
        assert text.count(blank) == 1
        text = text.replace(blank, decided)
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    policy = load(tmp_path / "policy.toml")
    assert policy.name == "clinic"
    people, visits = policy.tables["people"], policy.tables["visits"]
    assert people.unit == ColumnUnit("pid")
    assert people.rows_per_unit_max == 3
    assert {name: (c.type, c.bounds) for name, c in people.columns.items()} == {
        "age": ("integer", (0, 120)),
        "income": ("float", (Fraction(-1, 10), Fraction(10**6))),
        "debt": ("float", None),
        "city": ("text", None),
        "member": ("boolean", None),
        "seen": ("timestamp", None),
    }
    assert visits.unit == RowUnit()


def test_what_only_the_owner_can_decide_is_still_open(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(draft_of(tmp_path, METADATA), encoding="utf-8")
    with pytest.raises(PolicyError) as caught:
        load(tmp_path / "policy.toml")
    open_ = {fault.place.split(" (")[0] for fault in caught.value.faults}
    wanted = ("source", "neighbours", "budget.epsilon", "budget.delta", "accounting")
    assert all(any(key in place for place in open_) for key in wanted), open_
    assert not any("table" in place for place in open_)


@pytest.mark.parametrize(
    "key",
    [
        "sample_max_ids",
        "clamp_counts",
        "censor_dims",
        "missing_value",
        "sensitivity",
        "lower",
        "blob",
    ],
)
def test_what_cannot_be_expressed_is_said_in_a_comment(tmp_path: Path, key: str) -> None:
    comments = [line.partition("#")[2] for line in draft_of(tmp_path, METADATA).splitlines()]
    assert any(key in comment for comment in comments)


@pytest.mark.parametrize(
    ("lines", "unit", "rows"),
    [
        ("x: {type: int}", "", 1),
        ("row_privacy: true\nx: {type: int, private_id: true}\nmax_ids: 4", "", 4),
        ("x: {type: int, private_id: true}", "x", 1),
        ("row_privacy: true\nx: {type: int}", "row", None),
    ],
)
def test_the_unit_is_blank_unless_the_metadata_say_it(
    tmp_path: Path, lines: str, unit: str, rows: int | None
) -> None:
    found = tomllib.loads(table_of(tmp_path, lines))["table"]["t"]
    assert found["privacy_unit"] == unit
    assert found.get("rows_per_unit_max") == rows


def test_all_faults_come_at_once(tmp_path: Path) -> None:
    found = faults_of(
        tmp_path,
        """
db:
  s:
    t:
      max_ids: none
      row_privacy: 3
      max_idz: 5
      a: { type: integer }
      b: { type: int, lower: 5, upper: 1 }
      c: { type: int, lower: 0.5, upper: 1 }
      d: { type: float, lower: .nan, upper: .inf }
      e: { lower: 0 }
      f: { type: int, loewr: 0 }
      yes: { type: int }
      p: { type: int, private_id: true }
      q: { type: int, private_id: true }
    u: 7
  r:
    T: { x: { type: int } }
""",
    )
    for part in (
        "t max_ids", "t row_privacy", "t.max_idz", "t.a type", "t.b: lower", "t.c: has type int",
        "t.d lower", "t.d upper", "t.e: has no type", 't.f: unknown key "loewr"',
        "t.true: YAML reads", "several columns with private_id", "s.u: is empty", "r.T: is called",
    ):  # fmt: skip
        assert any(part in fault for fault in found), part


@pytest.mark.slow
@pytest.mark.parametrize(
    "metadata",
    [
        "", "3", "[1, 2]", "a: [", "a: {}", "a: {b: {}}", "a: 1\nb: 2", "engine: x",
        "a: &a [*a]", "[" * 5000, "\x00",
    ],
    ids=ascii,
)  # fmt: skip
def test_what_is_no_metadata_is_refused(tmp_path: Path, metadata: str) -> None:
    assert faults_of(tmp_path, metadata)


@pytest.mark.parametrize(
    ("metadata", "key", "line"),
    [
        (METADATA.replace("max_ids: 3", "max_ids: 3\n      max_ids: 30"), "max_ids", 7),
        (METADATA.replace("member:", '"age":'), "age", 16),
        (METADATA.replace("lower: 0, upper: 120.0", "lower: 0, lower: -9, upper: 1"), "lower", 12),
        (METADATA.replace("  other:", "  public:"), "public", 19),
        (METADATA.replace("pid: {", "pid: { private_id: false, "), "private_id", 11),
    ],
)
def test_a_key_that_stands_twice_is_refused_with_its_line(
    tmp_path: Path, metadata: str, key: str, line: int
) -> None:
    (fault,) = faults_of(tmp_path, metadata)
    assert f'has the key "{key}" twice, near line {line}' in fault


def test_a_merged_key_may_be_overridden(tmp_path: Path) -> None:
    merged = "a: { b: { t: { x: &x { type: int, lower: 0, upper: 9 }, y: { <<: *x, upper: 5 } } } }"
    assert "bounds = [0, 5]" in draft_of(tmp_path, merged)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(PolicyError):
            from_smartnoise(path)


@pytest.mark.parametrize("name", ['x"]\n[analyst.eve', "x\r[engine]", "\u202ex", 'x"', " x"])
def test_a_name_that_could_mislead_is_refused(tmp_path: Path, name: str) -> None:
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in name)
    with pytest.raises(PolicyError):
        table_of(tmp_path, f'row_privacy: true\n"{escaped}": {{ type: unknown }}')


def test_a_name_of_several_words_stays_one_key(tmp_path: Path) -> None:
    text = table_of(tmp_path, 'row_privacy: true\n"x = 1 # y": { type: int, lower: 0, upper: 1 }')
    found = tomllib.loads(text)["table"]["t"]["column"]
    assert found == {"x = 1 # y": {"type": "integer", "bounds": [0, 1]}}


def test_nothing_in_the_file_is_run(tmp_path: Path) -> None:
    made = tmp_path / "made"
    assert faults_of(tmp_path, f"a: !!python/object/apply:os.mkdir ['{made}']")
    assert not made.exists()


def test_without_the_extra_the_remedy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)  # as if it were not installed
    with pytest.raises(Refused) as caught:
        draft_of(tmp_path, METADATA)
    assert "sanql[smartnoise]" in caught.value.remedy


@pytest.mark.slow
def test_the_command_writes_the_draft_once(tmp_path: Path) -> None:
    text = draft_of(tmp_path, METADATA)
    command = [sys.executable, "-m", "sanql", "import", "smartnoise", "meta.yaml"]

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *more], cwd=tmp_path, check=False, capture_output=True, text=True, timeout=60
        )

    assert run().stdout == text
    assert run("-o", "policy.toml").returncode == 0
    assert (tmp_path / "policy.toml").read_text(encoding="utf-8") == text
    assert run("-o", "policy.toml").returncode == 2
    (tmp_path / "meta.yaml").write_text("3", encoding="utf-8")
    assert run().returncode == 2


def test_a_number_without_bounds_is_pointed_to_both_ways_of_having_them(tmp_path: Path) -> None:
    text = table_of(tmp_path, "row_privacy: true\na: { type: int }\nb: { type: string }")
    lines = {line.partition(" = ")[0]: line for line in text.splitlines() if " = { " in line}
    assert lines["a"].endswith('SUM and AVG need bounds, or bounds = "auto"')
    assert "auto" not in lines["b"]
