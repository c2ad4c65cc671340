"""How many distinct values of a unit count where that is chosen privately, in words."""

from __future__ import annotations

from sanql.measurements import Measured
from sanql.plan import Level


def values_chosen_in_words(level: Level) -> list[str]:
    """Return a sentence for each count of distinct values whose limit on a unit is chosen."""
    return [
        _sentence(level, measurement.of)
        for measurement in level.measurements
        if measurement.kind is Measured.CHOICE and measurement.of is not None
    ]


def _sentence(level: Level, index: int) -> str:
    measurement = level.measurements[index]
    name = f"measurement {index + 1}"
    if measurement.choices:
        listed = ", ".join(f"{number:,}" for number in measurement.choices)
        return (
            f"how many values of a unit are counted for {name} is chosen privately, one of {listed}; "
            "its noise is in proportion to that number, and is given for the largest"
        )
    values = measurement.values_per_unit or 1
    counted = "1 value of a unit was" if values == 1 else f"{values:,} values of a unit were"
    return (
        f"at most {counted} counted for {name}, chosen privately: noise is for so many, and values "
        "beyond are missed"
    )
