"""Data files → the text of a policy to begin from, with the owner's decisions left blank."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sanql.errors import Fault, PolicyError
from sanql.policy.columns import COLUMN_TYPES
from sanql.policy.presets import PRESETS, Preset, units_by_name
from sanql.policy.schema import (
    ColumnSchema,
    TableSchema,
    Unstated,
    Unsupported,
    read_schemas,
)
from sanql.policy.section import fold, quote
from sanql.policy.source import FILE_SUFFIXES
from sanql.policy.values import show_number
from sanql.visible import toml_key, toml_text

_HEAD = """\
# A draft made from the names and types of the columns; no row was read. (The names in a CSV file
# are its first line, so that must not be a row.)
# Each "" is a decision that only you can make, and `sanql check` lists those still open.
# docs/policy.md explains every key.
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


def draft(files: Sequence[Path], name: str, preset: str | None = None) -> str:
    """Return the text of a policy for the files, from their schemas alone.

    Loading it unchanged reports each decision that is still blank; a preset makes those that suit a kind
    of data, and says why. A folder stands for all
    tables in it; several files must lie in one folder, which then is the source.
    """
    paths = [Path(file) for file in files]
    if not paths:
        raise PolicyError([Fault("files", "no file is named", "name the files that hold the data")])
    tables = [table for path in paths for table in read_schemas(path)]
    _check_names(tables)
    chosen = None if preset is None else PRESETS[preset]
    opening = _HEAD + dataset_section(name, _common_source(paths), chosen)
    return opening + "".join(_draft_table(table, chosen) for table in tables)


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


def _draft_table(table: TableSchema, preset: Preset | None) -> str:
    lines: list[str] = []
    seen: set[str] = set()
    for column in table.columns:
        line = _draft_column(column)
        lines.append(f"# twice in the source: {line}" if column.name in seen else line)
        seen.add(column.name)
    unit, rows = _unit_and_rows(table, preset)
    opening = _TABLE.format(name=toml_key(table.name), unit=unit, rows=rows)
    return opening + "\n".join(lines) + "\n"


def _unit_and_rows(table: TableSchema, preset: Preset | None) -> tuple[str, str]:
    """Return what is written of the unit and of its rows: proposals are marked, the rest is blank."""
    likely = units_by_name([column.name for column in table.columns])
    rows = 'rows_per_unit_max = ""\n' if preset is None else f"{preset.rows}\n" * bool(preset.rows)
    if preset is not None and preset.unit is not None:
        return preset.unit, rows
    if preset is not None and len(likely) == 1:
        return f"{toml_text(likely[0])}  # proposed, by its name: is it whoever is protected?", rows
    named = ", ".join(map(toml_text, likely))
    return f'""{f"  # by their names it might be: {named}" if likely else ""}', rows


def _draft_column(column: ColumnSchema) -> str:
    key = toml_key(column.name)
    if not column.name.strip():
        return "# a column without a name is left out: often the rows' numbers, which say nothing"
    match column.type:
        case Unsupported():
            return f"# {key} is left out: analysts cannot use its type (a privacy_unit may have it)"
        case Unstated():
            return f'{key} = {{ type = "" }}  # {", ".join(COLUMN_TYPES)}'
        case str() as type if column.precision is not None:
            step = show_number(column.precision)
            return f'{key} = {{ type = "{type}", precision = {step} }}'
        case str() as type:
            return f'{key} = {{ type = "{type}" }}'
