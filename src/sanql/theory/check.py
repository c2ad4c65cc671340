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
    level_search,
    secret_levels,
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
COUPLED = "coupled worlds of the file's protections"
INFERENCE_COUPLED = "inference-based coupled worlds of the file's protections"


@dataclass(frozen=True)
class Levels:
    """The levels at which definitions of several parameters are evaluated.

    `nodes` is how long the search over all beliefs may take; more narrows what it encloses.
    """

    epsilon: Real = 1
    delta: Real = 0
    tau: Real = "1/2"
    failure: Real = 0
    nodes: int = 100

    def __post_init__(self) -> None:
        as_epsilon(self.epsilon)
        as_probability(self.delta, "delta")
        as_probability(self.tau, "tau")
        as_probability(self.failure, "failure")
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


_Checker = Callable[[ChannelFile, Levels], Iterable[Finding]]


@dataclass(frozen=True)
class Definition:
    """How one definition is checked: what it needs of a file, and the levels that it uses."""

    needs: str
    uses: frozenset[str]
    checker: _Checker


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
    for name, definition in CHECKERS.items():
        if only and name not in only:
            continue
        reason = _missing(given, definition.needs, asked=bool(only))
        if reason:
            if only:
                remedy = _REMEDIES[reason].format(name=name)
                raise TheoryError("not_applicable", f"{name}: {reason}", remedy)
            skipped.append(Skipped(name, reason, _REMEDIES[reason].format(name=name)))
        else:
            found = definition.checker(given, levels)
            findings += [_marked(each, given, definition.needs) for each in found]
    return findings, skipped


def refuse_unused(
    stated: Iterable[str], only: Sequence[str], skipped: Sequence[Skipped] = ()
) -> None:
    """Refuse a level that was stated and that no definition which was checked uses."""
    left_out = {each.definition for each in skipped}
    wanted = [_respelled(name) for name in only] or list(CHECKERS)
    checked = [CHECKERS[name] for name in wanted if name in CHECKERS and name not in left_out]
    for level in stated:
        if not any(level in definition.uses for definition in checked):
            users = [name for name, each in CHECKERS.items() if level in each.uses]
            raise TheoryError(
                "unused_option",
                f"--{level} is used by none of the definitions that were checked",
                f"leave out --{level}, or ask for one that uses it with --definition: "
                f"{', '.join(users)}",
            )


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
_PROTECTIONS = "the file gives no protections"
_LARGE = f"more than {_SMALL} entries, it would take long"
_REMEDIES = {
    _PEOPLE: 'write databases as "0,1"',
    _WORLDS: 'add "worlds": [{{database: mass}}]',
    _SECRETS: 'add "secrets": {{name: {{database: 0|1|null}}}}',
    _PROTECTIONS: 'add "protections": ["records"], or what else is protected',
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
    if "protections" in needs and not given.protections:
        return _PROTECTIONS
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
    if as_probability(levels.delta, "delta") > 0:
        yield simulation.simulation_dp_gamma(given.channel, levels.delta)


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
    if as_probability(levels.delta, "delta") > 0:
        yield level_search.semantic_tau(
            given.channel, levels.delta, given.default, nodes=levels.nodes
        )


def _reality(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    yield semantic_bounds.reality_oblivious_privacy(
        given.channel, levels.tau, given.default, nodes=levels.nodes
    )
    if as_probability(levels.delta, "delta") > 0:
        yield level_search.reality_oblivious_tau(
            given.channel, levels.delta, given.default, nodes=levels.nodes
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
    if as_probability(levels.failure, "failure") > 0:
        yield level_search.inference_gamma(
            given.channel,
            given.worlds,
            protections,
            delta_hat=levels.delta,
            failure=levels.failure,
        )


def _coupled(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    asked = (given.channel, given.worlds, given.protections)
    for found in (
        coupled_worlds.coupled_worlds_delta(*asked, levels.gamma),
        coupled_worlds.coupled_worlds_gamma(*asked, levels.delta),
    ):
        yield replace(found, definition=COUPLED)


def _inference_coupled(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    asked = (given.channel, given.worlds, given.protections)
    yield replace(
        inference_best.best_inference_privacy(*asked, gamma=levels.gamma, delta_hat=levels.delta),
        definition=INFERENCE_COUPLED,
    )
    if as_probability(levels.failure, "failure") > 0:
        found = level_search.inference_gamma(*asked, delta_hat=levels.delta, failure=levels.failure)
        yield replace(found, definition=INFERENCE_COUPLED)


def _noiseless(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    yield secrets.noiseless_delta(given.channel, given.worlds, levels.gamma)
    yield secret_levels.noiseless_gamma(given.channel, given.worlds, levels.delta)


def _pufferfish(given: ChannelFile, levels: Levels) -> Iterable[Finding]:
    asked = (given.channel, given.worlds, given.secrets)
    yield secrets.pufferfish_delta(*asked, levels.gamma)
    yield secret_levels.pufferfish_gamma(*asked, levels.delta)
    yield secrets.pufferfish_inference(*asked, gamma=levels.gamma, delta_hat=levels.delta)
    if as_probability(levels.failure, "failure") > 0:
        yield secret_levels.pufferfish_inference_gamma(
            *asked, delta_hat=levels.delta, failure=levels.failure
        )
        yield secret_levels.pufferfish_inference_delta_hat(
            *asked, gamma=levels.gamma, failure=levels.failure
        )


def _definition(needs: str, uses: str, checker: _Checker) -> Definition:
    return Definition(needs, frozenset(uses.split()), checker)


CHECKERS: dict[str, Definition] = {
    "pure-dp": _definition("neighbours", "", _dp),
    "approximate-dp": _definition("neighbours", "epsilon delta", _approximate),
    "perfect-privacy": _definition("neighbours", "", _perfect),
    "simulation": _definition("people", "", _simulation),
    "simulation-approximate": _definition("people small", "epsilon delta", _simulation_approximate),
    "prior-posterior": _definition("people", "", _bayesian),
    "semantic": _definition("people", "", _semantic),
    "semantic-informed": _definition("people", "", _informed),
    "semantic-approximate": _definition("people small", "tau delta nodes", _semantic_approximate),
    "reality-oblivious": _definition("people small", "tau delta nodes", _reality),
    "semantic-believed": _definition("people worlds", "tau", _believed),
    "ddp": _definition("people worlds small", "epsilon delta", _ddp),
    "inference-ddp": _definition("people worlds small", "epsilon delta failure", _inference),
    "coupled-worlds": _definition("worlds protections small", "epsilon delta", _coupled),
    "inference-coupled-worlds": _definition(
        "worlds protections small", "epsilon delta failure", _inference_coupled
    ),
    "noiseless": _definition("people worlds", "epsilon delta", _noiseless),
    "pufferfish": _definition("worlds secrets", "epsilon delta failure", _pufferfish),
}
"""Each definition with what it needs (people, worlds, secrets, protections, a small channel) and uses."""
