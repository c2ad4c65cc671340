"""Data files → the text of a policy to begin from, with the owner's decisions left blank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from sanql.errors import Fault, PolicyError
from sanql.policy.columns import COLUMN_TYPES
from sanql.policy.presets import PRESETS, Preset, units_by_name
from sanql.policy.proposals import SeenColumn, SeenTables, proposals_for
from sanql.policy.schema import (
    ColumnSchema,
    TableSchema,
    Unstated,
    Unsupported,
    read_schemas,
)
from sanql.policy.section import Mistake, fold, quote
from sanql.policy.source import FILE_SUFFIXES
from sanql.policy.values import parse_column_name, show_number
from sanql.visible import toml_key, toml_text

_HEAD = """\
# A draft made from the names and types of the columns; no row was read. (The names in a CSV file
# are its first line, so that must not be a row.)
# Each "" is a decision that only you can make, and `sanql check` lists those still open.
# docs/policy.md explains every key.
"""

_HEAD_LOOKED = """\
# A draft made by looking at the rows. What a comment calls SEEN is proposed from what they hold, which is
# no reason that a guarantee can rest on: replace it by what you know of the subject from elsewhere.
# That the rows were looked at is on record beside the ledger, and values written from here on are marked
# as chosen looking at the data, in certificates, too.
# Each "" is a decision that only you can make, and `sanql check` lists those still open.
# docs/policy.md explains every key.
"""

_FOR_LOOKING = """\
[dataset]
name = {name}
source = {source}
neighbours = "add-remove"
budget = {{ epsilon = 1, delta = 0 }}
accounting = "pure"
"""

_DATASET = """
[dataset]
name = {name}
source = {source}  # as seen from the folder of this file

# What is hidden about whoever is protected:
# "add-remove": whether they are in the data at all. "change-one": what their data are, while the
# number of units is known.
neighbours = {neighbours}

# The most that all answers to all analysts together may ever reveal; 1 is strong, 10 weak.
# delta is the chance that the promise fails: far below one in the number of units, such as 1e-6.
# In words instead: {{ attacker = {{ prior = 0.1, posterior_at_most = 0.25 }}, delta = 1e-9 }} says that
# whoever holds a fact about a person for 10 % likely may come to hold it for 25 % likely at most.
budget = {budget}

# "pure": epsilons add up. "renyi": many small questions cost less; needs a delta above 0.
accounting = {accounting}

# What San may spend, once for each, on finding bounds of columns that have bounds = "auto".
# auto_bounds = {{ epsilon = 0.05 }}

# Who may ask. A budget of their own is optional.
# [analyst.NAME]
# budget = {{ epsilon = 1.0, delta = 1e-7 }}
"""

_TABLE = """
[table.{name}]
# Who is protected: "row" if each row is somebody else, or the column that identifies them; if a
# foreign key leads to them through another table, {{ via = "order_id", references = "orders" }}.
# If the table is about nobody, write public = true in place of the next keys.
privacy_unit = {unit}
# The most rows of one unit that count in an answer. Remove the line for "row"; if every unit has
# one row, write unique = true in its place; if you cannot say, write "undecided" and let
# `sanql suggest` propose a number.
{rows}
# Analysts may use the columns listed; remove what they should not. SUM and AVG need
# bounds = [lowest, highest], taken from what can be and not from the data, or bounds = "auto" to have
# San find them privately; a domain = [...] lists groups that are public.
[table.{name}.column]
"""


def draft(
    files: Sequence[Path],
    name: str,
    preset: str | None = None,
    seen: SeenTables | None = None,
) -> str:
    """Return the text of a policy for the files, from their schemas alone, or from what was `seen`, too.

    Loading it unchanged reports each decision that is still blank; a preset makes those that suit a kind
    of data, and says why. A folder stands for all
    tables in it; several files must lie in one folder, which then is the source.
    """
    paths = [Path(file) for file in files]
    if not paths:
        raise PolicyError([Fault("files", "no file is named", "name the files that hold the data")])
    tables = _tables(paths)
    chosen = None if preset is None else PRESETS[preset]
    opening = _HEAD if seen is None else _HEAD_LOOKED
    opening += dataset_section(name, _common_source(paths), chosen)
    found = seen or {}
    return opening + "".join(_draft_table(t, chosen, found.get(t.name, {})) for t in tables)


def look_form(files: Sequence[Path], name: str) -> str:
    """Return the text of a policy by which an owner's rows are looked at: columns as they are found."""
    tables = _tables(files)
    opening = _FOR_LOOKING.format(name=toml_text(name), source=toml_text(_common_source(files)))
    return opening + "".join(f"[table.{toml_key(t.name)}]\npublic = true\n" for t in tables)


def _tables(paths: Sequence[Path]) -> list[TableSchema]:
    tables = [table for path in paths for table in read_schemas(path)]
    _check_names(tables)
    return tables


def dataset_section(name: str, source: str, preset: Preset | None = None) -> str:
    """Return the section of the whole dataset; the owner's decisions are blank, or a preset's."""
    return _DATASET.format(
        name=toml_text(name),
        source=toml_text(source),
        neighbours='""' if preset is None else preset.neighbours,
        budget='{ epsilon = "", delta = "" }' if preset is None else preset.budget,
        accounting='""' if preset is None else preset.accounting,
    )


def _common_source(paths: Sequence[Path]) -> str:
    if len(paths) == 1:
        return paths[0].as_posix()
    parents = {path.parent for path in paths}
    if len(parents) > 1 or any(path.is_dir() or path.suffix.lower() == ".duckdb" for path in paths):
        raise PolicyError(
            [
                Fault(
                    "files",
                    "a policy has one source, and these are several",
                    f"put the files ({', '.join(FILE_SUFFIXES[:2])}) into one folder",
                )
            ]
        )
    return f"{parents.pop().as_posix()}/"


def _check_names(tables: Sequence[TableSchema]) -> None:
    names: dict[str, str] = {}
    for table in tables:
        if fold(table.name) in names:
            raise PolicyError(
                [
                    Fault(
                        "files",
                        f"two tables would be called {quote(table.name)}",
                        "rename one: SQL does not tell names apart by case",
                    )
                ]
            )
        names[fold(table.name)] = table.name
    if not tables:
        raise PolicyError([Fault("files", "no table is found", "name files that hold tables")])


def _draft_table(
    table: TableSchema, preset: Preset | None, looked: Mapping[str, SeenColumn]
) -> str:
    lines: list[str] = []
    seen: set[str] = set()
    for column in table.columns:
        line = _draft_column(column, looked.get(column.name))
        lines.append(f"# twice in the source: {line}" if column.name in seen else line)
        seen.add(column.name)
    unit, rows = _unit_and_rows(table, preset, looked)
    opening = _TABLE.format(name=toml_key(table.name), unit=unit, rows=rows)
    return opening + "\n".join(lines) + "\n"


def _unit_and_rows(
    table: TableSchema, preset: Preset | None, looked: Mapping[str, SeenColumn]
) -> tuple[str, str]:
    """Return what is written of the unit and of its rows: proposals are marked, the rest is blank."""
    likely = units_by_name([column.name for column in table.columns])
    rows = 'rows_per_unit_max = ""\n' if preset is None else f"{preset.rows}\n" * bool(preset.rows)
    if preset is not None and preset.unit is not None:
        return preset.unit, rows
    if preset is not None and len(likely) == 1:
        return f"{toml_text(likely[0])}  # proposed, by its name: is it whoever is protected?", rows
    varied = [name for name, column in looked.items() if column.likely_unit and name not in likely]
    remarks = [
        f"{how} it might be: {', '.join(map(toml_text, names))}"
        for how, names in (("by their names", likely), ("SEEN to differ enough,", varied))
        if names
    ]
    return "  # ".join(['""', "; ".join(remarks)]) if remarks else '""', rows


def _draft_column(column: ColumnSchema, seen: SeenColumn | None = None) -> str:
    key = toml_key(column.name)
    if not column.name.strip():
        return "# a column without a name is left out: often the rows' numbers, which say nothing"
    if seen is not None and not _may_be_named(column.name):
        return f"# {key} is left out: a policy cannot have that name; rename it in the data"
    match column.type:
        case Unsupported():
            return f"# {key} is left out: analysts cannot use its type (a privacy_unit may have it)"
        case Unstated() if seen is not None:
            return _seen_column(key, seen, None, "type")
        case str() if seen is not None and seen.type == column.type:
            return _seen_column(key, seen, column.precision)
        case Unstated():
            return f'{key} = {{ type = "" }}  # {", ".join(COLUMN_TYPES)}'
        case str() as type if column.precision is not None:
            step = show_number(column.precision)
            return f'{key} = {{ type = "{type}", precision = {step} }}'
        case str() as type:
            return f'{key} = {{ type = "{type}" }}'


def _may_be_named(name: str) -> bool:
    try:
        return bool(parse_column_name(name))
    except Mistake:
        return False


def _seen_column(key: str, seen: SeenColumn, precision: Fraction | None, *types: str) -> str:
    """Return a column's line; what was proposed by looking at its values is named in a comment."""
    written = {"type": f'"{seen.type}"'}
    if precision is not None:
        written["precision"] = show_number(precision)
    proposed = proposals_for(seen, precision)
    line = ", ".join(f"{name} = {value}" for name, value in (written | proposed).items())
    told = ", ".join([*types, *proposed])
    return f"{key} = {{ {line} }}" + (f"  # SEEN in the rows: {told}" if told else "")
