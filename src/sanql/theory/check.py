"""Every definition applied to one mechanism: the table of `sanql theory check`.

One entry a definition. What a mechanism's form does not allow (people, worlds, secrets) is left out
with the reason, and so is what would take long on a large channel unless it is asked for by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sanql.theory.channel_file import ChannelFile
from sanql.theory.definitions import (
    bayesian,
    coupled_worlds,
    dp,
    inference_best,
    secrets,
    semantic,
    semantic_bounds,
    simulation,
)
from sanql.theory.definitions.finding import Finding
from sanql.theory.definitions.records import people
from sanql.theory.definitions.worlds import records
from sanql.theory.errors import TheoryError
from sanql.theory.exact import (
    Real,
    as_count,
    as_epsilon,
    as_fraction,
    as_probability,
    exp_lower,
    float_lower,
)
from sanql.theory.implications.guarantees import SPELLINGS

_SMALL = 512


@dataclass(frozen=True)
class Levels:
    """The levels at which two-parameter definitions are evaluated.

    `nodes` is how long the search over all beliefs may take; more narrows what it encloses.
    """

    epsilon: Real = 1
    delta: Real = 0
    tau: Real = "1/2"
    nodes: int = 100

    def __post_init__(self) -> None:
        as_epsilon(self.epsilon)
        as_probability(self.delta, "delta")
        as_probability(self.tau, "tau")
        as_count(self.nodes, "nodes")

    @property
    def gamma(self) -> Fraction:
        """The level e^epsilon rounded down, so that the delta found is not too small."""
        return Fraction(exp_lower(float_lower(as_fraction(self.epsilon, "epsilon"))))


@dataclass(frozen=True)
class Skipped:
    """A definition that was not evaluated, why, and what to do about it."""

    definition: str
    reason: str
    remedy: str


Checker = Callable[[ChannelFile, Levels], Iterable[Finding]]


def check(
    given: ChannelFile, levels: Levels, only: Sequence[str] = ()
) -> tuple[list[Finding], list[Skipped]]:
    """Return the findings of every definition, or of those asked for by name."""
    only = [_respelled(name) for name in only]
    unknown = [name for name in only if name not in CHECKERS]
    if unknown:
        raise TheoryError(
            "unknown_definition",
            f"there is no definition {unknown[0]!r}",
            f"use one of {', '.join(CHECKERS)}",
        )
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    for name, (needs, checker) in CHECKERS.items():
        if only and name not in only:
            continue
        reason = _missing(given, needs, asked=bool(only))
        if reason:
            if only:
                remedy = _REMEDIES[reason].format(name=name)
                raise TheoryError("not_applicable", f"{name}: {reason}", remedy)
            skipped.append(Skipped(name, reason, _REMEDIES[reason].format(name=name)))
        else:
            findings += [_marked(found, given, needs) for found in checker(given, levels)]
    return findings, skipped


def _respelled(name: str) -> str:
    """Return a definition's name here for its name as a guarantee."""
    hyphened = name.replace("_", "-")
    if hyphened in CHECKERS:
        return hyphened
    spelt = (here for here, kind in SPELLINGS.items() if kind == name.replace("-", "_"))
    return next(spelt, name).replace("_", "-")


def _marked(found: Finding, given: ChannelFile, needs: str) -> Finding:
    """Say of a finding that it does not depend on the neighbours the file declares."""
    if "neighbours" in needs or given.neighbours.name == "change-one":
        return found
    unused = "does not use the neighbours of the file"
    return replace(found, note="; ".join(part for part in (unused, found.note) if part))


_PEOPLE = "databases are not tuples of one length"
_WORLDS = "the file gives no worlds"
_SECRETS = "the file gives no secrets"
_LARGE = f"more than {_SMALL} entries, it would take long"
_REMEDIES = {
    _PEOPLE: 'write databases as "0,1"',
    _WORLDS: 'add "worlds": [{{database: mass}}]',
    _SECRETS: 'add "secrets": {{name: {{database: 0|1|null}}}}',
    _LARGE: "ask for it by name: --definition {name}",
}


def _missing(given: ChannelFile, needs: str, *, asked: bool) -> str:
    channel = given.channel
    lengths = {len(x) if isinstance(x, tuple) else -1 for x in channel.databases}
    if "people" in needs and (len(lengths) != 1 or lengths == {-1}):
        return _PEOPLE
    if "worlds" in needs and not given.worlds:
        return _WORLDS
    if "secrets" in needs and not given.secrets:
        return _SECRETS
    large = len(channel.databases) * len(channel.outputs) > _SMALL
    return _LARGE if "small" in needs and large and not asked else ""


def _dp(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    yield dp.pure_dp(given.channel, given.neighbours)


def _approximate(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    yield dp.approximate_dp_delta(given.channel, given.neighbours, levels.gamma)
    if as_probability(levels.delta, "delta") > 0:
        yield dp.approximate_dp(given.channel, given.neighbours, levels.delta)


def _perfect(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    yield dp.perfect_privacy(given.channel, given.neighbours)


def _simulation(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    yield simulation.simulation_dp(given.channel)


def _simulation_approximate(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    yield simulation.simulation_dp_delta(given.channel, levels.gamma)


def _bayesian(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    yield bayesian.prior_to_posterior(given.channel)


def _semantic(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    yield semantic.semantic_privacy(given.channel, given.default)


def _informed(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    yield semantic.informed_semantic_privacy(given.channel, given.default)


def _semantic_approximate(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    yield semantic_bounds.approximate_semantic_privacy(
        given.channel, levels.tau, given.default, nodes=levels.nodes
    )


def _reality(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    yield semantic_bounds.reality_oblivious_privacy(
        given.channel, levels.tau, given.default, nodes=levels.nodes
    )


def _believed(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    for world in given.worlds:
        asked = (given.channel, world.databases(), levels.tau, given.default)
        yield semantic.believed_semantic_privacy(*asked)
        yield semantic.reality_oblivious(*asked)


def _ddp(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    yield coupled_worlds.distributional_dp_delta(given.channel, given.worlds, levels.gamma)
    yield coupled_worlds.distributional_dp_gamma(given.channel, given.worlds, levels.delta)


def _inference(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    protections = records(people(given.channel))
    yield inference_best.best_inference_privacy(
        given.channel, given.worlds, protections, gamma=levels.gamma, delta_hat=levels.delta
    )


def _noiseless(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    yield secrets.noiseless_delta(given.channel, given.worlds, levels.gamma)


def _pufferfish(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    yield secrets.pufferfish_delta(given.channel, given.worlds, given.secrets, levels.gamma)
    yield secrets.pufferfish_inference(
        given.channel, given.worlds, given.secrets, gamma=levels.gamma, delta_hat=levels.delta
    )


CHECKERS: dict[str, tuple[str, Checker]] = {
    "pure-dp": ("neighbours", _dp),
    "approximate-dp": ("neighbours", _approximate),
    "perfect-privacy": ("neighbours", _perfect),
    "simulation": ("people", _simulation),
    "simulation-approximate": ("people small", _simulation_approximate),
    "prior-posterior": ("people", _bayesian),
    "semantic": ("people", _semantic),
    "semantic-informed": ("people", _informed),
    "semantic-approximate": ("people small", _semantic_approximate),
    "reality-oblivious": ("people small", _reality),
    "semantic-believed": ("people worlds", _believed),
    "ddp": ("people worlds small", _ddp),
    "inference-ddp": ("people worlds small", _inference),
    "noiseless": ("people worlds", _noiseless),
    "pufferfish": ("worlds secrets", _pufferfish),
}
"""Each definition with what it needs: people, worlds, secrets, or a small channel."""
