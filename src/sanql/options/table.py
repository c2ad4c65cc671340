"""The one table of options: what may be asked of an answer besides its content.

An option that is added here can be written in the clause of a question's text, passed in Python and given
to the command; its value is read once, whichever door it came through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypedDict

from sanql.numbers import parse_delta, parse_epsilon
from sanql.options.values import (
    CONFIDENCE,
    Accuracy,
    as_typed,
    flag,
    parse_confidence,
    parse_nonnegative,
    parse_other,
    parse_rounded,
    parse_stage_weights,
    whole_number,
)

Number = str | int | float | Fraction


class Options(TypedDict, total=False):
    """What may be passed beside the text of a question, as typed."""

    epsilon: Number | None
    delta: Number | None
    accuracy: object
    confidence: Number | None
    max_groups_contributed: int | str | None
    max_rows_contributed: int | str | None
    max_values_contributed: int | str | None
    min_privacy_units_per_group: int | str | None
    stage_weights: str | Sequence[Number] | None
    other: str | None
    null_group: bool | None
    nonnegative: bool | None
    rounded: Number | None
    exact: bool
    units_guessed: int | str | None
    rows_guessed: int | str | None
    even_if_empty: bool
    fresh: bool


@dataclass(frozen=True)
class Option:
    """One option: how it is read, what it means in the clause, and how the command takes it.

    One without a `clause` cannot stand in the text, one without `flags` only there.
    """

    name: str
    read: Callable[[Any], Any]
    clause: str = ""
    flags: tuple[str, ...] = ()
    help: str = ""
    switch: bool = False
    synonym: str = ""


OPTIONS = (
    Option(
        "epsilon",
        parse_epsilon,
        "the question's price, as passed beside it",
        ("--epsilon", "-e"),
        "The whole question's epsilon.",
    ),
    Option(
        "delta",
        parse_delta,
        "the chance that selecting keys may fail, as passed beside the question",
        ("--delta", "-d"),
        "The whole question's delta.",
    ),
    Option(
        "accuracy",
        as_typed,  # read together with the confidence
        flags=("--accuracy",),
        help="A half-width to reach instead of epsilon: '50', or '2% of 10000', with ' at 0.99' and, "
        "for averages, ' over 500 rows'.",
    ),
    Option(
        "confidence",
        parse_confidence,
        flags=("--confidence",),
        help="Of the intervals; 0.95 if not given.",
    ),
    Option(
        "max_groups_contributed",
        whole_number("max_groups_contributed", 3),
        "in how many groups one unit may count, no more than the policy allows; also `kappa`; `NULL`, "
        "here and in the next two, is as if it were left out: the policy's limit holds",
        ("--max-groups",),
        "Groups one unit may be in.",
        synonym="kappa",
    ),
    Option(
        "max_rows_contributed",
        whole_number("max_rows_contributed", 5),
        "how many rows of one unit may count in all its groups, no more than the policy allows",
        ("--max-rows",),
        "Rows of one unit that may count.",
    ),
    Option(
        "max_values_contributed",
        whole_number("max_values_contributed", 3),
        "how many different values of one unit `COUNT(DISTINCT x)` may add, no more than the policy lets "
        "rows of a unit count, and no more than these; chosen privately without it (distinct_values.md)",
        ("--max-values",),
        "Different values one unit may add to COUNT(DISTINCT x).",
    ),
    Option(
        "min_privacy_units_per_group",
        whole_number("min_privacy_units_per_group", 10),
        "of keys that are selected privately, those with fewer units do not appear, but for delta",
        ("--min-units",),
        "Units a group must have to appear, where groups are selected privately.",
    ),
    Option("privacy_unit_column", str, "checked: the policy decides the unit"),
    Option(
        "release",
        str,
        "`'exact'` for an answer without noise where the owner declares one (exact.md), or `'noisy'`",
    ),
    Option(
        "group_selection_strategy",
        str,
        "`LAPLACE_THRESHOLD` is what happens to keys that are not public; `PUBLIC_GROUPS` is refused "
        "unless they are",
    ),
    Option(
        "group_selection_epsilon",
        parse_epsilon,
        "checked to be a part of epsilon: how much of it goes into selecting keys, San decides; all of "
        "it together is what is charged",
    ),
    Option(
        "stage_weights",
        parse_stage_weights,
        "how a question over statistics shares epsilon between its stages: `'1:3'` gives a quarter to "
        "what is measured first; without it every statistic has the same share",
        ("--stage-weights",),
        "How the stages of a question over statistics share epsilon: 1:3, say.",
    ),
    Option(
        "other",
        parse_other,
        "the name of one row more, which adds up the groups that do not appear",
        ("--other",),
        "One row more, so named, adds up other groups.",
    ),
    Option(
        "null_group",
        flag("null_group"),
        "`TRUE` makes rows whose public key is NULL a group of their own, as SQL does; without it they "
        "are in none. Keys that are selected privately have it anyway",
        ("--null-group",),
        "Rows whose public key is NULL are a group as well.",
        switch=True,
    ),
    Option(
        "nonnegative",
        parse_nonnegative,
        "`TRUE` shows counts, and sums that cannot be negative, as 0 where noise took them below",
        ("--nonnegative",),
        "Show 0 where noise takes a count below it.",
        switch=True,
    ),
    Option(
        "rounded",
        parse_rounded,
        "counts and sums are shown to a multiple of this",
        ("--rounded",),
        "Show counts and sums to a multiple of this.",
    ),
    Option(
        "exact",
        flag("exact"),
        flags=("--exact",),
        help="Without noise, where the owner has declared it safe.",
        switch=True,
    ),
    Option(
        "units_guessed",
        whole_number("units_guessed", 500),
        "how many units you guess that the largest key has: a list of keys that need more is refused "
        "before it is charged",
        ("--units-guessed",),
        "A guess at the units of the largest key: no list is paid for that it leaves empty.",
    ),
    Option(
        "rows_guessed",
        whole_number("rows_guessed", 500),
        "over how many rows you guess that a group is: widths of averages that are said before they are "
        "measured are over so many; nothing else hangs on it",
        ("--rows-guessed",),
        "A guess at the rows of a group: over so many, explain says how exact averages will be.",
    ),
    Option(
        "even_if_empty",
        flag("even_if_empty"),
        "`TRUE` asks for a list of keys also where a profile or a guess says that none will appear",
        ("--even-if-empty",),
        "Ask for a list of keys also where a profile or a guess says that none will appear.",
        switch=True,
    ),
    Option(
        "fresh",
        flag("fresh"),
        flags=("--fresh",),
        help="Measure and pay again, whatever is on record.",
        switch=True,
    ),
)


@dataclass(frozen=True)
class AnswerOptions:
    """Every option of one request, read; what was not given is None, or what holds without it."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    accuracy: Accuracy | None = None
    confidence: Fraction = CONFIDENCE
    max_groups_contributed: int | None = None
    max_rows_contributed: int | None = None
    max_values_contributed: int | None = None
    min_privacy_units_per_group: int | None = None
    privacy_unit_column: str | None = None
    group_selection_strategy: str | None = None
    group_selection_epsilon: Fraction | None = None
    stage_weights: tuple[Fraction, ...] | None = None
    other: str | None = None
    null_group: bool = False
    nonnegative: bool = False
    rounded: Fraction | None = None
    exact: bool = False
    units_guessed: int | None = None
    rows_guessed: int | None = None
    even_if_empty: bool = False
    fresh: bool = False
