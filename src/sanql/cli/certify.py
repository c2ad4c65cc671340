"""`sanql certify`: what an exact release guarantees against a declared class of adversaries."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sanql.cli.certify_noise import compare_with_noise
from sanql.cli.certify_options import FORMAT, LEVELS, PLOT, RECORDS, UNIFORM, options_of
from sanql.cli.certify_stable import local, stable
from sanql.cli.failing import reported
from sanql.cli.saying import say, say_json
from sanql.errors import Refused

if TYPE_CHECKING:
    from sanql.mechanisms.noiseless import (
        Countable,
        NoiselessCertificate,
        SamplingPrior,
        SumAdversary,
    )


@click.group()
def certify() -> None:
    """Certify exact releases: no noise, and a guarantee only against the class you declare."""


certify.add_command(stable)
certify.add_command(local)


@certify.command("sum")
@options_of(*RECORDS, *UNIFORM, *LEVELS, PLOT, FORMAT)
def sum_(**options: Any) -> None:
    """Certify an exact SUM of a bounded column."""
    _uniform(**options)


@certify.command()
@options_of(*RECORDS, *UNIFORM, *LEVELS, PLOT, FORMAT)
def mean(**options: Any) -> None:
    """Certify an exact AVG of a bounded column; the number of rows is public."""
    _uniform(**options)


@certify.command()
@options_of(*RECORDS)
@click.option("--beta", required=True, help="No record is 1, or 0, with more than 1 - beta.")
@options_of(*LEVELS, PLOT, FORMAT)
def count(beta: str, plot: Path | None, form: str, **options: Any) -> None:
    """Certify an exact COUNT of a binary column."""
    with reported(form):
        from sanql.mechanisms.noiseless import CountAdversary

        others = _others(options)
        adversary = CountAdversary(others, Fraction(_number(beta, "--beta")), options["known"])
        _answer(adversary, "DDP", plot, form, options)


@certify.command()
@click.option("--threshold", "-k", type=int, help="Cells below this are shown as 0.")
@click.option(
    "--smallest-threshold",
    is_flag=True,
    help="Answer the least --threshold that passes at --epsilon and --delta.",
)
@click.option("--poisson", is_flag=True, help="Every cell has a Poisson count.")
@click.option("--rate", help="Everybody is sampled independently with this probability.")
@click.option("--population", type=int, help="A fixed-size sample: how many people there are.")
@click.option("--sample", type=int, help="A fixed-size sample: how many were drawn.")
@click.option("--epsilon-size", help="A fixed-size sample: epsilon of the random discarding.")
@click.option("--known", type=int, default=0, show_default=True, help="Known sample members.")
@options_of(*LEVELS, PLOT, FORMAT)
def histogram(plot: Path | None, form: str, **options: Any) -> None:
    """Certify an exact histogram whose small cells are shown as 0."""
    with reported(form):
        from sanql.mechanisms.noiseless import HistogramAdversary, threshold_min

        prior, known = _prior(options), options["known"]
        threshold = options["threshold"]
        if options["smallest_threshold"]:
            epsilon, delta = _both(options)
            threshold = threshold_min(prior, epsilon, delta, known=known)
        if threshold is None:
            raise _missing("--threshold or --smallest-threshold")
        adversary = HistogramAdversary(threshold, prior, known)
        certificate = _certificate(adversary, options, "DDP")
        content = {**certificate.to_dict(), "threshold": threshold, "known": known}
        if plot is not None:
            from sanql.cli.certify_plots import draw

            draw(plot, adversary, certificate)
        _write(certificate, content, form, f"smallest cell shown: {threshold}", plot)


@certify.command("map")
@click.option(
    "--law",
    "laws",
    multiple=True,
    required=True,
    help="Probabilities of the values under one law, such as '0.9,0.1'; repeatable.",
)
@click.option("--weight", "weights", multiple=True, help="The weight of each law, in order.")
@click.option("--with-noise", help="Compare with differential privacy at this epsilon.")
@options_of(*RECORDS, *LEVELS, PLOT, FORMAT)
def map_(
    laws: tuple[str, ...],
    weights: tuple[str, ...],
    with_noise: str | None,
    plot: Path | None,
    form: str,
    **options: Any,
) -> None:
    """Certify the output of a maximum-a-posteriori estimator."""
    with reported(form):
        from sanql.mechanisms.noiseless import MapAdversary

        adversary = MapAdversary(
            _others(options),
            _laws(laws),
            tuple(_number(weight, "--weight") for weight in weights),
            options["known"],
        )
        if with_noise is not None:
            if plot is not None:
                raise Refused(
                    "certificate_plot",
                    "a comparison with noise has no picture",
                    "leave out --plot, or --with-noise",
                )
            return compare_with_noise(adversary, _number(with_noise, "--with-noise"), form)
        return _answer(adversary, "DDP", plot, form, options)


@certify.command()
@click.option(
    "--law",
    "laws",
    multiple=True,
    required=True,
    help="Probabilities of the values under one law, such as '0.9,0.1'; repeatable.",
)
@click.option(
    "--function",
    type=click.Choice(["mode", "median", "share"]),
    required=True,
    help="What is decided: the first most frequent value, the lower median, or whether "
    "at least --share of the records have a value that --counts.",
)
@click.option("--share", help="The least share, such as 0.5.")
@click.option(
    "--counts",
    multiple=True,
    type=click.IntRange(min=1),
    help="The place, from 1 on, of a value that counts; repeatable.",
)
@options_of(*RECORDS, *LEVELS, FORMAT)
def verdict(
    laws: tuple[str, ...],
    function: str,
    share: str | None,
    counts: tuple[int, ...],
    form: str,
    **options: Any,
) -> None:
    """Certify a function of counts that one record hardly ever changes (Theorem 11)."""
    with reported(form):
        from sanql.mechanisms.noiseless import VerdictAdversary, lower_median, mode, share_test

        found = _laws(laws)
        values = len(found[0])
        if function == "share":
            if share is None or not counts:
                raise _missing("--share and --counts")
            if max(counts) > values:
                raise Refused(
                    "certificate_option",
                    f"--counts {max(counts)}: a law has {values} values",
                    "count places from 1 on",
                )
            decided = share_test(
                [place in counts for place in range(1, values + 1)], _number(share, "--share")
            )
        else:
            decided = mode(values) if function == "mode" else lower_median(values)
        adversary = VerdictAdversary(_others(options), found, decided, (), options["known"])
        _answer(adversary, "DDP", None, form, options | {"epsilon": options["epsilon"] or "0"})


def _laws(laws: tuple[str, ...]) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(_number(p, "--law") for p in law.split(",")) for law in laws)


def _uniform(*, plot: Path | None, form: str, **options: Any) -> None:
    with reported(form):
        from sanql.mechanisms.noiseless import DDP, NOISELESS

        adversary = _sum_adversary(options)
        if options["noiseless"]:
            adversary = adversary.noiseless()
        _answer(adversary, NOISELESS if options["noiseless"] else DDP, plot, form, options)


def _sum_adversary(options: dict[str, Any]) -> SumAdversary:
    from sanql.mechanisms.noiseless import continuous_sum, lattice_sum, partial_sum

    others, known = _others(options), options["known"]
    given = [name for name in ("eta", "mass", "alpha") if options[name] is not None]
    match given:
        case ["eta"]:
            return continuous_sum(others=others, eta=_number(options["eta"], "--eta"), known=known)
        case ["mass"]:
            ends = {
                name: _number(options[name], f"--{name}")
                for name in ("lower", "upper", "mass", "step", "first", "last")
                if options[name] is not None
            }
            _need(options, "lower", "upper")
            return lattice_sum(others=others, known=known, **ends)
        case ["alpha"]:
            _need(options, "lower", "upper", "width")
            parts = {
                name: _number(options[name], f"--{name}")
                for name in ("lower", "upper", "width", "alpha")
            }
            return partial_sum(others=others, known=known, **parts)
        case _:
            raise _missing("exactly one of --eta, --mass (lattice) and --alpha (real column)")


def _answer(
    adversary: Countable,
    definition: str,
    plot: Path | None,
    form: str,
    options: dict[str, Any],
) -> None:
    from sanql.mechanisms.noiseless import known_max, others_min

    result_words = ""
    if options["smallest_records"]:
        epsilon, delta = _both(options)
        adversary = adversary.with_others(others_min(adversary, epsilon, delta))
        result_words = f"smallest number of other records: {adversary.others}"
    elif options["largest_known"]:
        epsilon, delta = _both(options)
        adversary = adversary.with_known(known_max(adversary, epsilon, delta))
        result_words = f"largest number of known records: {adversary.known}"
    certificate = _certificate(adversary, options, definition)
    content = {**certificate.to_dict(), "records": adversary.others, "known": adversary.known}
    if plot is not None:
        from sanql.cli.certify_plots import draw

        draw(plot, adversary, certificate)
    _write(certificate, content, form, result_words, plot)


def _certificate(adversary: Any, options: dict[str, Any], definition: str) -> NoiselessCertificate:
    from sanql.mechanisms.noiseless import checked_delta, delta_at, epsilon_at

    epsilon, delta = options["epsilon"], options["delta"]
    if epsilon is not None:
        certificate = delta_at(adversary, _number(epsilon, "--epsilon"), definition=definition)
        if delta is not None:
            _check_delta(certificate, checked_delta(_number(delta, "--delta")))
        return certificate
    if delta is not None:
        return epsilon_at(adversary, _number(delta, "--delta"), definition=definition)
    raise _missing("--epsilon or --delta")


def _check_delta(certificate: NoiselessCertificate, delta: Fraction) -> None:
    """Refuse a class that does not reach the delta given beside an epsilon."""
    if Fraction(certificate.delta_upper) > delta:
        raise Refused(
            "certificate_not_reached",
            f"at epsilon {certificate.epsilon:.6g} delta is certified up to "
            f"{certificate.delta_upper:.3g}, which is above {float(delta):.3g}",
            "leave --epsilon or --delta out to see what is reached, ask for --smallest-records, "
            "--largest-known or --smallest-threshold, or add noise",
        )


def _prior(options: dict[str, Any]) -> SamplingPrior:
    from sanql.mechanisms.noiseless import BinomialPrior, PoissonPrior, discard_prior

    given = (options["poisson"], options["rate"] is not None, options["population"] is not None)
    match given:
        case (True, False, False):
            return PoissonPrior()
        case (False, True, False):
            return BinomialPrior(_number(options["rate"], "--rate"))
        case (False, False, True):
            _need(options, "sample", "epsilon_size")
            return discard_prior(
                population=options["population"],
                sample=options["sample"],
                epsilon_size=_number(options["epsilon_size"], "--epsilon-size"),
                delta=_number(options["delta"] or "1e-9", "--delta"),
            )
        case _:
            raise _missing("exactly one of --poisson, --rate and --population")


def _others(options: dict[str, Any]) -> int:
    if options["records"] is not None:
        return int(options["records"])
    if options["smallest_records"]:
        return int(options["known"]) + 1  # replaced by the answer
    raise _missing("--records (or --smallest-records)")


def _both(options: dict[str, Any]) -> tuple[Fraction, Fraction]:
    _need(options, "epsilon", "delta")
    return _number(options["epsilon"], "--epsilon"), _number(options["delta"], "--delta")


def _number(text: str, option: str) -> Fraction:
    from sanql.mechanisms.noiseless import exact

    return exact(text, option)


def _need(options: dict[str, Any], *names: str) -> None:
    """Refuse unless all of these options are given, naming those that are not."""
    absent = [f"--{name.replace('_', '-')}" for name in names if options[name] is None]
    if absent:
        raise _missing(" and ".join(absent))


def _missing(what: str) -> Refused:
    name = click.get_current_context().info_name
    return Refused("certificate_option", f"give {what}", f"see `sanql certify {name} --help`")


def _write(
    certificate: NoiselessCertificate,
    content: dict[str, object],
    form: str,
    words: str,
    plot: Path | None,
) -> None:
    if form == "json":
        say_json(content)
        return
    if words:
        say(words)
    for sentence in certificate.sentences():
        say(sentence)
    if plot is not None:
        say(f"written: {plot}")
