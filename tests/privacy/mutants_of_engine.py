"""Rules that keep the engine from breaking the proof, and an account what it is: see `mutants`."""

from __future__ import annotations

from privacy.mutation import Mutant

STORED = "sources/test_stored_expressions.py::"
LONG_TEXTS = "sources/test_long_texts_of_databases.py::"
DECIDED = "privacy/test_statistics_decide.py::"

ENGINE = (
    Mutant(
        "what reads only public tables is finished before anything private is planned",
        "compile/public_first.py",
        "return not is_private(rows) and not set(_free(rows))",
        "return False",
        "privacy/test_public_first.py::test_each_person_counts_the_same_whoever_else_is_there",
    ),
    Mutant(
        "a subquery is computed once however often it is written",
        "compile/shared_subqueries.py",
        "twice = [number for number in sorted(copies) if copies[number] > 1]",
        "twice: list[int] = []",
        "privacy/test_one_copy.py::test_the_engine_is_told_a_subquery_as_often_as_it_was_written",
    ),
    Mutant(
        "settings are read back where questions run",
        "kernel/lockdown.py",
        "if value != wanted[name]:",
        "if False:",
        "kernel/test_settings.py::test_settings_of_one_session_alone_are_noticed",
    ),
    Mutant(
        "a generated column is not read",
        "kernel/schema.py",
        "COMPUTED if generated else without_labels(physical)",
        "without_labels(physical)",
        f"{STORED}test_a_declared_generated_column_is_refused_whatever_its_rows_hold",
    ),
    Mutant(
        "the labels of an ENUM show nowhere",
        "kernel/schema.py",
        "COMPUTED if generated else without_labels(physical)",
        "COMPUTED if generated else physical",
        f"{STORED}test_the_labels_of_an_enum_change_neither_types_nor_faults",
    ),
    Mutant(
        "a text is read up to its most bytes",
        "kernel/stored_types.py",
        "return text_prefix(converted, bytes_max)",
        "return converted",
        "privacy/test_long_text.py::test_a_text_is_read_up_to_its_last_whole_character_that_fits",
    ),
    Mutant(
        "numbers that are always 0 are had without a private row",
        "plan/level.py",
        "return not self.table.public and all(",
        "return self.table.public and all(",
        "threats/test_what_is_free_reads_no_rows.py::test_zeros_are_answered_without_a_private_row",
    ),
    Mutant(
        "a constant added up over all rows is not computed of them",
        "compile/measured_values.py",
        "measurement.low == measurement.high and not expression.facts.nullable",
        "False",
        "threats/test_what_is_free_reads_no_rows.py::"
        "test_the_number_of_rows_is_all_that_is_read_of_them_under_change_one",
    ),
    Mutant(
        "a charged question costs at least the least price",
        "ask/answer.py",
        "check_least_price(session.policy, plan.charge, question.epsilon_of_found_bounds)",
        "pass",
        "threats/test_a_question_has_a_least_price.py::"
        "test_a_question_below_the_least_price_is_refused_by_name_and_one_at_it_is_answered",
    ),
    Mutant(
        "what a caller breaks off is no failure",
        "account/ledger/state.py",
        'if who_ended(content, self.format) == "engine":',
        "if True:",
        "account/test_failures.py::"
        "test_what_a_caller_breaks_off_or_an_operator_stops_is_no_failure",
    ),
    Mutant(
        "a source that has changed is not read before the owner says so",
        "account/ledger/data_versions.py",
        "if not books.version.holds(stamps):",
        "if False:",
        "threats/test_changed_sources.py::"
        "test_a_source_that_changes_under_san_is_not_read_as_what_it_was",
    ),
    Mutant(
        "data whose ledger is missing get no fresh account",
        "account/claims/claims.py",
        "            raise ledger_vanished(claim)\n\n    def check(",
        "            return\n\n    def check(",
        "threats/test_account_belongs_to_the_data.py::test_a_deleted_ledger_is_missed",
    ),
    Mutant(
        "identical questions asked at once are asked one after the other",
        "ask/measure.py",
        "with session.ledger.asking(analyst, digest):",
        "if True:",
        "threats/test_asked_at_once.py::test_two_hundred_repeats_from_threads_are_one_charge",
    ),
    Mutant(
        "nothing is charged before a worker has said that it is ready",
        "engines/pool.py",
        "            server.confirm()\n",
        "            server.await_ready()\n",
        "engines/test_killed_workers.py::"
        "test_a_worker_that_does_not_say_that_it_is_ready_is_replaced",
    ),
    Mutant(
        "what a worker ends by its own fault is not tried again",
        "kernel/process.py",
        "frozenset({signal.SIGKILL, signal.SIGTERM})",
        "frozenset(signal.Signals)",
        "engines/test_killed_workers.py::test_a_worker_that_ends_by_its_own_fault_has_no_second",
    ),
    Mutant(
        "a second worker begins anew",
        "engines/leases.py",
        "            collector = begin()\n"
        "            done = self._attempt(statement, deadline, collector, None)",
        "            done = self._attempt(statement, deadline, collector, None)",
        "engines/test_killed_workers.py::test_what_a_killed_worker_has_not_finished_is_begun_anew",
    ),
    Mutant(
        "what is said of a copy is what was written",
        "sources/cache.py",
        "if own == _vouched(fingerprint, said) else None",
        "if own else None",
        "sources/test_killed_preparations.py::test_an_entry_with_any_byte_changed_is_none",
    ),
    Mutant(
        "a copy is what was made under its name",
        "sources/cache.py",
        'f"{fingerprint}\\n{said}".encode()',
        'f"{said}".encode()',
        "sources/test_killed_preparations.py::test_a_copy_under_the_name_of_another_is_made_anew",
    ),
    Mutant(
        "what the engine cannot plan is refused before the charge",
        "ask/measure.py",
        "            opened.trials.check(level, statement, released)\n",
        "            pass\n",
        "engines/test_trials.py::test_what_takes_minutes_to_plan_is_refused_and_costs_nothing",
    ),
    Mutant(
        "what is tried has no rows",
        "engines/trials.py",
        "        database=database,\n",
        "",
        "engines/test_trials.py::test_whether_a_question_is_refused_is_seen_without_a_row",
    ),
    Mutant(
        "nothing that the engine is told is a macro",
        "compile/expressions/numbers.py",
        'return f"CASE WHEN {bottom} <> 0 THEN {quotient} END"',
        'return f"nullif({bottom}, 0)"',
        "compile/test_written_out.py::test_no_function_of_the_allow_list_is_written_as_a_macro",
    ),
    Mutant(
        "the longest text of a dictionary decides how many rows are read at a time",
        "kernel/row_groups.py",
        "    longest = _longest(file, number, shared)\n",
        "    longest = 0\n",
        "sources/test_repeated_text.py::"
        "test_one_text_of_many_rows_is_read_and_everybody_elses_beside_it",
    ),
    Mutant(
        "a database with long texts is read from a copy of what counts of them",
        "sources/database.py",
        "    return spared > _SPARED_BYTES\n",
        "    return False\n",
        f"{LONG_TEXTS}test_questions_are_answered_with_and_without_that_person",
    ),
    Mutant(
        "texts that were updated since may be of any length",
        "kernel/long_texts.py",
        " AND NOT has_updates",
        "",
        f"{LONG_TEXTS}"
        "test_texts_that_were_updated_inserted_and_deleted_since_are_read_as_they_are_now",
    ),
)
