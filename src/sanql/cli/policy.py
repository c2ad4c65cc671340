"""`sanql init`, `sanql import` and `sanql check`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sanql.cli.failing import reported
from sanql.cli.saying import say, say_json
from sanql.errors import Fault, PolicyError

if TYPE_CHECKING:
    from sanql.catalog import Remark
    from sanql.examine import Examination
    from sanql.policy import Policy, Table


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--name", default="dataset", show_default=True, help="The dataset's name.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="Write here instead of printing."
)
@click.option(
    "--preset",
    type=click.Choice(["one-row-per-person", "events", "survey"]),
    help="Make the decisions that suit such data, each with its reason.",
)
@click.option(
    "--look",
    is_flag=True,
    help="Read the rows, too, and propose types, bounds and domains (with -o).",
)
def init(
    files: tuple[Path, ...], name: str, output: Path | None, preset: str | None, look: bool
) -> None:
    """Draft a policy from Parquet, CSV or DuckDB files: names and types only, never values.

    With -o it is written to a file, never over another. What is proposed is marked so. With --look the
    rows are read for proposals; that is on record, and such values are outside the guarantee.
    """
    if look and output is None:
        raise click.UsageError(
            "--look puts the look on record beside the policy; say -o policy.toml"
        )
    _refuse_to_overwrite(output)
    with reported("table"):
        from sanql.policy import draft

        seen = None
        if look and output is not None:
            from sanql.examine import look_to_draft

            seen = look_to_draft(
                list(files), name, output, lambda words: say(f"  {words}", err=True)
            )
        _deliver(draft(list(files), name, preset, seen), output)


@click.group(name="import")
def import_() -> None:
    """Draft a policy from what another system has been told about the data."""


@import_.command()
@click.argument("metadata", type=click.Path(path_type=Path))
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="Write here instead of printing."
)
def smartnoise(metadata: Path, output: Path | None) -> None:
    """Draft a policy from SmartNoise's YAML metadata (needs the extra sanql[smartnoise])."""
    with reported("table"):
        from sanql.policy import from_smartnoise

        _deliver(from_smartnoise(metadata), output)


def _refuse_to_overwrite(output: Path | None) -> None:
    if output is not None and (output.exists() or output.is_symlink()):
        raise click.UsageError(f"{output} exists already; choose another name")


def _deliver(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        _refuse_to_overwrite(output)
        raise
    say(f"wrote {output}; fill in what is left blank, then run: sanql check {output}")


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("-p", "--policy", "named", type=click.Path(path_type=Path), help="The same as FILE.")
@click.option("--data", is_flag=True, help="Read the rows, too: what in them does not fit?")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table")
def check(file: Path | None, named: Path | None, data: bool, form: str) -> None:
    """Check a policy (policy.toml), its source and its account; reports every fault with its remedy.

    What the next question would put on record is listed; nothing is written, and nothing spent. With
    --data the owner is told what the rows themselves say of the policy, and nobody else is.
    """
    if file is not None and named is not None:
        raise click.UsageError(f"{file} and {named} are two policies; name one")
    policy = file or named or Path("policy.toml")
    with reported(form):
        from sanql.cli.exact_tables import terms_line, terms_to_dict
        from sanql.cli.ledger_comparison import compared_ledger
        from sanql.exact import terms_of
        from sanql.examine import chosen_in_words
        from sanql.policy import load_with_faults

        loaded, faults = load_with_faults(policy)
        if loaded is None:
            raise PolicyError(faults)
        notes, more = _notes_and_faults_of_source(loaded)
        account = compared_ledger(loaded)
        faults += (*more, *_faults_of_places(loaded), *account.faults)
        if faults:
            raise PolicyError(faults)
        terms = [terms_of(exact) for exact in loaded.exact.values()]
        chosen = chosen_in_words(loaded)
        examination = _examined(loaded) if data else None
        seen = {} if examination is None else {"data": examination.to_dict()}
        if form == "json":
            exact = {term.exact.name: terms_to_dict(term) for term in terms}
            noted = [asdict(note) for note in notes]
            content = {"policy": loaded.name, "faults": [], "notes": noted, "exact": exact}
            looked = {"chosen_looking": list(chosen)} if chosen else {}
            say_json(content | seen | looked | {"ledger": account.to_dict()})
        else:
            say(f"{policy}: the policy of {loaded.name} has no faults")
            for table in loaded.tables.values():
                whose = _whose(table, loaded.tables)
                undecided = not table.public and table.rows_per_unit_max is None
                wait = f"; until it has limits only `sanql suggest -t {table.name}` can be asked"
                say(f"  {table.name}: {whose}{wait if undecided else ''}")
            for term in terms:
                say(f"  {terms_line(term)}")
            for note in notes:
                say(f"  note: {note}")
            for line in account.lines():
                say(f"  {line}")
            for line in chosen:
                say(f"  note: {line}")
            if examination is not None:
                _say_of_data(examination)
        wrong = examination is not None and examination.wrong
        sys.exit(account.exit_code or int(wrong))


def _examined(policy: Policy) -> Examination:
    from sanql.examine import examine

    return examine(policy, lambda words: say(f"  {words}", err=True))


def _say_of_data(examination: Examination) -> None:
    """Print what an owner is told of the rows, and for whom it is."""
    rows = ", ".join(f"{count:,} of {name}" for name, count in examination.rows.items())
    say(f"rows read: {rows}; nothing was charged. This is for you alone: it tells of single rows")
    for finding in examination.findings:
        say(f"  {'WRONG' if finding.wrong else 'look '} {finding}")
    if not examination.findings:
        say("  the data fit the policy")


def _notes_and_faults_of_source(policy: Policy) -> tuple[Sequence[Remark], Sequence[Fault]]:
    from sanql.catalog import Remark
    from sanql.engines import describe
    from sanql.sources import look_at_origin

    try:
        if look_at_origin(policy):
            said = "it fits the policy, and no snapshot has been taken of it yet"
            return [Remark("dataset.source", said, "the first question takes one")], ()
        return describe(policy).remarks, ()
    except PolicyError as error:
        return (), error.faults


def _faults_of_places(policy: Policy) -> Sequence[Fault]:
    from sanql.sources import faults_of_ledger_places

    return faults_of_ledger_places(policy)


def _whose(table: Table, tables: Mapping[str, Table]) -> str:
    from sanql.policy import ViaUnit, root_unit

    if table.public:
        return "public"
    unit = getattr(root_unit(table, tables), "column", "row")
    through = f", through {table.unit.table}" if isinstance(table.unit, ViaUnit) else ""
    kind = "" if table.kind is None else f"{table.kind}, by "
    second = table.second
    also = "" if second is None else f", and each {second.kind}, by {second.column}"
    return f"protects each {kind}{unit}{through}{also}"
