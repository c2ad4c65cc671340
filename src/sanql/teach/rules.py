"""Why questions are refused: the rules, each with the codes of the refusals that hold it.

docs/refusals.md and the end of docs/sql.md are written from these tables (docs/make_sql.py).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RefusalRule:
    """A rule: what it says, why it is there, and the codes it refuses with.

    One that `stays` is what makes answers private or the program safe; others name what is not there
    yet, or help to write what is meant.
    """

    name: str
    why: str
    codes: tuple[str, ...]
    stays: bool = True


RULES = (
    RefusalRule(
        "Answers are about many",
        "a row, an identifier, or a group for each person would show that person",
        ("returns_rows", "returns_individuals", "unit_column"),
    ),
    RefusalRule(
        "Units never meet",
        "what is computed from one unit's rows must not depend on another's; only then does a limit on "
        "what one unit adds say how much noise hides it",
        ("join_across_units", "subquery_across_units", "window_across_units", "distinct_across_units",
         "join_across_kinds", "kinds_read_alone", "kinds_not_covered",
         "member_missing", "orphans_counted", "join_multiplies", "units_differ",
         "aggregate_of_outer_row"),
    ),
    RefusalRule(
        "What one unit adds is bounded",
        "noise is as large as the most that one unit can change; without bounds there is none that "
        "would hide it",
        ("bounds_missing", "bounds_too_wide", "bounds_not_found", "limits_missing", "limits_not_found",
         "limits_needless", "contribution_invalid", "contribution_unsupported", "groups_invalid",
         "rows_invalid", "values_invalid", "units_invalid",
         "groups_above_policy", "rows_above_policy", "values_above_policy", "integer_overflow",
         "rounding_unbounded",
         "interval_unbounded", "no_clock_time"),
    ),
    RefusalRule(
        "Keys and counted values are exact",
        "two values that differ in the last bit are two groups of one person each",
        ("key_not_rounded", "distinct_real", "group_real", "groups_private", "values_unknown",
         "values_too_many"),
    ),
    RefusalRule(
        "No row decides what happens",
        "an error, or the time a pattern takes, would tell what a row holds: patterns, formats, lists "
        "and offsets are constants, and every operator is total",
        ("constant_needed", "pattern_not_constant", "pattern_invalid", "pattern_too_long",
         "escape_invalid", "format_unknown", "in_not_a_list", "window_offset", "window_order"),
    ),
    RefusalRule(
        "Only what is understood is asked",
        "a construct without a rule of its own has nothing that makes it private; the list of what there "
        "is says so by name",
        ("construct_unsupported", "clause_unsupported", "cast_unsupported", "distinct_unsupported",
         "quantile_list", "not_a_table", "not_a_select", "one_statement"),
    ),
    RefusalRule(
        "Not there yet",
        "nothing speaks against it but the work",
        ("window_frame", "window_over_aggregates", "join_unsupported", "subquery_unsupported",
         "other_levels", "batch_bounds", "over_statistics", "over_statistics_option",
         "not_on_buckets"),
        stays=False,
    ),
    RefusalRule(
        "Texts have limits",
        "a short text can keep a parser busy for minutes; so bytes, words, levels, tables and digits are "
        "limited before anything is understood",
        ("query_too_long", "query_too_deep", "query_too_complex", "not_text", "not_ascii",
         "control_character", "number_invalid", "grouping_sets_too_many"),
    ),
    RefusalRule(
        "Names and places exist",
        "the policy says which tables and columns there are",
        ("not_sql", "no_table", "table_unknown", "column_unknown", "column_ambiguous", "alias_twice",
         "alias_columns", "position_invalid", "limit_invalid", "with_unread", "interval_unknown",
         "grouping_unknown", "grouping_sets_empty", "date_part_unknown", "date_unit_unknown",
         "keys_excluded"),
        stays=False,
    ),
    RefusalRule(
        "Shapes and types fit",
        "as in any SQL",
        ("type_mismatch", "arguments_wrong", "argument_unknown", "argument_twice", "aggregate_inside",
         "column_not_grouped", "join_condition", "union_columns", "subquery_columns", "quantile_invalid",
         "share_invalid", "map_family",
         "qualify_needs_window", "date_invalid", "interval_invalid", "null_compared", "listed_rows"),
        stays=False,
    ),
    RefusalRule(
        "Parameters are constants",
        "no value may change what is asked",
        ("parameter_missing", "parameter_unused", "parameter_mixed", "parameter_place",
         "parameter_invalid", "parameter_twice"),
    ),
    RefusalRule(
        "Options mean one thing",
        "what is given twice, or cannot be read, is not guessed",
        ("option_unknown", "option_twice", "options_malformed", "option_not_decimal",
         "unit_differs", "strategy_unknown", "batch_option", "batch_size",
         "release_unknown", "other_invalid", "other_needless", "nonnegative_invalid",
         "stage_weights_invalid", "stage_weights_needless",
         "switch_invalid", "rounded_invalid", "group_selection_epsilon",
         "rounded_and_accuracy", "finish_needless", "public_only", "list_empty"),
        stays=False,
    ),
    RefusalRule(
        "Prices are numbers",
        "the ledger counts in exact numbers, and every answer has a price",
        ("epsilon_needed", "epsilon_invalid", "epsilon_and_accuracy", "epsilon_below_bounds",
         "epsilon_below_least",
         "continual_unknown", "period_unknown", "continual_price",
         "delta_invalid", "delta_needed", "confidence_invalid", "accuracy_invalid", "accuracy_impossible",
         "accuracy_needs_rows", "accuracy_needs_bounds", "accuracy_not_applicable", "analyst_needed",
         "analyst_unknown", "closed", "extra_missing", "no_picture", "picture_form"),
    ),
    RefusalRule(
        "The data have versions",
        "which data an answer is about is public, so whether they changed is the owner's to say",
        ("source_changed", "stamps_missing"),
    ),
    RefusalRule(
        "A key is for one request",
        "what is sent again under the same idempotency key is charged once",
        ("idempotency_key_invalid", "idempotency_key_reused"),
    ),
    RefusalRule(
        "Answers are read again as they were given",
        "what is on record belongs to whoever asked, and means what was asked then",
        ("question_unknown", "question_unanswered", "question_inner", "text_erased",
         "answer_not_rebuilt"),
    ),
    RefusalRule(
        "A text is erased for good",
        "what was typed can be erased from beside the ledger, which says by whom; nothing is put back",
        ("erase_unclear", "erase_unknown", "erase_running", "time_invalid"),
    ),
    RefusalRule(
        "Rows of public tables take a bounded room",
        "they are free of charge, and a server has others to answer",
        ("public_rows_too_many",),
    ),
    RefusalRule(
        "A scratch account never answers",
        "data have one account, and a rehearsal is no second budget",
        ("scratch_never_releases",),
    ),
    RefusalRule(
        "Exact answers are declared",
        "without noise an answer is safe only against the adversary the owner names; see exact.md",
        ("exact_not_declared", "exact_only", "exact_together", "exact_one_column",
         "exact_outside_cells", "exact_statistic",
         "exact_grouping_sets", "exact_price", "exact_form", "exact_cell_small", "exact_not_certified",
         "exact_combination", "exact_declaration_changed", "exact_source_changed", "exact_closed",
         "exact_renamed"),
    ),
)  # fmt: skip
NOT_YET = (
    "frames of windows by values (`RANGE BETWEEN 3 PRECEDING …`)",
    "inside a unit, named windows (`WINDOW w AS`) and a default for `LAG` and `LEAD` (write `COALESCE`)",
    "`ROLLUP`, `CUBE` and `GROUPING SETS` inside a subquery, or with `other`",
    "`LATERAL`, `INTERSECT` and `EXCEPT` but of identifiers (write `EXISTS`)",
)
