"""SmartNoise's YAML metadata → the text of a policy to begin from.

What the metadata say is taken over, what only the owner can decide is left blank as in `draft`, and
what has no counterpart is said in a comment beside the place. Nothing written in the file becomes
TOML but through `toml_key` and `toml_text`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from sanql.errors import Fault, PolicyError, Refused
from sanql.policy.document import FILE_BYTES_MAX, WrittenFloat
from sanql.policy.drafting import dataset_section
from sanql.policy.keys import ROWS_MOST
from sanql.policy.section import Mistake, fold, quote, suggest
from sanql.policy.values import (
    integer_between,
    one_of,
    parse_column_name,
    parse_flag,
    parse_name,
    parse_number,
    show_number,
)
from sanql.visible import toml_key, toml_text

Parsed = TypeVar("Parsed")

_HEAD = """\
# A draft made from SmartNoise metadata; no row was read.
# Each "" is a decision that only you can make, and `sanql check` lists those still open.
# docs/policy.md explains every key.
"""
_TYPES = {
    "int": "integer",
    "float": "float",
    "string": "text",
    "boolean": "boolean",
    "datetime": "timestamp",
    "unknown": None,
}
_FLAGS = (
    "row_privacy",
    "sample_max_ids",
    "clamp_counts",
    "clamp_columns",
    "censor_dims",
    "use_dpsu",
)
_COUNTS = ("max_ids", "rows", "rows_exact")
_COLUMN_KEYS = (
    "type", "private_id", "lower", "upper", "nullable", "cardinality", "card", "missing_value",
    "sensitivity", "bounded",
)  # fmt: skip
# what a flag means that San does otherwise, at the value where it differs
_DIFFERENT = {
    ("sample_max_ids", False): "sample_max_ids = false: limits are enforced here, never believed",
    ("clamp_counts", True): "clamp_counts: ask for GREATEST(0, COUNT(*)), at no cost",
    ("clamp_columns", False): "clamp_columns = false: bounds are enforced here, never believed",
    ("censor_dims", False): "censor_dims = false: declare a domain for each key that is public; "
    "others are selected privately",
    ("use_dpsu", True): "use_dpsu: unknown keys are selected by a threshold on their units",
}


def from_smartnoise(path: Path) -> str:
    """Return the text of a policy for what the metadata describe, or raise with every fault."""
    content = _read(path)
    faults: list[Fault] = []
    databases = [key for key in content if key != "engine"]
    if len(databases) != 1:
        faults.append(Fault(_shown(path), "does not describe one database", "describe one a file"))
        raise PolicyError(faults)
    database = databases[0]
    name = _name(database, parse_name, "the database", faults) if database != "" else "dataset"
    tables = "".join(_tables(database, content[database], faults))
    if not tables and not faults:
        faults.append(Fault(_shown(path), "describes no table", "write database, schema and table"))
    if faults:
        raise PolicyError(faults)
    return _HEAD + dataset_section(name or "", "") + tables


class _Twice(ValueError):
    """A key stands twice in one mapping; which value is meant, nobody can say."""

    def __init__(self, key: str, line: int) -> None:
        super().__init__(f"has the key {quote(key)} twice, near line {line}")


def _strict(safe: Any) -> Any:
    """Return a loader as safe as the one given, for which a key that stands twice is an error."""

    class Loader(safe):  # type: ignore[misc]
        def compose_mapping_node(self, anchor: object) -> Any:
            node = super().compose_mapping_node(anchor)
            seen = set()
            for key, _ in node.value:
                if isinstance(key.value, str):
                    if (key.tag, key.value) in seen:
                        raise _Twice(key.value, key.start_mark.line + 1)
                    seen.add((key.tag, key.value))
            return node

    return Loader


def _read(path: Path) -> Mapping[object, object]:
    try:
        import yaml
    except ImportError:
        raise Refused(
            "extra_missing",
            "SmartNoise metadata are YAML, and PyYAML is not installed",
            "install it: pip install 'sanql[smartnoise]'",
        ) from None
    try:
        written = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, f"cannot be read: {error.strerror}", "name a file") from None
    if len(written) > FILE_BYTES_MAX:
        raise _unreadable(path, f"is larger than {FILE_BYTES_MAX:,} bytes", "split it")
    try:
        content = yaml.load(written.decode("utf-8-sig"), _strict(yaml.SafeLoader))  # noqa: S506
    except _Twice as twice:
        raise _unreadable(path, str(twice), "keep the one that is meant") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f" near line {mark.line + 1}" if mark is not None else ""
        raise _unreadable(path, f"is not YAML{place}", "mend it") from None
    if not isinstance(content, dict):
        raise _unreadable(path, "is not a mapping", "write database, schema, table and columns")
    return content


def _unreadable(path: Path, message: str, remedy: str) -> PolicyError:
    return PolicyError([Fault(_shown(path), message, remedy)])


def _shown(path: Path) -> str:
    return ascii(str(path))[1:-1]


def _tables(database: object, schemas: object, faults: list[Fault]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for schema, tables in _mapping(schemas, _place(database), faults).items():
        for table, content in _mapping(tables, _place(database, schema), faults).items():
            place = _place(database, schema, table)
            name = _name(table, parse_name, place, faults)
            described = _mapping(content, place, faults)
            if name is None or not described:
                continue
            if fold(name) in seen:
                faults.append(
                    Fault(
                        place,
                        f"is called like {seen[fold(name)]}, and a policy has no schemas",
                        "rename one, or write two policies",
                    )
                )
            seen[fold(name)] = place
            yield _table(name, place, described, faults)


def _table(name: str, place: str, described: Mapping[object, object], faults: list[Fault]) -> str:
    flags = {
        key: value
        for key in _FLAGS
        if (value := _parsed(described, key, parse_flag, place, faults)) is not None
    }
    max_ids = _parsed(described, "max_ids", integer_between(1, ROWS_MOST), place, faults)
    notes = [_DIFFERENT[flag] for flag in flags.items() if flag in _DIFFERENT]
    if "rows_exact" in described:
        notes.append('rows_exact: neighbours = "change-one" treats the number of units as known')
    columns = _Columns(place, faults)
    for column, facts in described.items():
        if column not in (*_FLAGS, *_COUNTS):
            columns.add(column, facts)
    lines = ["", f"[table.{toml_key(name)}]", *(f"# {note}" for note in notes)]
    lines += _unit(columns.units, flags.get("row_privacy", False), max_ids, place, faults)
    lines += ["", f"[table.{toml_key(name)}.column]", *columns.lines]
    return "\n".join(lines) + "\n"


def _unit(
    units: list[str], by_row: bool, max_ids: int | None, place: str, faults: list[Fault]
) -> list[str]:
    """Return the lines that say who is protected, blank where the metadata do not."""
    if len(units) > 1:
        named = ", ".join(map(quote, units))
        faults.append(Fault(place, f"has several columns with private_id: {named}", "keep one"))
    if by_row and not units:
        return ['privacy_unit = "row"']
    said = "max_ids" if max_ids is not None else "max_ids is not given, which means 1"
    rows = f"rows_per_unit_max = {max_ids or 1}  # {said}"
    if units and not by_row:
        return [f"privacy_unit = {toml_text(units[0])}", rows]
    if units:
        return [
            f"# row_privacy and a private_id are both given: {toml_text(units[0])} protects all rows of",
            '# one unit; "row" protects less, one row at a time, and has no rows_per_unit_max.',
            'privacy_unit = ""',
            rows,
        ]
    return [
        '# Neither row_privacy nor a private_id is given: "row" if each row is somebody else, or the',
        '# column that identifies them. "row" has no rows_per_unit_max.',
        'privacy_unit = ""',
        rows,
    ]


class _Columns:
    """The lines of a table's columns, and which of them identify the unit."""

    def __init__(self, place: str, faults: list[Fault]) -> None:
        self.lines: list[str] = []
        self.units: list[str] = []
        self._place = place
        self._faults = faults

    def add(self, column: object, content: object) -> None:
        """Read one column."""
        faults, place = self._faults, f"{self._place}.{_word(column)}"
        if not isinstance(content, dict):
            keys = ", ".join((*_FLAGS, *_COUNTS))
            faults.append(
                Fault(place, "is neither a column nor a key of a table", f"the keys are {keys}")
            )
            return
        name = _name(column, parse_column_name, place, faults)
        for key in content:
            if key not in _COLUMN_KEYS:
                faults.append(
                    Fault(place, f"unknown key {quote(key)}", suggest(str(key), _COLUMN_KEYS))
                )
        type_ = _parsed(content, "type", one_of(tuple(_TYPES)), place, faults)
        if content.get("type") is None:
            faults.append(Fault(place, "has no type", f"write one of {', '.join(_TYPES)}"))
        private = _parsed(content, "private_id", parse_flag, place, faults)
        low = _parsed(content, "lower", _number, place, faults)
        high = _parsed(content, "upper", _number, place, faults)
        if name is None or type_ is None:
            return
        if private:
            self.units.append(name)
            self.lines.append(f"# {toml_key(name)} identifies the unit: it is counted, never shown")
            return
        self._write(name, type_, content, low, high, place)

    def _write(
        self,
        name: str,
        type_: str,
        content: Mapping[object, object],
        low: Fraction | None,
        high: Fraction | None,
        place: str,
    ) -> None:
        ours = _TYPES[type_]
        if ours is None:
            self.lines.append(f"# {toml_key(name)} is left out: its type is unknown")
            return
        facts, notes = [f'type = "{ours}"'], list(_notes(content))
        if ours == "timestamp":
            notes.insert(0, 'or "date", if it has no time of day')
        if low is not None and high is not None and type_ in ("int", "float"):
            self._check(low, high, type_, place)
            facts.append(f"bounds = [{show_number(low)}, {show_number(high)}]")
        elif low is not None or high is not None:
            notes.append("lower and upper are bounds of a number, and need each other: left out")
        elif type_ in ("int", "float"):
            notes.append('no lower and upper: SUM and AVG need bounds, or bounds = "auto"')
        comment = f"  # {'; '.join(notes)}" if notes else ""
        self.lines.append(f"{toml_key(name)} = {{ {', '.join(facts)} }}{comment}")

    def _check(self, low: Fraction, high: Fraction, type_: str, place: str) -> None:
        if low > high:
            self._faults.append(Fault(place, "lower is above upper", "exchange them"))
        if type_ == "int" and (low.denominator, high.denominator) != (1, 1):
            self._faults.append(
                Fault(place, "has type int, and bounds that are no whole numbers", "round them")
            )


def _notes(content: Mapping[object, object]) -> Iterator[str]:
    """Yield what a column says that a policy cannot."""
    if content.get("missing_value") is not None:
        yield "missing_value: ask for COALESCE(column, value)"
    if content.get("sensitivity") is not None:
        yield "sensitivity: here it follows from bounds and limits"


def _place(*names: object) -> str:
    return ".".join(map(_word, names))


def _word(name: object) -> str:
    return toml_key(name) if isinstance(name, str) else quote(name)


def _mapping(content: object, place: str, faults: list[Fault]) -> Mapping[object, object]:
    if isinstance(content, dict) and content:
        return content
    faults.append(
        Fault(place, "is empty or not a mapping", "write database, schema, table, columns")
    )
    return {}


def _name(
    written: object, parse: Callable[[object], str], place: str, faults: list[Fault]
) -> str | None:
    """Return a name; YAML reads some words, such as yes and 2020, as something else than text."""
    if not isinstance(written, str):
        faults.append(
            Fault(place, f"YAML reads the name as {quote(written)}", "put the name in quotes")
        )
        return None
    return _parsed({"name": written}, "name", parse, place, faults)


def _parsed(
    content: Mapping[object, object],
    key: str,
    parse: Callable[[object], Parsed],
    place: str,
    faults: list[Fault],
) -> Parsed | None:
    """Return a value, or None where it is missing or wrong, which is then noted."""
    if key not in content or content[key] is None:
        return None
    try:
        return parse(content[key])
    except Mistake as mistake:
        faults.append(Fault(f"{place} {key}", str(mistake), mistake.remedy or "mend it"))
        return None


def _number(written: object) -> Fraction:
    """Return a number exactly as its decimal text says; YAML has 1e6 as a text, SmartNoise as 10^6."""
    if isinstance(written, float):
        return parse_number(WrittenFloat(repr(written)))
    if isinstance(written, str):
        return parse_number(WrittenFloat(written.strip()))
    return parse_number(written)
