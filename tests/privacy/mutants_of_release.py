"""Rules of what leaves, from the engine to the eye: see `mutants`."""

from __future__ import annotations

from privacy.mutation import Mutant

SEEN = "answer/test_visible.py::"
SHOWN = "answer/test_shown_intervals.py::"
BATCHES = "noise/test_batches.py::"
LONG = "privacy/test_long_text.py::"
CHANNEL = "kernel/test_channel.py::"

RELEASE = (
    # ---- text that people see
    Mutant(
        "control characters are shown as escapes",
        "visible.py",
        'frozenset(["Cc", "Cf",',
        'frozenset(["Cf",',
        f"{SEEN}test_nothing_unseen_is_printed",
    ),
    Mutant(
        "bidirectional and invisible characters are shown as escapes",
        "visible.py",
        'frozenset(["Cc", "Cf",',
        'frozenset(["Cc",',
        f"{SEEN}test_nothing_unseen_is_printed",
    ),
    Mutant(
        "no text begins a formula in CSV, also behind what is skipped",
        "visible.py",
        "formula = text.startswith(FORMULA_STARTS) or first in FORMULA_STARTS",
        "formula = text.startswith(FORMULA_STARTS)",
        f"{SEEN}test_nothing_unseen_and_no_formula_is_in_csv",
    ),
    Mutant(
        "JSON is ASCII",
        "visible.py",
        "ensure_ascii=True",
        "ensure_ascii=False",
        f"{SEEN}test_json_is_ascii_without_control_characters_and_reads_back_as_it_was",
    ),
    Mutant(
        "errors quote typed text safely",
        "errors.py",
        "self.message = visible(message, lines=True)",
        "self.message = message",
        f"{SEEN}test_errors_quote_typed_text_safely",
    ),
    # ---- intervals of keys that are selected
    Mutant(
        "the interval of a count that selects holds given that it is shown",
        "statistics/noisy.py",
        "low = np.where(is_other, values - width, self._given_shown(index, confidence))",
        "low = values - width",
        f"{SHOWN}test_given_that_it_is_shown_every_count_is_covered",
    ),
    Mutant(
        "what is shown has the law of what reached the threshold",
        "mechanisms/appearing.py",
        "ratio = tail(values - middle) / tail(threshold - middle)",
        "ratio = tail(values - middle)",
        f"{SHOWN}test_lower_ends_are_those_that_the_definition_gives",
    ),
    Mutant(
        "rows that noise chose are marked: HAVING",
        "certificate/rows_left_out.py",
        "if query.having is not None and _is_noisy(query.having):",
        "if False:",
        f"{SHOWN}test_a_selection_by_noisy_values_is_said_under_the_answer",
    ),
    Mutant(
        "rows that noise chose are marked: LIMIT",
        "certificate/rows_left_out.py",
        "if ordered and (query.limit is not None or query.offset):",
        "if False:",
        f"{SHOWN}test_a_selection_by_noisy_values_is_said_under_the_answer",
    ),
    # ---- cells stream to one noise stage
    Mutant(
        "a result crosses in pieces of bounded size",
        "kernel/run.py",
        "            if size >= PIECE_BYTES:\n",
        "            if False:\n",
        f"{CHANNEL}test_a_result_is_sent_in_pieces_of_a_bounded_size",
    ),
    Mutant(
        "every cell of every piece has a draw of its own",
        "noise/cells.py",
        "self._sampler.sample(noise, len(values))",
        "self._sampler.sample(noise, min(1, len(values)))",
        f"{BATCHES}test_no_draw_serves_two_cells_of_different_batches",
    ),
    Mutant(
        "the order of pieces, which is the engine's, does not show",
        "noise/cells.py",
        "table = _sorted(pa.concat_tables(self._noisy))",
        "table = pa.concat_tables(self._noisy)",
        f"{BATCHES}test_batches_are_the_engines_choice_and_change_nothing",
    ),
    Mutant(
        "a number of groups that depends on data is no answer",
        "noise/cells.py",
        "if self._expected not in (None, self._groups):",
        "if False:",
        f"{BATCHES}test_a_number_of_groups_that_depends_on_data_is_no_answer_in_batches_either",
    ),
    # ---- long texts, collations, keys that conditions leave out
    Mutant(
        "keys that are selected are cut before they leave",
        "compile/group_keys.py",
        'index: text_prefix(f"k{index}", KEY_BYTES_MAX)',
        'index: f"k{index}"',
        f"{LONG}test_a_question_is_answered_whether_or_not_somebodys_text_is_long",
    ),
    Mutant(
        "an identifier that is too long is nobody's",
        "kernel/stored_types.py",
        'return f"CASE WHEN system.main.{length}({expression}) <= {bytes_max} THEN {expression} END"',
        "return expression",
        f"{LONG}test_a_long_identifier_is_never_taken_for_another_one",
    ),
    Mutant(
        "a table with a collation is refused",
        "kernel/schema.py",
        'if " COLLATE " in _unquoted(statement).upper():',
        "if False:",
        "privacy/test_equal_values.py::test_a_collation_is_refused_by_name",
    ),
    Mutant(
        "a key of decimals is left out for no value that is rounded to it",
        "plan/chosen_keys.py",
        "exact = key.facts.type is not Type.REAL",
        "exact = True",
        "plan/test_keys.py::test_keys_that_a_condition_excludes_do_not_appear",
    ),
)
