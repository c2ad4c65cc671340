"""`sanql query` and `sanql explain`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sanql.cli.failing import reported
from sanql.cli.opening import POLICY, anywhere, open_here, open_there, open_to_measure, place_of
from sanql.cli.parameters import typed
from sanql.cli.saying import say, say_json
from sanql.options import OPTIONS, Option

if TYPE_CHECKING:
    from sanql.results import Answer

F = TypeVar("F", bound=Callable[..., Any])


def asking(forms: list[str]) -> Callable[[F], F]:
    """Give a command the options that go with a question, and some of its own."""
    form = click.option(
        "--format", "form", type=click.Choice(forms), default="table", show_default=True
    )

    def decorate(command: F) -> F:
        command = question_options(form(click.argument("sql")(command)))
        return POLICY(click.option("--analyst", "-a", help="Who asks.")(anywhere(command)))

    return decorate


def question_options(command: F) -> F:
    """Give a command the options of a question, which are those of every door."""
    values = click.option(
        "--param",
        "parameters",
        multiple=True,
        metavar="NAME=VALUE",
        help="A value for $NAME, :NAME or, by number, ?; numbers, true, false and null are "
        "read as such, NAME:text=…, :date=… or :timestamp=… says otherwise. Repeatable.",
    )
    command = values(command)
    for option in map(_option, reversed(OPTIONS)):
        command = option(command) if option is not None else command
    return command


def _option(option: Option) -> Callable[[F], F] | None:
    """Return an option of requests as one of a command, or None of one that only texts have."""
    if not option.flags:
        return None
    if option.switch:
        return click.option(
            *option.flags, option.name, is_flag=True, default=None, help=option.help
        )
    return click.option(*option.flags, option.name, help=option.help)


def _text(sql: str) -> str:
    """Return the question, read from the standard input for -; a file's name is none."""
    if sql.lower().endswith(".sql") and len(sql.split()) == 1:
        raise click.UsageError(f"{sql} is the name of a file; to ask what it holds: - < {sql}")
    return sys.stdin.read() if sql == "-" else sql


@click.command()
@asking(["table", "json", "csv", "arrow", "bars"])
@click.option(
    "--plot",
    "picture",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Draw the answer too: .png, .svg or .pdf, or .json for Vega-Lite.",
)
def query(
    policy: Path,
    analyst: str | None,
    form: str,
    sql: str,
    parameters: tuple[str, ...],
    picture: Path | None,
    **options: Any,
) -> None:
    """Ask SQL (or - to read it) and pay for the answer; an identical question is free."""
    place = place_of(options, analyst)
    with reported(form):
        values = typed(parameters)
        with open_to_measure(policy, analyst) if place is None else open_there(place) as san:
            answer = san.query(_text(sql), parameters=values, **options)
        write_answer(answer, form)
        if picture is not None:
            _draw(answer, picture)


def write_answer(answer: Answer, form: str) -> None:
    """Write an answer in a form to the standard output, and beside it what the form does not carry."""
    match form:
        case "json":
            click.echo(answer.to_json())
        case "csv":
            click.echo(answer.to_csv(), nl=False)
            _say_beside(answer)
        case "arrow":
            from sanql.results import need

            table = answer.table
            with need("pyarrow").ipc.new_stream(sys.stdout.buffer, table.schema) as writer:
                writer.write_table(table)
            _say_beside(answer)
        case "bars":
            say(answer.to_text_bars())
        case _:
            from sanql.cli.tables import print_answer

            print_answer(answer)


def _draw(answer: Answer, picture: Path) -> None:
    """Write a picture of an answer to a file: Vega-Lite where it ends in .json."""
    if picture.suffix.lower() == ".json":
        text = json.dumps(answer.to_vega_lite(), indent=1, ensure_ascii=False)
        picture.write_text(text + "\n", encoding="utf-8")
    else:
        answer.plot(picture)


def _say_beside(answer: Answer) -> None:
    """Say beside the rows what they do not carry: limits, the price and what is left."""
    for line in answer.footer():
        say(line, err=True)


@click.command()
@asking(["table", "json"])
@click.option("--sql", "show_sql", is_flag=True, help="Show what would be sent to the engine too.")
@click.option(
    "--prior",
    type=click.FloatRange(0, 1),
    help="A belief: what it may become after this answer, and after everything asked so far.",
)
def explain(
    policy: Path,
    analyst: str | None,
    form: str,
    sql: str,
    parameters: tuple[str, ...],
    show_sql: bool,
    prior: float | None,
    **options: Any,
) -> None:
    """Show what an answer would cost and how exact it would be; reads nobody's row, spends nothing."""
    place = place_of(options, analyst)
    with reported(form):
        values = typed(parameters)
        with open_here(policy, analyst) if place is None else open_there(place) as san:
            explanation = san.explain(_text(sql), parameters=values, **options)
        if form == "json":
            believed = {} if prior is None else {"believed": explanation.meaning_at(prior)}
            say_json(explanation.to_dict() | believed)
            return
        say(str(explanation))
        for line in [] if prior is None else explanation.meaning_at(prior):
            say(line)
        if show_sql:
            say(f"SQL sent to the engine:\n{explanation.statement.in_full()}")
