"""The levels of an answer: their noisy cells recorded as one, and shown as one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sanql.mechanisms import Sampler
from sanql.plan import Plan, Planned
from sanql.release.cells import NoisyCells, add_noise
from sanql.release.consistency import fitted
from sanql.release.finish import AS_THEY_ARE, Finish
from sanql.release.outer import Layer, Shown, show, show_layers

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class LevelCells:
    """What may leave of all levels of a question, in the order of its plan."""

    levels: tuple[NoisyCells, ...]

    def to_bytes(self) -> bytes:
        """Return the cells in a form that reads back identically; those of one level as they are."""
        if len(self.levels) == 1:
            return self.levels[0].to_bytes()
        import pyarrow as pa

        each = pa.array([level.to_bytes() for level in self.levels], pa.binary())
        return NoisyCells(pa.table({"level": each})).to_bytes()

    @classmethod
    def from_bytes(cls, recorded: bytes, plan: Planned) -> LevelCells:
        """Return cells recorded earlier for the same question."""
        whole = NoisyCells.from_bytes(recorded)
        if len(plan.levels) == 1:
            return cls((whole,))
        each = whole.table.column("level").to_pylist()
        return cls(tuple(map(NoisyCells.from_bytes, each)))


def add_noise_to_levels(
    plan: Planned, exact: Sequence[pyarrow.Table], sampler: Sampler
) -> LevelCells:
    """Return the noisy cells of all levels."""
    pairs = zip(plan.levels, exact, strict=True)
    return LevelCells(tuple(add_noise(level, cells, sampler) for level, cells in pairs))


def show_levels(
    plan: Planned, cells: LevelCells, confidence: Fraction, finish: Finish = AS_THEY_ARE
) -> Shown:
    """Return the answer to a question with one level or several, whose totals add up."""
    if isinstance(plan, Plan):
        return show(plan, cells.levels[0], confidence, finish)
    shown = fitted(plan, cells.levels)
    layers = []
    for level in map(plan.level_of, plan.query.sets):
        own = plan.levels[level], plan.sets[level]
        layers.append(Layer(*own, cells.levels[level], shown[level]))
    return show_layers(plan.query, layers, confidence, finish)
