"""When an owner has looked at the data, and which values of the policy were changed since.

The guarantee takes the policy as given. A bound, a domain, a limit or a budget that is written after
looking at rows may be what it is because of somebody's row, so it is outside the guarantee, and whoever
relies on that is told. To look leaves a line in the file NAME.looks beside the ledger, before a row is
read: when, with which command, by whom and, the first time, the values that the policy had. Values that
are others by now, and those of tables and columns that came later, count as chosen looking at the data.

Each line ends with a hash of all before it, so that none is changed or left out in passing. Who may write
the file can write another: it is the owner's own word, like the policy.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, assert_never

from sanql.account import author_named
from sanql.errors import Fault, PolicyError
from sanql.policy import Budget, Column, Domain, ListedDomain, Policy, Table, TableDomain, Value

FORM = 1
_LIMITS = ("rows_per_unit_max", "rows_per_group_max", "groups_per_unit_max")


@dataclass(frozen=True)
class Look:
    """One time that rows were looked at: when, by which command, and who ran it."""

    time: str
    command: str
    author: str


@dataclass(frozen=True)
class Looks:
    """All times that rows were looked at, and the values that the policy had before the first."""

    times: tuple[Look, ...] = ()
    values: Mapping[str, Any] | None = None


def looks_path(policy: Policy) -> Path:
    """Return the file beside the ledger that says when the data were looked at."""
    return policy.ledger.with_suffix(".looks")


def record_look(policy: Policy, command: str, *, drafted: bool = False) -> None:
    """Put on record that the data are looked at; call it before a row is read.

    A policy that is `drafted` while looking has had no values before.
    """
    path = looks_path(policy)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(path, flags, 0o600), "r+", encoding="utf-8") as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX)
            before = file.read()
            known = _read(before, path)
            said: dict[str, Any] = {
                "form": FORM,
                "time": datetime.now(UTC).isoformat(timespec="seconds"),
                "command": command,
                "author": author_named(None),
            }
            if known.values is None:
                said["values"] = {} if drafted else _values(policy)
            file.write(_line(said, before))
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        raise _unusable(path, "cannot be written to", "see to its rights") from None


def looks_of(policy: Policy) -> Looks:
    """Return when the data were looked at; PolicyError where that cannot be read."""
    path = looks_path(policy)
    try:
        return _read(path.read_text(encoding="utf-8"), path)
    except FileNotFoundError:
        return Looks()
    except (OSError, UnicodeError):
        raise _unusable(path, "cannot be read", "see to its rights") from None


def chosen_looking(policy: Policy) -> tuple[str, ...]:
    """Return the keys of the policy whose values are others than before the data were looked at."""
    before = looks_of(policy).values
    if before is None:
        return ()
    return tuple(name for name, value in _values(policy).items() if before.get(name) != value)


def chosen_in_words(policy: Policy) -> tuple[str, ...]:
    """Return a sentence for a certificate on values chosen looking at the data, if there are any."""
    chosen = chosen_looking(policy)
    if not chosen:
        return ()
    return (
        "chosen looking at the data, and outside the guarantee, which takes values of the policy as"
        f" given: {', '.join(chosen)}",
    )


def _read(text: str, path: Path) -> Looks:
    times: list[Look] = []
    values: Mapping[str, Any] | None = None
    before = ""
    for line in text.splitlines(keepends=True):
        try:
            said = json.loads(line)
            own = said.pop("sha256")
            if said["form"] != FORM:
                raise _unusable(path, f"is of a form {said['form']!r} that is not known", _NEWER)
            if own != _hash(said, before):
                raise ValueError
            times.append(Look(said["time"], said["command"], said["author"]))
            values = said.get("values") if values is None else values
        except (ValueError, KeyError, TypeError):
            raise _unusable(path, "is not as it was written", _RESTORE) from None
        before += line
    return Looks(tuple(times), values)


_NEWER = "open it with the version that wrote it, or a newer one"
_RESTORE = "put it back from where the ledger is kept, too"


def _line(said: Mapping[str, Any], before: str) -> str:
    return json.dumps({**said, "sha256": _hash(said, before)}, sort_keys=True) + "\n"


def _hash(said: Mapping[str, Any], before: str) -> str:
    text = before + json.dumps(said, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _unusable(path: Path, what: str, remedy: str) -> PolicyError:
    return PolicyError([Fault("dataset.ledger", f"the file {path.name} beside it {what}", remedy)])


def _values(policy: Policy) -> dict[str, Any]:
    """Return what an owner chooses, by its key in the policy, as plain data."""
    budgets = {"dataset.budget": _budget(policy.budget)}
    budgets |= {f"unit.{name}.budget": _budget(each.budget) for name, each in policy.kinds.items()}
    of_tables = (pair for table in policy.tables.values() for pair in _of_table(table))
    return budgets | {name: value for name, value in of_tables if value is not None}


def _budget(budget: Budget) -> list[str]:
    return [str(budget.epsilon), str(budget.delta)]


def _of_table(table: Table) -> Iterator[tuple[str, Any]]:
    place = f"table.{table.name}"
    if not table.public:
        yield from ((f"{place}.{key}", getattr(table, key)) for key in _LIMITS)
        if table.second is not None:
            yield f"{place}.rows_per_group_max.{table.second.kind}", table.second.rows_per_group_max
    for column in table.columns.values():
        yield from _of_column(f"{place}.column.{column.name}", column)


def _of_column(place: str, column: Column) -> Iterator[tuple[str, Any]]:
    yield f"{place}.bounds", _ends(column.bounds)
    yield f"{place}.total_bounds", _ends(column.total_bounds)
    yield f"{place}.domain", _domain(column.domain)
    yield f"{place}.nullable", None if column.nullable else False


def _ends(ends: tuple[Value, Value] | tuple[Fraction, Fraction] | None) -> list[str] | None:
    return None if ends is None else [_text(end) for end in ends]


def _domain(domain: Domain | None) -> list[str] | str | None:
    match domain:
        case None:
            return None
        case ListedDomain(values):
            return sorted(_text(value) for value in values)
        case TableDomain(table, column):
            return f"{table}.{column}"
        case _:
            assert_never(domain)


def _text(value: Value) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)
