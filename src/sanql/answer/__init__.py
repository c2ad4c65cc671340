"""NoisyCells → Answer: estimates, intervals, totals that add up, outer SQL, and how it is shown."""

from sanql.answer.answer import LEAST_PRICE, Answer, price_in_words
from sanql.answer.display import (
    AS_THEY_ARE,
    Display,
    check_display,
    check_plain,
    widened_half_width,
)
from sanql.answer.levels import LevelCells, noise_by_column, show_levels
from sanql.answer.post_process import arrange, run_on_cells
from sanql.answer.remaining import remaining_in_words, remaining_to_dict

__all__ = [
    "AS_THEY_ARE",
    "LEAST_PRICE",
    "Answer",
    "Display",
    "LevelCells",
    "arrange",
    "check_display",
    "check_plain",
    "noise_by_column",
    "price_in_words",
    "remaining_in_words",
    "remaining_to_dict",
    "run_on_cells",
    "show_levels",
    "widened_half_width",
]
