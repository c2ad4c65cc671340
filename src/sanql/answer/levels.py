"""The levels of an answer: their noisy cells recorded as one, and shown as one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sanql.answer.display import AS_THEY_ARE, Display
from sanql.answer.most_frequent import with_most_frequent
from sanql.answer.post_process import Layer, Shown, names_with_intervals, show_layers
from sanql.answer.reconcile import fitted
from sanql.measurements import NoisyCells
from sanql.mechanisms import Sampler
from sanql.noise import add_noise
from sanql.plan import Level, Measurable, Plan
from sanql.question import AggregateRef

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class LevelCells:
    """The noisy cells of all levels of a question, in the order of its plan."""

    levels: tuple[NoisyCells, ...]

    def to_bytes(self) -> bytes:
        """Return the cells in a form that reads back identically; those of one level as they are."""
        if len(self.levels) == 1:
            return self.levels[0].to_bytes()
        import pyarrow as pa

        recorded = pa.array([level.to_bytes() for level in self.levels], pa.binary())
        return NoisyCells(pa.table({"level": recorded})).to_bytes()

    @classmethod
    def from_bytes(cls, recorded: bytes, plan: Measurable) -> LevelCells:
        """Return cells recorded earlier for the same question."""
        whole = NoisyCells.from_bytes(recorded)
        if len(plan.levels) == 1:
            return cls((whole,))
        levels = whole.table.column("level").to_pylist()
        return cls(tuple(map(NoisyCells.from_bytes, levels)))


def add_noise_to_levels(plan: Plan, exact: Sequence[pyarrow.Table], sampler: Sampler) -> LevelCells:
    """Return the noisy cells of all levels."""
    pairs = zip(plan.levels, exact, strict=True)
    return LevelCells(tuple(add_noise(level, cells, sampler) for level, cells in pairs))


def show_levels(
    plan: Plan,
    cells: LevelCells,
    confidence: Fraction,
    display: Display = AS_THEY_ARE,
    adjusted: LevelCells | None = None,
) -> Shown:
    """Return the answer to a question with one level or several, whose totals add up.

    `adjusted` are its cells as other questions of a batch have made them; intervals are those of `cells`.
    """
    measured = with_most_frequent(plan, cells.levels)
    values = measured if adjusted is None else with_most_frequent(plan, adjusted.levels)
    shown = fitted(plan, values)
    layers = [
        Layer(plan.levels[place], plan.sets[place], measured[place], shown[place])
        for place in plan.shown
    ]
    return show_layers(plan.query, layers, confidence, display)


def columns_with_intervals(
    plan: Plan, confidence: Fraction, display: Display = AS_THEY_ARE
) -> frozenset[str]:
    """Return which columns of the answer will have intervals: those that an answer without groups has."""
    first = plan.shown[0]
    cells = _no_cells(plan.levels[first])
    layer = Layer(plan.levels[first], plan.sets[first], cells, cells)
    return names_with_intervals(plan.query, layer, confidence, display)


def _no_cells(level: Level) -> NoisyCells:
    import pyarrow as pa

    columns = {f"k{place}": pa.nulls(0) for place in range(len(level.query.keys))}
    for place, measurement in enumerate(level.measurements):
        kind = pa.list_(pa.int64()) if measurement.by_bins else pa.int64()
        columns[f"m{place}"] = pa.nulls(0, kind)
    columns |= {f"v{place}": pa.nulls(0) for place in range(len(level.query.aggregates))}
    return NoisyCells(pa.table(columns))


def noise_by_column(plan: Plan) -> dict[str, float]:
    """Return the noise's standard deviation in each column that is a count or a plain sum.

    Of several levels it is the largest; fitting them to each other does not enlarge it.
    """
    deviations: dict[str, float] = {}
    for level in plan.levels:
        for output in level.query.outputs:
            if not isinstance(output.expression, AggregateRef):
                continue
            index = level.estimates[output.expression.index].plain
            if index is not None:
                size = float(level.measurements[index].cell_step)
                own = level.noises[index].standard_deviation * size
                deviations[output.name] = max(own, deviations.get(output.name, 0.0))
    return deviations
