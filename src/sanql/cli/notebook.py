"""`%sanql` and `%%sanql` in notebooks: questions as cells, options as the command has them.

    %load_ext sanql
    %sanql connect https://san.example.org --token-file token
    %%sanql --epsilon 0.1 by_sex
    SELECT sex, COUNT(*) AS people FROM people GROUP BY sex

The answer is shown, and kept under the name that stands behind the options. Without `connect` the server
is the one that SANQL_SERVER and SANQL_TOKEN say.
"""

from __future__ import annotations

import keyword
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from sanql.cli.ask import question_options
from sanql.cli.failing import words_of
from sanql.cli.history import print_history
from sanql.cli.opening import ServerChoice, open_there
from sanql.cli.parameters import typed
from sanql.client import RemoteSan, connect_to_server
from sanql.errors import Refused, SanqlError
from sanql.visible import visible

_QUESTION = re.compile(r"\b(SELECT|WITH|FROM)\b", re.IGNORECASE)


def load_ipython_extension(shell: Any) -> None:
    """Give a notebook the magics; `%load_ext sanql` calls it."""
    magics = _Magics(shell.user_ns)
    shell.register_magic_function(magics.ask, magic_kind="line_cell", magic_name="sanql")


class _NotAnswered(Exception):
    """What a cell says in place of an answer: its cause and remedy, and nothing of San's insides."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class _Magics:
    """The magics of one notebook, which share a connection."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._san: RemoteSan | None = None

    def ask(self, line: str, cell: str | None = None) -> object:
        """Ask a question, or `connect` to a server; `budget` and `explain` tell before."""
        try:
            return self._ask(line.strip(), cell)
        except SanqlError as error:
            raise _NotAnswered(words_of(error)) from None
        except click.ClickException as error:
            raise _NotAnswered(visible(error.format_message(), lines=True)) from None
        except KeyboardInterrupt as interrupt:
            notes = getattr(interrupt, "__notes__", ["interrupted"])
            raise _NotAnswered("\n".join(notes)) from None

    def _ask(self, line: str, cell: str | None) -> object:
        if cell is not None:
            return self._question(line, cell)
        first, _, rest = line.partition(" ")
        if first in _ACTIONS:
            return _ACTIONS[first](self, rest)
        found = _QUESTION.search(line)
        if found is None:
            raise click.UsageError(
                f"write %sanql and a question, or one of {', '.join(sorted(_ACTIONS))}"
            )
        return self._question(line[: found.start()], line[found.start() :])

    def _question(self, line: str, sql: str) -> object:
        """Return the answer to a question, or its explanation, and keep it if a name is given."""
        given = _read(_cell, line)
        name, explain = given.pop("name"), given.pop("explain")
        if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
            raise Refused(
                "name_invalid",
                f"{name[:60]!r} is no name that Python could have",
                "write the options first, then a name for the answer, or none",
            )
        values = typed(given.pop("parameters"))
        san = self._connected()
        result = (san.explain if explain else san.query)(sql, parameters=values, **given)
        if name is not None:
            self._names[name] = result
        return result

    def _connected(self) -> RemoteSan:
        if self._san is None:
            self._san = connect_to_server()
        return self._san

    def _connect(self, rest: str) -> None:
        given = _read(_connection, rest)
        opened = open_there(ServerChoice(**given))
        if self._san is not None:
            self._san.close()
        self._san = opened

    def _budget(self, rest: str) -> object:
        return self._connected().budget()

    def _set_defaults(self, rest: str) -> object:
        given = _read(_defaults, rest)
        passed = {name: value for name, value in given.items() if value not in (None, False, ())}
        if passed.pop("parameters", None):
            raise click.UsageError("parameters are of one question: give them with it")
        return self._connected().defaults(**passed)

    def _history(self, rest: str) -> None:
        print_history(self._connected().history())

    def _schema(self, rest: str) -> object:
        return self._connected().schema()


_ACTIONS: dict[str, Callable[[_Magics, str], object]] = {
    "connect": _Magics._connect,
    "budget": _Magics._budget,
    "defaults": _Magics._set_defaults,
    "history": _Magics._history,
    "schema": _Magics._schema,
}


def _read(command: click.Command, line: str) -> dict[str, Any]:
    """Return what a line gives, by name."""
    try:
        return command.make_context(command.name, shlex.split(line)).params
    except ValueError:
        raise click.UsageError("a quotation mark is not closed") from None


@click.command("%%sanql", add_help_option=False)
@question_options
@click.option("--explain", is_flag=True)
@click.argument("name", required=False)
def _cell(**given: Any) -> None:
    """The line of a cell."""


@click.command("%sanql defaults", add_help_option=False)
@question_options
def _defaults(**given: Any) -> None:
    """The line that says what holds for every question that does not say otherwise."""


@click.command("%sanql connect", add_help_option=False)
@click.argument("server")
@click.option("--token-file", type=click.Path(path_type=Path))
@click.option("--dataset")
def _connection(**given: Any) -> None:
    """The line that says which server is asked."""
