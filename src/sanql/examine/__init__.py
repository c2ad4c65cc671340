"""A policy and its rows side by side, for the owner alone: what of the one does not fit the other.

Rows are read, nothing is charged, and nothing of it is ever shown to an analyst.
"""

from sanql.examine.examination import Examination, Mismatch, examine
from sanql.examine.looks import (
    Look,
    chosen_in_words,
    chosen_looking,
    looks_of,
    looks_path,
    record_look,
)
from sanql.examine.proposals import look_to_draft
from sanql.examine.reach import Reach, reach_of
from sanql.examine.rows import readable_source, remove_leftovers

__all__ = [
    "Examination",
    "Look",
    "Mismatch",
    "Reach",
    "chosen_in_words",
    "chosen_looking",
    "examine",
    "look_to_draft",
    "looks_of",
    "looks_path",
    "reach_of",
    "readable_source",
    "record_look",
    "remove_leftovers",
]
