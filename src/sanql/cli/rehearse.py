"""`sanql rehearse`: true against private answers, for the owner alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sanql.cli.failing import reported
from sanql.cli.opening import POLICY
from sanql.cli.saying import say, say_json
from sanql.question_texts import split_questions
from sanql.secret_file import write_for_owner
from sanql.visible import json_text

if TYPE_CHECKING:
    from sanql.rehearsal import QuestionTried, Rehearsal

_ENDINGS = (".html", ".json")


@click.command()
@POLICY
@click.option("--analyst", "-a", help="Whose budgets are tried; else the dataset's.")
@click.option(
    "--epsilon", "-e", default="0.1,0.5,1", show_default=True, help="Epsilons, with commas."
)
@click.option("--runs", type=click.IntRange(1, 1000), default=10, show_default=True)
@click.option(
    "--within", default="10", show_default=True, help="The error that is wanted, in percent."
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    help="Keep it here: a page (.html), or data (.json); may be said twice.",
)
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table")
@click.argument("questions_file", metavar="FILE", type=click.File("r", encoding="utf-8"))
def rehearse(
    policy: Path,
    analyst: str | None,
    epsilon: str,
    runs: int,
    within: str,
    output: tuple[Path, ...],
    form: str,
    questions_file: Any,
) -> None:
    """Try the questions of FILE (or -), which end with semicolons: true against private answers.

    For the owner alone. The rows are read and nothing is charged; what is shown is outside the guarantee.
    Files that are written can be read by their owner only.
    """
    for file in output:
        if file.suffix not in _ENDINGS:
            raise click.UsageError(f"{file} is neither .html nor .json: name one of them")
    with reported(form):
        from sanql.numbers import parse_epsilon
        from sanql.policy import load
        from sanql.rehearsal import rehearse_questions

        found = rehearse_questions(
            load(policy),
            split_questions(questions_file.read()),
            epsilons=[parse_epsilon(each.strip()) for each in epsilon.split(",")],
            runs=runs,
            within=_share(within),
            analyst=analyst,
            progress=lambda words: say(f"  {words}", err=True),
        )
        for file in output:
            page = file.suffix == ".html"
            text = found.to_html() if page else json_text(found.to_dict(), indent=2)
            write_for_owner(file, text)
        say_json(found.to_dict()) if form == "json" else _say(found)
        for file in output:
            say(f"wrote {file}", err=form == "json")


def _share(percent: str) -> Any:
    """Return a percentage as a share."""
    from fractions import Fraction

    try:
        share = Fraction(percent.removesuffix("%").strip()) / 100
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share <= 1:
        raise click.UsageError(f"--within {percent}: write a percentage, such as 10")
    return share


def _say(found: Rehearsal) -> None:
    """Print what was found, and for whom it is."""
    from sanql.rehearsal import OUTSIDE

    say(OUTSIDE)
    for question in found.questions:
        _say_question(question, found.within)
    for budget in found.budgets:
        refused = budget.refused.splitlines()[0] if budget.refused else ""
        rest = f"; then {refused}" if refused else ""
        say(f"at {budget.epsilon:g} each, {budget.answered} fit the budgets{rest}")


def _say_question(question: QuestionTried, within: float) -> None:
    from sanql.rehearsal import percent

    say(f"{question.number}. {' '.join(question.sql.split())}")
    if question.note:
        say(f"   {question.note}")
    lost = [
        f"{each.name} {percent(each.error)}"
        for each in question.cut
        if each.error is not None and each.error > 0
    ]
    if lost:
        say(f"   taken away without any noise, by limits, bounds and domains: {', '.join(lost)}")
    for at in question.at:
        if at.refused:
            say(f"   epsilon {at.epsilon:g}: refused: {at.refused}")
            continue
        errors = ", ".join(
            f"{each.name} {percent(each.error) or 'no error to tell'}"
            + ("" if each.coverage is None else f" (intervals hold {percent(each.coverage)})")
            for each in at.columns
        )
        keys = "" if at.keys is None else f"; {percent(at.keys)} of the groups"
        say(f"   epsilon {at.epsilon:g}: {errors}{keys}")
    if question.at:
        least = f"from {question.enough:g}" if question.enough is not None else "none tried"
        say(f"   enough for errors within {percent(within)}: {least}")
