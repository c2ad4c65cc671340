"""Rules of norms, and of averages that are measured in pairs: see `mutants`."""

from __future__ import annotations

from privacy.mutation import Mutant

SHARES = "privacy/test_shares.py::"
NORMS = "privacy/test_norms.py::"
PAIRS = "privacy/test_pairs.py::"
KNOWN = "privacy/test_known_norms.py::test_no_unit_moves_cells_further_than_declared"
NORMS_COUNTED = (
    f"{NORMS}test_counts_of_every_unit_are_scaled_by_the_rule_and_move_no_further_than_declared"
)

BY_NORM = (
    # ---- averages in pairs
    Mutant(
        "both sides of a pair have noise for what a row adds to the two of them",
        "measurements/pairs.py",
        "return Sensitivity(sides * total * width,",
        "return Sensitivity(sides * total * width // 2,",
        f"{PAIRS}test_a_unit_at_one_end_moves_the_pair_by_all_that_is_declared",
    ),
    Mutant(
        "a unit that changes leaves one side of a pair and comes to the other",
        "measurements/pairs.py",
        'sides = 1 if setting.neighbours == "add-remove" else 2',
        "sides = 1",
        f"{PAIRS}test_a_unit_at_one_end_moves_the_pair_by_all_that_is_declared",
    ),
    Mutant(
        "what values are below their upper bound is of the values that count",
        "compile/cells.py",
        'counts = f"system.main.sum(w{column})"',
        'counts = f"system.main.sum(w{column} + 1)"',
        f"{PAIRS}test_a_unit_at_one_end_moves_the_pair_by_all_that_is_declared",
    ),
    Mutant(
        "one event is charged for both sides, of the noise that they have",
        "plan/laplace.py",
        "noises.append(SummedNoise(DiscreteLaplace(bounds.l1 / (epsilon * paired)), 2))",
        "noises.append(SummedNoise(DiscreteLaplace(bounds.l1 / (2 * epsilon * paired)), 2))",
        f"{PAIRS}test_one_event_is_charged_for_both_sides_with_the_noise_that_they_have",
    ),
    # ---- by norm
    Mutant(
        "a unit that is longer than it may be is shortened",
        "compile/norms.py",
        'return f"CASE WHEN {divisor} IS NULL THEN {text} * {scale} ELSE {beyond} END"',
        'return f"{text} * {scale}"',
        NORMS_COUNTED,
    ),
    Mutant(
        "a sum with a norm of its own is held to it, and rows to theirs",
        "compile/norms.py",
        "THEN system.main.greatest({each}) ELSE system.main.least({each})",
        "THEN system.main.least({each}) ELSE system.main.greatest({each})",
        "privacy/test_average_norms.py::test_no_unit_moves_sums_or_counts_further_than_declared",
    ),
    Mutant(
        "a length is looked for wherever a unit can be too long",
        "compile/unit_lengths.py",
        "return groups * longest > self.norm.threshold",
        "return longest > self.norm.threshold",
        f"{NORMS}test_where_no_unit_can_be_too_long_none_is_looked_at",
    ),
    Mutant(
        "a pair has no more rows than count in one group, where its unit is not looked at",
        "compile/norms.py",
        'return f"system.main.least(n, {most})"\n        else',
        'return "n"\n        else',
        f"{NORMS}test_where_no_unit_can_be_too_long_none_is_looked_at",
    ),
    Mutant(
        "a sum by itself has a norm in steps, whatever size is known of it",
        "plan/norms.py",
        "moved = sensitivity_by_norm(setting, norm, part.low, part.high)",
        "moved = sensitivity_by_norm(setting, replace(norm, alone=False), 0, 1)",
        KNOWN,
    ),
    Mutant(
        "sums and counts that share a factor move by norms of their own",
        "plan/norms.py",
        "moved = sensitivity_by_norm(norms.setting, norm, part.low, part.high)",
        "moved = sensitivity_by_norm(norms.setting, bounds[0], 0, 1)",
        KNOWN,
    ),
    Mutant(
        "a length is rounded up",
        "compile/unit_lengths.py",
        "{root} * {root} >= {squares} THEN {root} ",
        "{root} * {root} <= {squares} THEN {root} ",
        f"{NORMS}test_roots_are_never_too_short",
    ),
    Mutant(
        "a unit is longer by all its groups",
        "compile/unit_lengths.py",
        "system.main.sum({length.each})",
        "system.main.max({length.each})",
        NORMS_COUNTED,
    ),
    Mutant(
        "Gaussian noise is for the length in L2, Laplace noise for that in L1",
        "plan/laplace.py",
        "norm_order = 1",
        "norm_order = 2",
        f"{NORMS}test_each_mechanism_has_the_norm_that_its_noise_is_for",
    ),
    Mutant(
        "a unit that changes may leave all its groups for others, also by norm",
        "measurements/norms.py",
        "            length *= 2\n",
        "            pass\n",
        NORMS_COUNTED,
    ),
    Mutant(
        "a sum of both signs may turn round",
        "measurements/norms.py",
        "squared *= 2 if one_sign else 4",
        "squared *= 2",
        f"{NORMS}test_declared_norms_are_tight_for_counts",
    ),
    Mutant(
        "what sums follow is as long as their rows",
        "plan/norms.py",
        "return values.pop() if len(values) == 1 else None",
        "return next((part.expression for part in scaled if part.expression), None)",
        f"{NORMS}test_sums_and_averages_move_no_further_than_declared",
    ),
    Mutant(
        "a group that nobody keeps is none, whatever is added up for it",
        "noise/cells.py",
        "exact = self._in_use(exact, selection)",
        "pass",
        "noise/test_cells.py::test_a_group_that_nobody_keeps_is_none_whatever_is_added_up_for_it",
    ),
    Mutant(
        "values are held within their bounds after all expressions",
        "compile/measured_values.py",
        "if not _clamped_on_reading(measurement):",
        "if False:",
        f"{SHARES}test_what_is_summed_is_held_whatever_was_proved",
    ),
    Mutant(
        "a value that is proved to be there is there",
        "compile/measured_values.py",
        "if not expression.facts.nullable:",
        "if False:",
        f"{SHARES}test_what_is_summed_is_held_whatever_was_proved",
    ),
    Mutant(
        "a public key is listed once",
        "plan/keys.py",
        "return tuple(dict.fromkeys(_as_key(value, facts) for value in values))",
        "return tuple(_as_key(value, facts) for value in values)",
        "plan/test_keys.py::test_a_key_is_never_listed_twice",
    ),
)
