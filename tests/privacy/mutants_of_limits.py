"""Rules of limits, sensitivities and prices: see `mutants`."""

from __future__ import annotations

from privacy.mutation import Mutant

BOUNDING = "privacy/test_bounding.py::"
DISTINCT = "privacy/test_distinct_values.py::"
CHOICE = "privacy/test_value_choice.py::"
AROUND = "statistics/test_variance_around.py::"
CHOSEN = "mechanisms/test_choice.py::"
LEVELS = "plan/test_levels.py::"
MOVED = "plan/test_sensitivity.py::"
BY_VALUE = "statistics/test_by_value.py::"
PRICE = "plan/test_price.py::"
OTHER_GROUPS = "privacy/test_other_groups_replay.py::"
PICKS = "noise/test_picks.py::"
NEW = "privacy/test_relations.py::"
SHARES = "privacy/test_shares.py::"
SUMMARIES = "compile/test_summaries.py::"
NORMS = "privacy/test_norms.py::"

LIMITS = (
    # ---- what one unit may add
    Mutant(
        "a unit is in no more groups than it may",
        "compile/limits.py",
        "{source}.u = {heavy}.u AND {source}.h >= {heavy}.below",
        "FALSE",
        f"{BOUNDING}test_a_unit_keeps_as_many_of_its_groups_as_it_may",
    ),
    Mutant(
        "equal hashes never let a group too many through",
        "compile/limits.py",
        "{source}.h >= {heavy}.below",
        "{source}.h > {heavy}.below",
        f"{BOUNDING}test_a_unit_keeps_as_many_of_its_groups_as_it_may",
    ),
    Mutant(
        "which groups stay is decided by a hash under a secret of the answer",
        "compile/keyed_hash.py",
        "', '.join([secret, *parts])",
        "', '.join(parts)",
        f"{BOUNDING}test_which_groups_a_unit_keeps_depends_on_the_secret",
    ),
    Mutant(
        "no key is kept more often than another, whatever its bits",
        "compile/keyed_hash.py",
        'f"system.main.hash(system.main.hash({',
        'f"coalesce(system.main.hash({',
        "compile/test_draws.py::test_each_key_of_a_unit_comes_first_equally_often",
    ),
    Mutant(
        "no more rows of a unit count in one group than may, whatever a join made of them",
        "compile/limits.py",
        'size = f"system.main.least(n, {most})"',
        'size = "n"',
        f"{NEW}test_rows_that_a_join_repeats_count_within_the_limits",
    ),
    Mutant(
        "no more rows of a unit count in all its groups than may",
        "compile/limits.py",
        "return limits.groups > 1 and limits.rows < limits.groups * limits.rows_per_group",
        "return False",
        f"{BOUNDING}test_rows_beyond_the_limits_are_shared_among_groups_as_documented",
    ),
    Mutant(
        "a unit takes no more different values than it may",
        "kernel/greedy.py",
        "if used == most[first]:",
        "if used == most[first] + 1:",
        f"{DISTINCT}test_in_every_tiny_table_a_unit_moves_the_count_by_no_more_than_is_declared",
    ),
    Mutant(
        "a choice is scored in steps of what a unit that changes can do to it",
        "measurements/value_choice.py",
        'apart = max if neighbours == "add-remove" else _both',
        "apart = max",
        f"{CHOICE}test_no_score_moves_by_more_than_one_whatever_is_found",
    ),
    Mutant(
        "noise is for as many values of a unit as were chosen",
        "plan/chosen_values.py",
        "share = Fraction(chosen, level.measurements[index].choices[-1])",
        "share = Fraction(1, level.measurements[index].choices[-1])",
        f"{CHOICE}test_counts_have_noise_in_proportion_to_what_was_chosen",
    ),
    Mutant(
        "what a choice is made by has what is taken in groups without a cell",
        "compile/cells.py",
        'f"(SELECT q FROM distinct{index}_in_all) AS q{index}",',
        'f"coalesce(distinct{index}.d, [{none}]::BIGINT[]) AS q{index}",',
        f"{CHOICE}test_a_group_that_comes_with_a_unit_brings_nothing_into_the_choice",
    ),
    Mutant(
        "units of equal hashes take turns one after the other, whatever the engine does",
        "compile/distinct_pairs.py",
        "OVER (ORDER BY h, u)",
        "OVER (ORDER BY h)",
        f"{DISTINCT}test_where_all_draws_are_equal_units_and_pairs_decide_by_themselves",
    ),
    Mutant(
        "a unit's sum in a group stays within its total",
        "compile/limits.py",
        "if measurement.total is not None:",
        "if False:",
        f"{BOUNDING}test_a_units_sum_in_one_group_stays_within_its_total",
    ),
    Mutant(
        "rows beyond the limit do not count in a quantile",
        "compile/quantile_bins.py",
        "CASE WHEN m < n THEN",
        "CASE WHEN FALSE THEN",
        f"{NEW}test_a_quantile_counts_no_more_rows_of_a_unit_than_may",
    ),
    Mutant(
        "values that are held for quantiles are in order",
        "compile/summaries.py",
        "{ascending(held_values(f'y{number}'))}",
        "{held_values(f'y{number}')}",
        "compile/test_summaries.py::test_all_values_of_a_unit_are_in_order",
    ),
    # ---- how far one unit moves a measurement
    Mutant(
        "a unit that changes leaves its groups and enters others",
        "measurements/sensitivity.py",
        'cells = setting.limits.groups * (1 if setting.neighbours == "add-remove" else 2)',
        "cells = setting.limits.groups",
        f"{MOVED}test_counts_of_units_move_exactly_as_declared",
    ),
    Mutant(
        "a whole count is public only where no row can be left out of it",
        "plan/level.py",
        "        and query.where is None\n",
        "",
        f"{PRICE}test_only_what_no_changed_row_can_move_is_public",
    ),
    Mutant(
        "a whole count of a join or a subquery is not public",
        "plan/level.py",
        "        and isinstance(query.source, Scan)\n",
        "",
        f"{NEW}test_a_whole_count_of_a_join_or_a_subquery_is_not_public",
    ),
    Mutant(
        "a total is not public where another level leaves rows out",
        "plan/level.py",
        "        and not filtering_keys\n",
        "",
        f"{LEVELS}test_a_total_is_not_public_where_rows_are_left_out_of_it",
    ),
    Mutant(
        "a count of values is not public",
        "statistics/collector.py",
        "if expression is not None:\n            setting = replace(setting, always_present=False)",
        "pass",
        f"{PRICE}test_only_what_no_changed_row_can_move_is_public",
    ),
    Mutant(
        "each level of picks adds what it moves",
        "measurements/quantile_picks.py",
        "total += sensitivity_of_sums(here, low, high, None).l1",
        "total = max(total, sensitivity_of_sums(here, low, high, None).l1)",
        f"{PICKS}test_scores_move_by_no_more_than_declared",
    ),
    Mutant(
        "beyond the first level a row may move from one side to another",
        "measurements/quantile_picks.py",
        "here = setting if number == 0 else replace(setting, one_group=False)",
        "here = setting",
        f"{SHARES}test_a_row_moves_from_one_side_of_a_pick_to_the_other",
    ),
    Mutant(
        "squares answer for the end that is further from the noisy mean",
        "measurements/squares.py",
        "max(mean - first.low, first.high - mean)",
        "min(mean - first.low, first.high - mean) + Fraction(1, 2)",
        f"{AROUND}test_squares_of_every_neighbour_move_no_further_than_declared",
    ),
    Mutant(
        "squares are around a mean where both sums are surely of one value",
        "statistics/variance.py",
        "stored = isinstance(argument, ColumnRef) and argument.stored",
        "stored = True",
        f"{AROUND}test_squares_are_around_zero_where_anything_is_not_sure",
    ),
    Mutant(
        "a row of a bin is in one of its places, and in no other",
        "noise/places.py",
        "np.count_nonzero(self._order[:left] < split)",
        "np.count_nonzero(self._order[:left] <= split)",
        f"{PICKS}test_runs_are_what_writing_every_place_down_gives",
    ),
    Mutant(
        "what a choice leaves out at first weighs next to nothing",
        "mechanisms/choice.py",
        "candidates.count.bit_length()) * Fraction(7, 10)",
        "candidates.count.bit_length()) * Fraction(1, 10)",
        f"{CHOSEN}test_what_was_left_out_comes_up_where_the_digits_say_so",
    ),
    Mutant(
        "candidates at one distance are as likely as they are many",
        "mechanisms/choice.py",
        "np.add.reduceat(np.array(runs.sizes, dtype=np.int64), first)",
        "np.array(runs.sizes, dtype=np.int64)[first]",
        f"{CHOSEN}test_candidates_come_up_as_often_as_permuting_and_flipping_says",
    ),
    Mutant(
        "a candidate that had tails before is passed over",
        "mechanisms/choice.py",
        "if distance == 0 or not heads.after_tails(distance, waits, Exponential(entropy)):",
        "if distance >= 0 or not heads.after_tails(distance, waits, Exponential(entropy)):",
        f"{CHOSEN}test_candidates_come_up_as_often_as_permuting_and_flipping_says",
    ),
    Mutant(
        "all waits together are what tails are before",
        "mechanisms/choice.py",
        "sum(wait.floor(bits) for wait in waits)",
        "waits[-1].floor(bits)",
        f"{CHOSEN}test_tails_are_before_heads_where_the_times_say_so",
    ),
    Mutant(
        "digits of a time go on from those that are known",
        "mechanisms/exponential.py",
        "(self._floor << _DIGIT) + drawn",
        "drawn",
        f"{CHOSEN}test_digits_of_an_exponential_are_those_of_one_real_number",
    ),
    Mutant(
        "a pick answers for scores that move both ways",
        "plan/mechanism.py",
        "return Geometric(2 * measurement.sensitivity.l1 / epsilon)",
        "return Geometric(measurement.sensitivity.l1 / epsilon)",
        f"{NEW}test_a_pick_is_no_likelier_among_neighbours_than_its_epsilon_says",
    ),
    Mutant(
        "counts around a pick are those of several groups",
        "measurements/quantile_picks.py",
        "return sensitivity_of_counts(replace(setting, one_group=False))",
        "return sensitivity_of_counts(setting)",
        f"{NEW}test_rows_move_from_one_count_around_a_pick_to_another",
    ),
    Mutant(
        "rows move from one value to another within a group",
        "measurements/sensitivity.py",
        "apart = replace(setting, one_group=False, always_present=False, merged=False)",
        "apart = setting",
        f"{MOVED}test_counts_by_value_move_exactly_as_declared",
    ),
    Mutant(
        "a value by which rows are counted is listed once",
        "plan/keys.py",
        "values = tuple(v for v in _distinct(listed, expression.facts) if v is not None)",
        "values = tuple(v for v in listed if v is not None)",
        f"{BY_VALUE}test_values_are_known_by_what_is_declared_and_asked",
    ),
    Mutant(
        "the threshold that was asked for is the one that is reached",
        "ask/price.py",
        "threshold=threshold + more * most",
        "threshold=threshold",
        "ask/test_fewest_units.py::"
        "test_without_noise_just_the_groups_that_have_enough_beyond_the_threshold_appear",
    ),
    Mutant(
        "the owner's fewest units raise every threshold of selected keys",
        "statistics/collector.py",
        "return of_one_unit + (self.fewest_units - 1) *",
        "return of_one_unit + 0 *",
        "ask/test_fewest_units_of_the_owner.py::"
        "test_at_the_highest_noise_just_the_groups_of_enough_units_appear",
    ),
    Mutant(
        "joined tables need as many units of a group as each of them",
        "plan/reading.py",
        "fewest = max(table.units_per_selected_group_min for table in private)",
        "fewest = 1",
        "ask/test_fewest_units_of_the_owner.py::"
        "test_at_the_highest_noise_just_the_groups_of_enough_units_appear",
    ),
    Mutant(
        "a unit weighs less the more groups it is in",
        "compile/key_weights.py",
        "::DOUBLE / {groups}",
        "::DOUBLE",
        "plan/test_weighted_selection.py::test_cells_are_the_weights_and_add_up_over_units",
    ),
    Mutant(
        "of a unit in too many groups no more have a weight than may",
        "compile/limits.py",
        "_thresholds('pairs', groups_max)",
        "_thresholds('pairs', 1_000_000)",
        "plan/test_weighted_selection.py::test_no_more_groups_of_a_unit_have_a_weight_than_may",
    ),
    Mutant(
        "units that count row by row are no longer than the norm",
        "compile/small_units.py",
        "return min(count, norm.most // row)",
        "return min(2 * count, norm.most // row)",
        "compile/test_small_units.py::test_just_so_many_rows_are_not_longer_than_a_norm",
    ),
    Mutant(
        "units that count row by row are those that no limit binds",
        "compile/small_units.py",
        "return max(0, min(_most(level, measured)))",
        "return 1 << 40",
        "questions/test_every_way.py::test_tpch_has_the_same_cells_every_way",
    ),
    Mutant(
        "units that count row by row have no more in all than a total allows",
        "compile/small_units.py",
        "yield _fits(high, largest) if high >= 0 else 0",
        "pass",
        "compile/test_small_units.py::test_cells_are_those_of_the_long_way",
    ),
    Mutant(
        "units that count row by row have no more rows in all than are counted one by one",
        "kernel/clustering.py",
        "count(*) AS size FROM",
        "1 AS size FROM",
        "compile/test_small_units.py::test_beside_a_row_is_how_many_its_unit_has",
    ),
    Mutant(
        "units whose pairs are added up one by one are no longer than the norm",
        "compile/small_units.py",
        "squares = min(norm.threshold >> max(0, norm.order * norm.shift) for norm in norms)",
        "squares = 1 << 40",
        f"{SUMMARIES}test_pairs_of_short_units_are_added_up_one_by_one",
    ),
    Mutant(
        "units whose pairs are added up one by one are in no more groups than are weighed",
        "compile/small_units.py",
        'f" AND {GROUPS} <= {groups_max}"',
        'f" AND {GROUPS} <= {groups_max + 90}"',
        f"{SUMMARIES}test_pairs_of_short_units_are_added_up_one_by_one",
    ),
    Mutant(
        "what a group weighs hangs on the groups that conditions leave",
        "compile/small_units.py",
        "if level.query.where is not None or level.outline.filtering_keys:",
        "if level.outline.filtering_keys:",
        f"{SUMMARIES}test_pairs_of_short_units_are_added_up_one_by_one",
    ),
    Mutant(
        "each unit of a part is in one of its blocks",
        "kernel/blocks.py",
        "// blocks for n in",
        "// (blocks + 1) for n in",
        "compile/test_parts.py::test_cells_of_blocks_add_up_to_the_cells_of_all",
    ),
    Mutant(
        "units that count row by row are within norms, also where these are shorter than limits",
        "compile/small_units.py",
        "yield within_norm(part)",
        "yield 1 << 62",
        "privacy/test_norms_meet.py::"
        "test_norms_shorter_than_limits_decide_who_is_counted_row_by_row",
    ),
    Mutant(
        "sums and counts of units whose keys are weighed have the least factor of all",
        "compile/norms.py",
        """{'held' if one_group else 'long'}.l{n}\"""",
        """{'held' if one_group else 'long'}.l0\"""",
        "privacy/test_norms_meet.py::"
        "test_no_unit_moves_joint_averages_of_weighed_keys_further_than_declared",
    ),
    Mutant(
        "a product is divided in 64 bits only where it fits them",
        "compile/norms.py",
        "self._most(self._measurements[place]) * self._norm(place).scale * norm.numerator < WORD",
        "True",
        "privacy/test_norms_meet.py::"
        "test_norms_shorter_than_limits_decide_who_is_counted_row_by_row",
    ),
    Mutant(
        "a unit is longer by all its groups, also where its keys are weighed",
        "compile/unit_lengths.py",
        "AS g{_added(lengths)} FROM held",
        "AS g{_added(lengths).replace('.sum', '.max')} FROM held",
        "plan/test_weighted_selection.py::"
        "test_a_unit_is_scaled_by_its_norm_where_its_keys_are_weighed",
    ),
    Mutant(
        "what few rows add up to is computed in 64 bits only where it fits them",
        "compile/norms.py",
        "few = min(rows, (WORD - 1) // (part.size + far))",
        "few = rows",
        f"{NORMS}test_sums_far_from_zero_are_as_exact_as_those_near_it",
    ),
    Mutant(
        "rows are taken as all there is of a unit in a group only where they are",
        "compile/summaries.py",
        "return keys.grouped(key) in same and not keys.shortened()",
        "return True",
        "compile/test_summaries.py::test_cells_are_those_of_the_rows",
    ),
    Mutant(
        "rows added up are counted as often as they are rows",
        "compile/limits.py",
        'f"system.main.sum({column})::{kind}"',
        "of_rows",
        "compile/test_summaries.py::test_cells_are_those_of_the_rows",
    ),
    Mutant(
        "rows added up by one column are not read for another",
        "compile/summaries.py",
        "if read <= {summary.column} and",
        "if",
        "compile/test_summaries.py::test_cells_are_those_of_the_rows",
    ),
    Mutant(
        "of a unit in too many groups no more have a weight than may, also by norm",
        "compile/norms.py",
        "(SELECT u FROM reached WHERE g > {most})",
        "(SELECT u FROM reached WHERE FALSE)",
        "plan/test_weighted_selection.py::test_no_more_groups_of_a_unit_have_a_weight_than_may",
    ),
    Mutant(
        "a unit with many keys of its own shows none of them but for delta",
        "plan/weighted_selection.py",
        "key_weight(low), failure / high",
        "key_weight(low), failure",
        "plan/test_weighted_selection.py::test_keys_of_one_unit_alone_stay_hidden_but_for_the_failure",
    ),
    Mutant(
        "every count by value has a draw of its own",
        "noise/histograms.py",
        "noisy = add_saturating(exact, sampler.sample(level.noises[index], exact.size))",
        "noisy = exact + sampler.sample(level.noises[index], 1)",
        f"{BY_VALUE}test_each_count_has_a_draw_of_its_own",
    ),
    # ---- levels, other groups, bounds and limits that San finds
    Mutant(
        "levels share one epsilon",
        "plan/laplace.py",
        "self._level(measuring, epsilon * share, delta_each)",
        "self._level(measuring, epsilon, delta_each)",
        f"{LEVELS}test_all_levels_together_cost_what_was_asked_exactly",
    ),
    Mutant(
        "levels share one rho",
        "plan/gaussian.py",
        "_noises(measuring, own, rho * share, failure)",
        "_noises(measuring, own, rho, failure)",
        f"{LEVELS}test_gaussian_levels_share_one_conversion",
    ),
    Mutant(
        "levels that select keys share one delta",
        "plan/laplace.py",
        "delta_each = delta / max(1, selecting(levels))",
        "delta_each = delta",
        f"{SHARES}test_levels_that_select_keys_share_one_delta",
    ),
    Mutant(
        "the charge has the events of every level",
        "plan/pricing.py",
        "events = tuple(event for level in best for event in level.charge.events)",
        "events = max(best, key=lambda priced: len(priced.charge.events)).charge.events",
        f"{LEVELS}test_all_levels_together_cost_what_was_asked_exactly",
    ),
    Mutant(
        "groups that are added up move as one cell",
        "measurements/sensitivity.py",
        "return (total, total, total**2) if self.merged else (total, largest, squared)",
        "return total, largest, squared",
        f"{OTHER_GROUPS}test_neighbours_move_other_groups_by_no_more_than_declared",
    ),
    Mutant(
        "the count that selects has no sum over other groups that is not paid for",
        "noise/other_groups.py",
        "units = sums.pop(measuring.selection, 0) if measuring.selection is not None else 0",
        "units = sums.get(measuring.selection, 0) if measuring.selection is not None else 0",
        f"{OTHER_GROUPS}test_every_number_of_the_row_is_accounted_for",
    ),
    Mutant(
        "units in several groups are not added up",
        "plan/other_groups.py",
        "return limits.groups == 1",
        "return True",
        "plan/test_other_groups.py::test_what_does_not_add_up_is_not_shown_of_other_groups",
    ),
    Mutant(
        "only keys that reach the threshold appear",
        "noise/cells.py",
        "appears = noisy >= threshold",
        "appears = noisy >= 1",
        "noise/test_cells.py::test_only_keys_that_reach_the_threshold_appear",
    ),
    Mutant(
        "the draw that selects a key is the one that is shown",
        "noise/cells.py",
        "case _ if index == self._level.outline.measuring.selection:",
        "case _ if False:",
        "noise/test_cells.py::test_keys_that_do_not_appear_cost_one_draw_and_no_more",
    ),
    Mutant(
        "for San's own questions a unit is in one bin",
        "plan/bins.py",
        "price(outline(query, tables, neighbours, groups_asked=1), epsilon, Fraction(0))",
        "price(outline(query, tables, neighbours), epsilon, Fraction(0))",
        "plan/test_auto_bounds.py::test_a_unit_is_in_one_bin",
    ),
    Mutant(
        "bounds that San finds are paid from the question's epsilon",
        "ask/bounded_question.py",
        "return epsilon - question.epsilon_of_bounds",
        "return epsilon",
        "ask/test_found_bounds.py::test_bounds_are_paid_once_and_every_question_the_rest",
    ),
    Mutant(
        "suggested limits of rows and of groups share one epsilon",
        "ask/limit_suggestions.py",
        "rows = rows_of_units(name, tables, neighbours, epsilon / 2)",
        "rows = rows_of_units(name, tables, neighbours, epsilon)",
        f"{SHARES}test_suggested_limits_of_rows_and_groups_share_one_epsilon",
    ),
    Mutant(
        "what San finds out is charged before a row is read",
        "ask/measure.py",
        "reserve = partial(session.ledger.reserve, analyst, digest, plan.charge, about_it)",
        "free = type(plan.charge)((), 0, 0)\n"
        "            reserve = partial(session.ledger.reserve, analyst, digest, free, about_it)",
        "ask/test_found_bounds.py::test_bounds_are_paid_once_and_every_question_the_rest",
    ),
)
