"""NoisyCells → Answer: estimates, intervals, totals that add up, outer SQL, and how it is shown."""

from sanql.answer.batch import QuestionCells, cells_of_questions
from sanql.answer.content import MeasuredContent, arrow_type
from sanql.answer.display import (
    AS_THEY_ARE,
    Display,
    check_display,
    check_plain,
    widened_half_width,
)
from sanql.answer.levels import (
    LevelCells,
    columns_with_intervals,
    noise_by_column,
    show_levels,
)
from sanql.answer.outer import check_outer, outer_names_with_intervals, show_outer
from sanql.answer.post_process import Shown, arrange, run_on_cells

__all__ = [
    "AS_THEY_ARE",
    "Display",
    "LevelCells",
    "MeasuredContent",
    "QuestionCells",
    "Shown",
    "arrange",
    "arrow_type",
    "cells_of_questions",
    "check_display",
    "check_outer",
    "check_plain",
    "columns_with_intervals",
    "noise_by_column",
    "outer_names_with_intervals",
    "run_on_cells",
    "show_levels",
    "show_outer",
    "widened_half_width",
]
