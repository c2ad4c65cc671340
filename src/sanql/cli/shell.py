"""`sanql shell`: questions one after the other, each with its price before it is paid.

A question ends with a semicolon, on one line or several. What it costs and how exact it will be is shown,
and it is asked once that is agreed to; what is free is answered at once. Keys up and down bring back what
was asked before: that is the history of the account, so nothing that was typed is written anywhere else,
and a text that is erased is gone from here too.
"""

from __future__ import annotations

import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sanql.cli.ask import question_options, write_answer
from sanql.cli.completion import completing, unremembered
from sanql.cli.failing import reported, words_of
from sanql.cli.history import print_history
from sanql.cli.opening import POLICY, anywhere, open_there, open_to_measure, place_of
from sanql.cli.parameters import typed
from sanql.cli.saying import say
from sanql.errors import SanqlError
from sanql.interrupts import noting_charges_on_interrupt
from sanql.question_texts import split_questions
from sanql.visible import visible

if TYPE_CHECKING:
    from sanql.client import RemoteSan
    from sanql.results import Explanation
    from sanql.san import San

PROMPT, FURTHER = "sanql> ", "   ...> "
FORMS = ("table", "bars", "json", "csv")
HELP = """\
A question ends with a semicolon. Its price is shown before it is asked; what is free is answered at once.
  .schema           what can be asked about
  .budget           what is spent, and what is left
  .history [N]      what you have asked, or the answer to number N again, for free
  .set OPTIONS      what holds for every question, as for the command query: .set -e 0.1 --confidence 0.9
  .explain SQL      all that is known of an answer before it is asked
  .format FORM      table, bars, json or csv
  .pay always       ask without a question about the price; .pay ask takes it back
  .help  .quit"""


@click.command()
@POLICY
@click.option("--analyst", "-a", help="Who asks.")
@anywhere
@question_options
def shell(policy: Path, analyst: str | None, parameters: tuple[str, ...], **options: Any) -> None:
    """Ask one question after the other, each with its price before it is paid."""
    if parameters:
        raise click.UsageError("values of parameters belong to one question; write them into it")
    place = place_of(options, analyst)
    given = {name: value for name, value in options.items() if value is not None}
    opened = (
        partial(open_to_measure, policy, analyst) if place is None else partial(open_there, place)
    )
    with reported("table"), opened() as san:
        Shell(san, given).run()


class Shell:
    """One sitting: what holds for its questions, and the words that are no questions."""

    def __init__(self, san: San | RemoteSan, options: dict[str, Any]) -> None:
        self._san = san
        self._form = "table"
        self._always = False
        self._words: dict[str, Callable[[str], object]] = {
            ".schema": lambda _: say(str(san.schema())),
            ".budget": lambda _: self._print_balances(),
            ".history": self._history,
            ".set": self._set,
            ".explain": lambda sql: say(str(san.explain(sql.rstrip("; ")))),
            ".format": self._set_form,
            ".pay": self._set_pay,
            ".help": lambda _: say(HELP),
        }
        san.defaults(**options)

    def run(self) -> None:
        """Read and answer until the end of what is typed."""
        texts = [entry.sql for entry in self._san.history() if entry.sql and not entry.purpose]
        with completing(self._san.schema(), [*self._words, ".quit"], texts):
            if sys.stdin.isatty():
                say("Questions end with a semicolon; .help says what else there is.")
            for text in self._texts():
                with _told():
                    self._do(text)

    def _texts(self) -> Iterator[str]:
        """Yield questions, and the words that are none; an interrupt forgets what was begun."""
        begun = ""
        while True:
            try:
                line = input(FURTHER if begun else PROMPT)
            except EOFError:
                return
            except KeyboardInterrupt:
                begun = ""
                say("")
                continue
            begun = f"{begun}\n{line}" if begun else line.strip()
            if begun in (".quit", ".exit"):
                return
            if begun.startswith("."):
                yield begun
                begun = ""
            elif begun.rstrip().endswith(";") and _is_whole(begun):
                yield from split_questions(begun)
                begun = ""

    def _do(self, text: str) -> None:
        word, _, rest = text.partition(" ")
        if not word.startswith("."):
            self._ask(text)
        elif word in self._words:
            self._words[word](rest.strip())
        else:
            raise click.UsageError(f"{word[:40]} is no word of the shell; .help lists them")

    def _ask(self, sql: str) -> None:
        """Show the price of a question, and ask it once that is agreed to."""
        explained = self._san.explain(sql)
        if not _is_free(explained) and not self._always:
            say(_price_in_words(explained))
            agreed = unremembered("ask it? [y/N] ").strip().lower()
            if agreed not in ("y", "yes"):
                say("not asked; nothing was charged")
                return
        with _waiting():
            answer = self._san.query(sql)
        write_answer(answer, self._form)

    def _history(self, number: str) -> None:
        if number:
            write_answer(self._san.read_again(int(number)), self._form)
        else:
            print_history(self._san.history())

    def _set(self, line: str) -> None:
        given = _options.make_context(".set", shlex.split(line)).params
        typed(given.pop("parameters"))
        passed = {name: value for name, value in given.items() if value is not None}
        known = self._san.defaults(**passed)
        say(", ".join(f"{name} = {value}" for name, value in known.items()) or "nothing is set")

    def _set_form(self, form: str) -> None:
        if form not in FORMS:
            raise click.UsageError(f"a form is one of {', '.join(FORMS)}")
        self._form = form

    def _set_pay(self, when: str) -> None:
        if when not in ("always", "ask"):
            raise click.UsageError("write .pay always, or .pay ask")
        self._always = when == "always"

    def _print_balances(self) -> None:
        from sanql.cli.tables import print_balances

        print_balances(self._san.balances())


@click.command(".set", add_help_option=False)
@question_options
def _options(**given: Any) -> None:
    """The line that says what holds for every question that does not say otherwise."""


def _is_whole(text: str) -> bool:
    """Return whether a text's last semicolon ends a question, and stands in no text or comment."""
    return bool(split_questions(text)) and len(split_questions(f"{text} X")) > len(
        split_questions(text)
    )


def _is_free(explained: Explanation | Any) -> bool:
    charge = explained.charge
    return bool(explained.cached or not (charge.epsilon or charge.delta))


def _price_in_words(explained: Explanation | Any) -> str:
    """Return the price of a question, and how wide its intervals will be."""
    lines = str(explained).splitlines()
    widths = [line for line in lines[1:] if line.startswith("  ") and "±" in line]
    return "\n".join([lines[0], *widths])


@contextmanager
def _told() -> Iterator[None]:
    """Say what goes wrong with one question, and go on."""
    try:
        with noting_charges_on_interrupt():
            yield
    except SanqlError as error:
        say(words_of(error), err=True)
    except click.ClickException as error:
        say(visible(error.format_message(), lines=True), err=True)
    except ValueError:
        say("that is no whole number, or a quotation mark is not closed", err=True)
    except EOFError:
        say("not asked; nothing was charged")
    except KeyboardInterrupt as interrupt:
        for note in getattr(interrupt, "__notes__", ["interrupted; nothing was charged"]):
            say(note, err=True)


@contextmanager
def _waiting() -> Iterator[None]:
    """Say how long a question has been computed, second by second, where somebody looks."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()

    def count() -> None:
        seconds = 0
        while not done.wait(1):
            seconds += 1
            click.echo(f"computing for {seconds} s …\r", nl=False, err=True)
        if seconds:
            click.echo(" " * 30 + "\r", nl=False, err=True)

    counting = threading.Thread(target=count, daemon=True)
    counting.start()
    try:
        yield
    finally:
        done.set()
        counting.join()
