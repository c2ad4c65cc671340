"""What a connection has set: San's own options, and what tools set because PostgreSQL has it.

`SET sanql.epsilon = 0.1` holds for every question of the connection that does not say otherwise in its
own clause. What PostgreSQL has and San has not is remembered and shown again, and does nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sanql.errors import ServerError
from sanql.options import read_options

PREFIX = "sanql."
_OPTIONS = (
    "epsilon",
    "delta",
    "accuracy",
    "confidence",
    "max_groups_contributed",
    "max_rows_contributed",
    "max_values_contributed",
    "min_privacy_units_per_group",
    "other",
    "null_group",
    "nonnegative",
    "rounded",
    "exact",
    "units_guessed",
    "rows_guessed",
    "even_if_empty",
)
_INTERVALS = "intervals"
_OTHERS_MAX = 100
_VALUE_MAX = 1_000
_VERSION = "15.0"  # where there is no catalogue that has one
_REPORTED = {
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "is_superuser": "off",
    "default_transaction_read_only": "on",
    "in_hot_standby": "off",
}

_FIXED = {name.lower(): value for name, value in _REPORTED.items()} | {
    "transaction_isolation": "read committed",
    "transactionisolationlevel": "read committed",
    "search_path": "public",
    "max_identifier_length": "63",
    "extra_float_digits": "1",
    "lc_collate": "C",
}


def reported_of(version: str) -> dict[str, str]:
    """Return what a connection is told at its beginning."""
    return {"server_version": f"{version or _VERSION} (SanQL)"} | _REPORTED


class Variables:
    """The variables of one connection; tools decide by the version of PostgreSQL what they ask."""

    def __init__(self, begun_with: Mapping[str, str], version: str = "") -> None:
        major, _, minor = (version or _VERSION).partition(".")
        self._fixed = _FIXED | {
            "server_version": reported_of(version)["server_version"],
            "server_version_num": f"{int(major) * 10_000 + int(minor or 0)}",
        }
        self._own: dict[str, str] = {}
        self._own_at_first: dict[str, str] = {}
        self._before: tuple[dict[str, str], dict[str, str]] | None = None  # the transaction
        self._local: dict[str, str | None] = {}
        self._others: dict[str, str] = {}
        self._begun_with = dict(begun_with)

    def begin(self, epsilon: str | None = None) -> None:
        """Take what the connection was begun with: variables by name, and those in its `options`.

        `epsilon` is what the policy says for whoever it is of.
        """
        if epsilon is not None:
            self.set(f"{PREFIX}epsilon", epsilon)
        for name, value in (*self._begun_with.items(), *_in_options(self._begun_with)):
            if name.startswith(PREFIX):
                self.set(name, value)
        self._own_at_first = dict(self._own)

    @property
    def options(self) -> dict[str, str]:
        """What is asked of every answer, as it was typed."""
        return {name: value for name, value in self._own.items() if name in _OPTIONS}

    @property
    def interval_columns(self) -> bool:
        """Whether intervals are columns of the answer."""
        return self._own.get(_INTERVALS) == "columns"

    def set(self, name: str, value: str | None) -> None:
        """Take a value; None is the one from the beginning. A value that means nothing is refused."""
        if value is not None and len(value) > _VALUE_MAX:
            raise _unfit(name, value, f"write at most {_VALUE_MAX} letters")
        if not name.startswith(PREFIX):
            self._set_other(name, value)
            return
        own = name.removeprefix(PREFIX)
        if own == _INTERVALS:
            if value not in (None, "columns", "none"):
                raise _unfit(name, value, "write columns or none")
        elif own not in _OPTIONS:
            raise _unknown(name)
        elif value is not None:
            read_options({}, {own: value})
        value = self._own_at_first.get(own) if value is None else value
        if value is None:
            self._own.pop(own, None)
        else:
            self._own[own] = value

    def set_for_transaction(self, name: str, value: str | None) -> None:
        """Take a value until the end of the transaction; outside of one it holds for nothing."""
        if self._before is not None:
            kept = (self._own if name.startswith(PREFIX) else self._others).copy()
            self.set(name, value)
            self._local[name] = kept.get(name.removeprefix(PREFIX))

    def begin_transaction(self) -> None:
        """Remember what is set now."""
        if self._before is None:
            self._before = dict(self._own), dict(self._others)

    def end_transaction(self, *, kept: bool) -> None:
        """Forget what was set in a transaction: all of it, or what was to hold no longer than that."""
        if self._before is not None and not kept:
            self._own, self._others = self._before
        for name, value in self._local.items() if kept else ():
            values = self._own if name.startswith(PREFIX) else self._others
            values.pop(name.removeprefix(PREFIX), None)
            if value is not None:
                values[name.removeprefix(PREFIX)] = value
        self._before, self._local = None, {}

    def reset(self, name: str) -> None:
        """Go back to the beginning, with one of them or with all."""
        if name != "all":
            self.set(name, None)
            return
        self._own = dict(self._own_at_first)
        self._others.clear()

    def shown(self, name: str) -> str:
        """Return a value; a name that nobody knows is refused."""
        if name.startswith(PREFIX):
            own = name.removeprefix(PREFIX)
            if own in (*_OPTIONS, _INTERVALS):
                return self._own.get(own, "")
        elif name in self._others:
            return self._others[name]
        elif name in self._fixed:
            return self._fixed[name]
        elif name in self._begun_with:
            return self._begun_with[name]
        raise _unknown(name)

    def _set_other(self, name: str, value: str | None) -> None:
        if name in (*_OPTIONS, _INTERVALS):
            raise _unfit(name, value, f"write SET {PREFIX}{name}, which is San's")
        if value is None:
            self._others.pop(name, None)
        elif name == "client_encoding" and value.upper().replace("-", "") not in (
            "UTF8",
            "UNICODE",
        ):
            raise _unfit(name, value, "set it to UTF8, which San speaks")
        elif name not in self._others and len(self._others) >= _OTHERS_MAX:
            raise _unfit(name, value, f"set at most {_OTHERS_MAX} variables, or RESET ALL")
        else:
            self._others[name] = value


def _in_options(begun_with: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    r"""Yield the variables in what PostgreSQL calls options: `-c name=value` or `--name=value`.

    >>> [*_in_options({"options": r"-c sanql.accuracy=2%\ of\ 100 --sanql.delta=0 -csanql.epsilon=1"})]
    [('sanql.accuracy', '2% of 100'), ('sanql.delta', '0'), ('sanql.epsilon', '1')]
    """
    words = re.findall(r"(?:\\.|[^\s\\])+", begun_with.get("options", ""))
    plain = [re.sub(r"\\(.)", r"\1", word) for word in words]
    for before, word in zip(["", *plain], plain, strict=False):
        sign = next((sign for sign in ("--", "-c") if word.startswith(sign)), "")
        if "=" in word and (sign or before == "-c"):
            name, _, value = word.removeprefix(sign).partition("=")
            yield name.lower(), value


def _unfit(name: str, value: str | None, remedy: str) -> ServerError:
    return ServerError("variable_unfit", f"{name[:60]} cannot be {str(value)[:40]!r}", remedy)


def _unknown(name: str) -> ServerError:
    there = ", ".join(PREFIX + each for each in (*_OPTIONS, _INTERVALS))
    return ServerError(
        "variable_unknown",
        f"there is no variable {name[:60]!r}",
        f"there are: {there}, sanql.budget",
    )
