"""The best simulator for inference-based coupled worlds: one for every world at once.

The demands on a simulator are linear and homogeneous in its column for one output, and columns can
be scaled down with the rest of the mass sent to an output that never happens really; so outputs do
not touch each other. For each output the sets of (world, side information) that one column can
serve are found; then one set for each output is chosen such that the worst world fails least.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, assert_never

from sanql.theory.channels import Channel
from sanql.theory.definitions.finding import Finding, UnservedWitness, enclosed, show
from sanql.theory.definitions.inference import inference_failure
from sanql.theory.definitions.inference_lp import Block, Conflict, SharedColumn, Undecided, serve
from sanql.theory.definitions.worlds import Protection, World, alt_law, check_class
from sanql.theory.distributions import Distribution, Outcome
from sanql.theory.errors import TheoryError
from sanql.theory.exact import Real, as_gamma, as_probability

NEVER = "(an output that never happens)"
"""The simulator's output for the mass that no real output needs, unless one is called so."""

_IDLE = (
    "only beliefs after outputs that really happen count, so a simulator may put the mass it does "
    "not need on an output that never happens"
)

_CELLS_MAX = 14

Loss: TypeAlias = tuple[Fraction, ...]
"""The probability left unserved, world by world."""


@dataclass(frozen=True)
class _Cell:
    """One output in one world with one side information: how likely, and what it demands."""

    world: int
    side: Outcome
    mass: Fraction
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class _Option:
    """A set of cells that one column serves, the column (None when unproved), and what is lost."""

    cells: frozenset[int]
    column: SharedColumn | None
    loss: Loss


def best_inference_privacy(
    channel: Channel,
    worlds: Sequence[World],
    protections: Sequence[Protection],
    *,
    gamma: Real,
    delta_hat: Real,
) -> Finding:
    """Return the least failure probability, in the worst world, of any one simulator.

    The number is attained by the simulator shown, recomputed by `inference_failure`; `at_least` is
    proved for every simulator.
    """
    level, slack = as_gamma(gamma), as_probability(delta_hat, "delta_hat")
    check_class(worlds, protections)
    proved: list[tuple[Outcome, list[_Option]]] = []
    hoped: list[list[_Option]] = []
    cells = {t: _cells(channel, worlds, protections, t) for t in channel.outputs}
    for t, found in cells.items():
        options = _options(found, len(worlds), level, slack)
        proved.append((t, [option for option in options if option.column is not None]))
        hoped.append(options)
    chosen = _choose([options for _, options in proved], len(worlds))
    lower = max(_total([option.loss for option in _choose(hoped, len(worlds))], len(worlds)))
    columns = {
        t: option.column.values
        for (t, _), option in zip(proved, chosen, strict=True)
        if option.column is not None
    }
    never = _unused_name(channel)
    simulator = _simulator(columns, worlds, protections, never)
    failure = inference_failure(
        channel, worlds, protections, simulator=simulator, gamma=level, delta_hat=slack
    )
    unserved = tuple(
        (t, cell.world, cell.side, cell.mass)
        for (t, _), option in zip(proved, chosen, strict=True)
        for place, cell in enumerate(cells[t])
        if place not in option.cells
    )
    return enclosed(
        "inference-based coupled worlds",
        {"gamma": level, "delta_hat": slack, "failure": failure},
        {"failure": lower},
        UnservedWitness(simulator, unserved),
        _IDLE if any(simulator.row(a)[never] for a in simulator.databases) else "",
    )


def least_inference_failure(
    channel: Channel,
    worlds: Sequence[World],
    protections: Sequence[Protection],
    *,
    gamma: Real,
    delta_hat: Real,
) -> Fraction:
    """Return the least failure probability of any one simulator, in the worst world."""
    found = best_inference_privacy(channel, worlds, protections, gamma=gamma, delta_hat=delta_hat)
    return Fraction(found["failure"])


def _cells(
    channel: Channel, worlds: Sequence[World], protections: Sequence[Protection], t: Outcome
) -> list[_Cell]:
    """Return every (world, side information) in which the output can happen."""
    found = []
    for index, world in enumerate(worlds):
        for z in dict.fromkeys(side for (_, side), _ in world.cells()):
            blocks = [_block(channel, world, protection, t, z) for protection in protections]
            mass = blocks[0][0]
            if mass:
                found.append(_Cell(index, z, mass, tuple(block for _, block in blocks if block)))
    if len(found) > _CELLS_MAX:
        raise TheoryError(
            "too_many_cells",
            f"output {t!r} can happen with {len(found)} pairs (world, side information); the best "
            f"simulator is searched for at most {_CELLS_MAX}",
            "give fewer worlds or coarser side information, or check one simulator with "
            "inference_privacy",
        )
    return found


def _block(
    channel: Channel, world: World, protection: Protection, t: Outcome, z: Outcome
) -> tuple[Fraction, Block | None]:
    """Return Pr[F = t, Z = z], and what the column for t must serve given z."""
    masses = world.mass_of(protection.priv)
    given = [(key, law) for key, law in world.given(protection.priv).items() if key[1] == z]
    seen = [masses[key] * channel.output_of(law)[t] for key, law in given]
    total = sum(seen, Fraction(0))
    if not total:
        return total, None
    weights = []
    for key, law in given:
        view = alt_law(protection, law)
        weights.append({a: masses[key] * view[a] for a in view.support})
    return total, Block(tuple(weights), tuple(mass / total for mass in seen))


def _options(
    cells: Sequence[_Cell], worlds: int, gamma: Fraction, slack: Fraction
) -> list[_Option]:
    """Return the largest sets of cells that a column serves, and those that stay undecided.

    From large sets to small: what lies inside a served set is served, what contains a conflict is
    not, and everything else is one linear program.
    """
    served: list[frozenset[int]] = []
    conflicts: list[frozenset[int]] = []
    options: list[_Option] = []
    for chosen in _from_large_to_small(len(cells)):
        if any(chosen <= known for known in served) or any(core <= chosen for core in conflicts):
            continue
        loss = _total(
            [_alone(cell, worlds) for k, cell in enumerate(cells) if k not in chosen], worlds
        )
        order = sorted(chosen)
        owner = [k for k in order for _ in cells[k].blocks]
        blocks = [block for k in order for block in cells[k].blocks]
        found = serve(blocks, gamma, slack) if blocks else SharedColumn({})
        match found:
            case SharedColumn():
                served.append(chosen)
                options.append(_Option(chosen, found, loss))
            case Conflict():
                conflicts.append(frozenset(owner[k] for k in found.blocks))
            case Undecided():
                options.append(_Option(chosen, None, loss))
            case _:
                assert_never(found)
    return options


def _from_large_to_small(count: int) -> Iterable[frozenset[int]]:
    masks = sorted(range(2**count), key=lambda mask: -mask.bit_count())
    return (frozenset(k for k in range(count) if mask >> k & 1) for mask in masks)


def _choose(options: Sequence[Sequence[_Option]], worlds: int) -> list[_Option]:
    """Return one option for each output such that the worst world's total loss is least.

    Partial choices are kept only while no other one loses less in every world.
    """
    front: list[tuple[Loss, list[_Option]]] = [((Fraction(0),) * worlds, [])]
    for here in options:
        grown = [
            (_total([loss, option.loss], worlds), [*path, option])
            for loss, path in front
            for option in here
        ]
        front = []
        for loss, path in sorted(grown, key=lambda item: item[0]):
            if not any(_at_most(kept, loss) for kept, _ in front):
                front.append((loss, path))
    return min(front, key=lambda item: max(item[0]))[1]


def _at_most(left: Loss, right: Loss) -> bool:
    return all(a <= b for a, b in zip(left, right, strict=True))


def _total(losses: Sequence[Loss], worlds: int) -> Loss:
    return tuple(sum((loss[k] for loss in losses), Fraction(0)) for k in range(worlds))


def _alone(cell: _Cell, worlds: int) -> Loss:
    return tuple(cell.mass if k == cell.world else Fraction(0) for k in range(worlds))


def _unused_name(channel: Channel) -> str:
    """Return NEVER, in as many brackets as it takes to be no output's name."""
    taken = {show(t) for t in channel.outputs}
    name = NEVER
    while name in taken:
        name = f"({name})"
    return name


def _simulator(
    columns: Mapping[Outcome, Mapping[Outcome, Fraction]],
    worlds: Sequence[World],
    protections: Sequence[Protection],
    never: Outcome,
) -> Channel:
    """Return the columns side by side, scaled so that every row has room, the rest never used."""
    shares = {
        t: Fraction(1, len(columns)) / (max(column.values(), default=Fraction(0)) or Fraction(1))
        for t, column in columns.items()
    }
    rows: dict[Outcome, Distribution] = {}
    for world in worlds:
        for protection in protections:
            for a in alt_law(protection, world.databases()).support:
                masses = {t: shares[t] * column.get(a, 0) for t, column in columns.items()}
                rows[a] = Distribution.of({**masses, never: 1 - sum(masses.values())})
    return Channel.of(rows)
