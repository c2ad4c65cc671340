"""`sanql batch`: the questions of a file, measured together for one epsilon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sanql.cli.ask import question_options
from sanql.cli.failing import reported
from sanql.cli.opening import POLICY, anywhere, open_here, open_there, open_to_measure, place_of
from sanql.cli.saying import say, say_json
from sanql.question_texts import split_questions


@click.command()
@POLICY
@click.option("--analyst", "-a", help="Who asks.")
@anywhere
@question_options
@click.option(
    "--explain", is_flag=True, help="Show price and exactness; reads nobody's row, spends nothing."
)
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table")
@click.argument("questions_file", metavar="FILE", type=click.File("r", encoding="utf-8"))
def batch(
    policy: Path,
    analyst: str | None,
    explain: bool,
    form: str,
    questions_file: Any,
    parameters: tuple[str, ...],
    **options: Any,
) -> None:
    """Ask all questions of FILE (or - to read them), which end with semicolons, for one epsilon."""
    if parameters:
        raise click.UsageError(
            "values of parameters belong to one question; write them into the file"
        )
    place = place_of(options, analyst)
    with reported(form):
        questions = split_questions(questions_file.read())
        opens = open_here if explain else open_to_measure
        with opens(policy, analyst) if place is None else open_there(place) as san:
            if explain:
                explained = san.explain_batch(questions, **options)
                say_json(explained.to_dict()) if form == "json" else say(str(explained))
                return
            answers = san.batch(questions, **options)
        if form == "json":
            say_json({"answers": [answer.to_dict() for answer in answers]})
            return
        from sanql.cli.tables import print_answer

        for number, (sql, answer) in enumerate(zip(questions, answers, strict=True), 1):
            say(f"{number}. {' '.join(sql.split())}")
            print_answer(answer)
