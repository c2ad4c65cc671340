"""`sanql theory`: check a mechanism, see what follows from a guarantee, what it means, and
plots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sanql.cli.saying import say, say_json
from sanql.cli.theory_attack import attack
from sanql.cli.theory_beliefs import beliefs, crowd, predicates
from sanql.cli.theory_draw import draw
from sanql.cli.theory_formulas import good_set, sizes, stable
from sanql.cli.theory_laws import compare, example, sensitivity
from sanql.cli.theory_lecture import deny, harm, laplace, noninterference
from sanql.cli.theory_options import FORMAT, reports_errors
from sanql.cli.theory_tables import table
from sanql.theory.errors import TheoryError
from sanql.theory.exact import as_fraction, as_positive, float_lower, float_read, float_upper

if TYPE_CHECKING:
    from sanql.theory.closed_forms import Pair


@click.group()
def theory() -> None:
    """The theory, executable: definitions, implications, meaning, attackers, plots."""


for command in (
    *(attack, compare, example, sensitivity),
    *(harm, deny, noninterference, laplace),
    *(beliefs, predicates, crowd, draw, stable, good_set, sizes),
):
    theory.add_command(command)


@theory.command()
@click.argument("channel", type=click.Path(path_type=Path))
@click.option(
    "--definition", "definitions", multiple=True, help="Only this definition; repeatable."
)
@click.option("--epsilon", show_default="1", help="Level for deltas.")
@click.option("--delta", show_default="0", help="Delta for epsilons.")
@click.option("--tau", show_default="1/2", help="Level for semantics.")
@click.option("--failure", show_default="0", help="Chance of failure for levels of inference.")
@click.option("--nodes", type=int, show_default="100", help="Effort of the search over beliefs.")
@click.option(
    "--certificate", type=click.Path(path_type=Path), help="Also write proofs for theory verify."
)
@FORMAT
@reports_errors
def check(
    channel: Path, definitions: Sequence[str], form: str, certificate: Path | None, **levels: Any
) -> None:
    """Apply every definition to a mechanism written as JSON.

    Prints the tight parameters and the witness that attains them. CHANNEL is a file with one object:

    \b
      databases   {"0,1": [masses]} or {"0,1": {output: mass}}; records
                  with commas between them, masses such as "1/3" or 0.25
      outputs     ["no", "yes"], names for rows that are lists
      neighbours  "change-one" (default), "add-remove", "all", or a list
                  of pairs [["0,0", "0,1"], …]
      default     the value that replaces a left-out record; without it
                  the first record in the file
      worlds      [{"0,1": mass, "1,1 | side information": mass}, …]
      laws        [{value: mass}] of every record, independently, or
                  [[{value: mass}, …]] of each: further worlds
      secrets     {name: {"0,1": 0, "1,1": 1, "0,0": null}, …}
      protections ["records", {"private_parts": true},
                  {"schools": ["a", "a", "b"]}, {"node": "ann"},
                  {"firm": 1, "noise": {value: {shown: mass}}},
                  {"name": …, "alt": {"0,1": view}, "priv": {"0,1": value}}]

    Only databases is needed. Examples: docs/theory/4_definitions.md.
    """
    from sanql.theory.certificates import certificate as write_certificate
    from sanql.theory.channel_file import read_channel
    from sanql.theory.check import Levels, refuse_unused
    from sanql.theory.check import check as run

    stated = {name: value for name, value in levels.items() if value is not None}
    asked = Levels(**_exact(stated, "epsilon", "delta", "tau", "failure"))
    described = read_channel(channel)
    findings, skipped = run(described, asked, definitions)
    refuse_unused(stated, definitions, skipped)
    if certificate is not None:
        certificate.write_text(write_certificate(described, findings), encoding="utf-8")
    if form == "json":
        content = {
            "as_read": described.as_read(),
            "findings": [finding.to_dict() for finding in findings],
            "skipped": [asdict(left_out) for left_out in skipped],
        }
        say_json(content, indent=2)
        return
    say("\n".join(described.as_read()))
    rows = [
        (finding.definition, finding.shown_parameters(), finding.status, finding.why)
        for finding in findings
    ]
    table(("definition", "parameters", "status", "why"), rows)
    if skipped:
        say(f"NOT CHECKED: {len(skipped)} definitions")
    for left_out in skipped:
        say(f"  {left_out.definition}: {left_out.reason}; {left_out.remedy}")


@theory.command()
@click.argument("certificate", type=click.Path(path_type=Path))
@FORMAT
@reports_errors
def verify(certificate: Path, form: str) -> None:
    """Check a certificate that `check --certificate` wrote, by exact arithmetic of its own.

    Prints what each claim proves; exits with 2 when one of them does not hold.
    """
    from sanql.theory.verifier import Rejected
    from sanql.theory.verifier import verify as run

    try:
        proved = run(certificate.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise TheoryError(
            "unreadable_file", f"{certificate} cannot be read", "give the path of a certificate"
        ) from error
    except Rejected as error:
        raise TheoryError(
            "certificate",
            f"the certificate is rejected: {error}",
            "believe none of it; write it anew with sanql theory check … --certificate",
        ) from error
    if form == "json":
        say_json({"proved": [asdict(claim) for claim in proved]}, indent=2)
        return
    rows = [
        (claim.definition, ", ".join(f"{n} = {v}" for n, v in claim.numbers.items()), claim.proved)
        for claim in proved
    ]
    table(("definition", "numbers", "proved"), rows)


@theory.command()
@click.argument("guarantee")
@click.option("--records", type=int, help="Number of records.")
@click.option("--group", type=int, help="Size of a group to protect.")
@click.option("--protections", type=int, help="Number of protections (coupled worlds).")
@click.option("--values", type=int, help="Number of values of a record.")
@click.option("--tau", help="Semantic level at which failure is wanted.")
@click.option("--delta-hat", help="Level at which inference failure is wanted.")
@click.option("--simulator-epsilon", help="How close simulations for two secrets are: epsilon.")
@click.option("--simulator-delta", help="How close simulations for two secrets are: delta.")
@click.option("--every-distribution", is_flag=True, help="The class holds every distribution.")
@click.option("--independent-records", is_flag=True, help="Records are independent given Z.")
@click.option("--binary-secrets", is_flag=True, help="Every secret is always 0 or 1.")
@click.option("--record-protections", is_flag=True, help="The protections are of the records.")
@FORMAT
@reports_errors
def implications(guarantee: str, form: str, **setting: Any) -> None:
    """Print everything that follows from a guarantee.

    GUARANTEE is written as 'pure_dp(epsilon=1)' or 'approximate-dp(epsilon=1, delta=1e-6)'.
    """
    from sanql.theory.implications import Setting, parse
    from sanql.theory.implications import implications as follow
    from sanql.theory.implications.search import blocked, closures, starts

    numbers = _floats(setting, "tau", "delta_hat")
    numbers = _floats(numbers, "simulator_epsilon", "simulator_delta", rounding=float_upper)
    stated, known = parse(guarantee), Setting(**numbers)
    implied, lacking = follow(stated, known), blocked(stated, known)
    if form == "json":
        content = {
            "given": {"guarantee": str(stated), "meaning": stated.meaning},
            "implied": [item.to_dict() for item in implied],
            "unchanged_by": list(closures(stated)),
            "not_applied": [{"edge": e.name, "source": e.source, "needs": n} for e, n in lacking],
        }
        say_json(content, indent=2)
        return
    say(f"{stated}: {stated.meaning}")
    rows = [
        (str(item.guarantee), item.guarantee.meaning, item.source, _as_printed(item))
        for item in implied
    ]
    if rows:
        table(("implies", "which says", "source", "as printed"), rows)
    else:
        say(f"nothing follows: {_why_nothing(starts(stated), lacking)}")
    if closures(stated):
        say(f"unchanged by: {', '.join(closures(stated))}")
    for edge, needs in lacking:
        say(f"not applied: {edge.source} needs: {'; '.join(needs)}")


@theory.command()
@click.option("--epsilon", help="Privacy loss of a bare guarantee.")
@click.option("--delta", show_default="0", help="Delta of a bare guarantee.")
@click.option("--prior", required=True, help="Belief before the answer.")
@click.option("--failure", help="Also the band that may fail this often.")
@click.option(
    "--mechanism",
    type=click.Choice(
        ["guarantee", "laplace", "discrete-laplace", "gaussian", "discrete-gaussian"]
    ),
    default="guarantee",
    show_default=True,
    help="The actual mechanism instead of a bare guarantee.",
)
@click.option("--scale", help="Scale or standard deviation of the noise.")
@click.option("--shift", show_default="1", help="Sensitivity.")
@FORMAT
@reports_errors
def meaning(form: str, mechanism: str, **choice: Any) -> None:
    """Say what a guarantee or a mechanism means for one person."""
    from sanql.theory.meaning import meaning_of

    bare = mechanism == "guarantee"
    _refuse_unused(
        choice, ("scale", "shift") if bare else ("epsilon", "delta"), f"the mechanism {mechanism}"
    )
    usual = {"delta": "0", "shift": "1"}
    chosen = {name: usual.get(name) if value is None else value for name, value in choice.items()}
    numbers = _floats(chosen, "prior", "failure")
    numbers = _floats(numbers, "epsilon", "delta", "shift", rounding=float_upper)
    numbers = _floats(numbers, "scale", rounding=float_lower)
    prior, failure, delta = numbers.pop("prior"), numbers.pop("failure"), numbers["delta"]
    allowed = failure if failure is not None else min(1.0, 10 * delta)
    meanings = meaning_of(_pair(mechanism=mechanism, **numbers), prior, failure=allowed)
    if form == "json":
        say_json(meanings.to_dict(), indent=2)
        return
    for sentence in meanings.sentences():
        say(sentence)


@theory.command()
@click.option("--prior", help="What somebody believes before, as a probability.")
@click.option("--posterior-at-most", help="What they may believe after any answer.")
@click.option("--false-alarms", help="How often a test accuses the innocent.")
@click.option("--hits-at-most", help="How often it may find the guilty.")
@click.option(
    "--group-of", type=int, default=1, show_default=True, help="People learnt of at once."
)
@click.option(
    "--known-records",
    type=int,
    default=0,
    show_default=True,
    help="Records known outright, for exact answers; noise protects whatever is known.",
)
@click.option("--delta", default="0", show_default=True, help="The delta that is accepted.")
@click.option("--failure", show_default="10 delta", help="How often a posterior may be beyond.")
@FORMAT
@reports_errors
def choose(form: str, known_records: int, **stated: Any) -> None:
    """Start from the attacker: what may be learned of somebody, and the epsilon that allows no more.

    Give a belief (--prior and --posterior-at-most) or a test (--false-alarms and --hits-at-most).
    """
    from sanql.cli.theory_choose import choose as say_choice
    from sanql.theory.choose import Attacker
    from sanql.theory.exact import as_count

    names = ("prior", "posterior_at_most", "false_alarms", "hits_at_most", "delta", "failure")
    as_count(known_records, "--known-records", least=0)
    say_choice(Attacker(**_exact(stated, *names)), known_records, form)


@theory.command()
@click.argument(
    "name", type=click.Choice(["profile", "tradeoff", "posterior", "count", "worlds", "density"])
)
@click.option("--output", "-o", type=click.Path(path_type=Path), required=True, help="PNG or SVG.")
@click.option(
    "--epsilon",
    show_default="1",
    help="Level of profile, tradeoff, posterior, count and density; worlds has none.",
)
@click.option("--delta", show_default="0", help="Delta of tradeoff; others have none.")
@FORMAT
@reports_errors
def plot(name: str, output: Path, form: str, **levels: Any) -> None:
    """Draw one of the pictures of the gallery into a file."""
    from sanql.theory import plots

    used = plots.LEVELS[name]
    _refuse_unused(levels, [level for level in levels if level not in used], f"the plot {name}")
    given = {level: value for level, value in levels.items() if value is not None}
    plots.draw(name, output, **_floats(given, *used))
    if form == "json":
        say_json({"written": str(output)})
    else:
        say(f"written: {output}")


def _refuse_unused(options: dict[str, Any], unused: Sequence[str], by: str) -> None:
    """Refuse an option that was given and would be ignored."""
    for name in unused:
        if options[name] is not None:
            raise TheoryError("unused_option", f"{by} does not use --{name}", f"leave out --{name}")


def _pair(
    *, mechanism: str, epsilon: float | None, delta: float, scale: float | None, shift: float
) -> Pair:
    from sanql.theory import closed_forms, discrete_noise

    if mechanism == "guarantee":
        return closed_forms.GuaranteedPair(_needed(epsilon, "--epsilon", mechanism), delta)
    width = _needed(scale, "--scale", mechanism)
    if mechanism == "laplace":
        return closed_forms.LaplacePair(width, shift)
    if mechanism == "gaussian":
        return closed_forms.GaussianPair(
            float_upper(as_positive(shift, "--shift") / as_positive(width, "--scale"))
        )
    if not float(shift).is_integer():
        raise TheoryError(
            "shift", f"--shift is {shift}, discrete noise needs an integer", "round up"
        )
    if mechanism == "discrete-laplace":
        return discrete_noise.DiscreteLaplacePair(width, int(shift))
    return discrete_noise.DiscreteGaussianPair(width, int(shift))


def _exact(options: dict[str, Any], *names: str) -> dict[str, Any]:
    """Read number options as they are written: 0.1, 1e-6 and 1/10 alike, exactly."""
    return {
        name: as_fraction(value, f"--{name.replace('_', '-')}")
        if name in names and value is not None
        else value
        for name, value in options.items()
    }


def _floats(
    options: dict[str, Any], *names: str, rounding: Callable[[Fraction], float] = float_read
) -> dict[str, Any]:
    """Read number options as floats, to the nearest unless a side is the safe one; only 0 becomes
    0."""
    return {
        name: rounding(value) if name in names and value is not None else value
        for name, value in _exact(options, *names).items()
    }


def _needed(value: float | None, option: str, mechanism: str) -> float:
    if value is None:
        raise TheoryError(
            "missing_option", f"the mechanism {mechanism} needs {option}", f"give {option}"
        )
    return value


def _why_nothing(edges: Sequence[object], lacking: Sequence[object]) -> str:
    if not edges:
        return "no theorem here starts from this guarantee"
    if len(edges) == len(lacking):
        return "each theorem that starts from it needs what was not stated"
    return (
        "at these parameters every conclusion would be true of any mechanism, or is what was given"
    )


def _as_printed(item: Any) -> str:
    if item.verdict == "holds":
        return "holds"
    shown = "" if item.printed is None else f": {item.printed}"
    if item.printed_here is None:
        return f"{item.verdict}{shown}"
    here = {
        "holds": "here it holds",
        "fails": "here it fails",
        "not known": "whether it holds here is not known",
    }[item.printed_here]
    return f"the printed theorem is false in general, {here}{shown}"
