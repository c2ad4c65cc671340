"""Rules of accounts, versions, failures and least prices: see `mutants`."""

from __future__ import annotations

from privacy.mutation import Mutant

RENAMED = "threats/test_renamed_tables.py::"
DOOR = "threats/test_the_door_to_rows.py::"
CHANGED = "threats/test_changed_sources.py::"
OWNED = "threats/test_account_belongs_to_the_data.py::"
LEAST = "threats/test_a_question_has_a_least_price.py::"
ONCE = "threats/test_asked_at_once.py::"
FAILED = "account/test_failures.py::"
AFTER = "exact/test_successors.py::"
PINNED = "account/test_pinning.py::"
COMMANDS = "cli/test_accounts.py::"
FORKED = "threats/test_forked_accounts.py::"

ACCOUNTS = (
    # ---- the odometer
    Mutant(
        "what an odometer aims at is fixed when it is opened",
        "account/accountants/renyi.py",
        "case RenyiComposition(odometer):\n                return odometer\n            case None:",
        "case None | RenyiComposition():",
        "account/test_changing_limits.py::"
        "test_a_raise_of_epsilon_keeps_what_was_counted_and_adds_no_more_than_the_difference",
    ),
    Mutant(
        "leaks count beside an odometer's own delta",
        "account/accountants/renyi.py",
        "return self.totals.losses.leaked + self.odometer.delta",
        "return self.odometer.delta",
        "account/test_filter.py::"
        "test_leaks_alone_use_all_of_delta_and_seven_eighths_once_charges_are_counted_together",
    ),
    Mutant(
        "the weights of the orders add up to one",
        "account/accountants/renyi.py",
        "others = Fraction(1, 2 * (len(ORDERS) - 1))",
        "others = Fraction(1, 2)",
        "account/test_filter.py::"
        "test_the_orders_conversions_solve_their_equation_with_weights_that_add_up_to_one",
    ),
    Mutant(
        "charges paid one by one stay paid when accounting changes",
        "account/accountants/filter.py",
        "return None if read is None else self.paid.epsilon + read",
        "return read",
        "account/test_changing_limits.py::"
        "test_an_owner_who_changes_the_accounting_after_seeing_answers_never_exceeds_delta",
    ),
    Mutant(
        "a table spelled otherwise is the same table of a version",
        "account/ledger/versions.py",
        "            now.get(fold(name), stamp) == stamp for",
        "            stamps.get(name, stamp) == stamp for",
        f"{RENAMED}test_changed_data_are_not_read_under_another_name",
    ),
    Mutant(
        "files are the same data whatever their tables are called",
        "ask/data.py",
        "if version is not None and not version.is_renamed(stamped.hashes):",
        "if False:",
        f"{RENAMED}test_changed_data_are_not_read_under_another_name",
    ),
    # ---- what a registry forgets
    Mutant(
        "heads are pinned in every registry",
        "account/claims/claims.py",
        "return [each.head_path(account) for each in self._registries if each.prepare()]",
        "return [self._registry.head_path(account)]",
        f"{OWNED}test_an_old_ledger_put_back_is_noticed_where_another_registry_is_named",
    ),
    Mutant(
        "claims are kept at home too",
        "account/claims/claims.py",
        "at_home = self._record_at_home(holder, taken, held)",
        "at_home = True",
        "account/test_claims.py::"
        "test_whatever_the_environment_names_the_home_has_the_claim_and_the_newest_head",
    ),
    Mutant(
        "an old ledger is not merged",
        "sources/ownership/account_changes.py",
        "        _check_newest(giving, claims, other)\n",
        "",
        f"{COMMANDS}test_an_old_ledger_is_not_merged",
    ),
    Mutant(
        "an account whose ledger was moved is not lost",
        "sources/ownership/lost_ledgers.py",
        "    _check_not_moved(held, policy)\n",
        "",
        f"{COMMANDS}test_an_account_whose_ledger_the_policy_names_is_not_given_up_as_lost",
    ),
    # ---- whose the data are
    Mutant(
        "a private file has one unit, whatever its table is called",
        "account/claims/claims.py",
        "                if was not in (None, now, *holder.former_units.get(fold(table), ())):\n",
        "                if False:\n",
        f"{RENAMED}test_a_file_does_not_come_back_with_another_unit",
    ),
    Mutant(
        "a file of two tables of one policy has one unit",
        "account/claims/claims.py",
        "if units.setdefault(address.identity, unit) != unit:",
        "if False:",
        f"{RENAMED}test_a_file_has_one_unit_in_one_policy",
    ),
    Mutant(
        "whose the data are is looked at whenever they are opened",
        "sources/ownership/admission.py",
        "        Claims(site).check(holder)\n",
        "        pass\n",
        f"{DOOR}test_a_source_that_was_missing_when_the_policy_was_opened_is_looked_at_when_it_is_read",
    ),
    Mutant(
        "types are read from rows only behind the door",
        "engines/preparation.py",
        "if prepared is None and source.reads_rows:",
        "if False:",
        f"{DOOR}test_the_types_of_a_claimed_file_say_nothing_of_its_rows",
    ),
    Mutant(
        "no types are read from rows for a scratch account",
        "sources/files.py",
        "infer = table.public and not table.columns and not policy.scratch",
        "infer = table.public and not table.columns",
        f"{DOOR}test_what_a_scratch_account_is_not_told_of_a_public_table_is_text_to_it",
    ),
    Mutant(
        "a file that is put in the place of a claimed one is no public table's",
        "account/claims/registry.py",
        'same = "(address.identity = ? OR address.path = ?) AND NOT folder"',
        'same = "(address.identity = ? OR address.path = ? AND 0) AND NOT folder"',
        f"{DOOR}test_a_source_that_was_missing_when_the_policy_was_opened_is_looked_at_when_it_is_read",
    ),
    Mutant(
        "a file that a policy calls private and public is private",
        "account/claims/claims.py",
        "            if address.identity in public:\n                raise called_public(address.path)\n",
        "            pass\n",
        f"{DOOR}test_a_file_that_one_policy_calls_private_and_public_is_private",
    ),
    Mutant(
        "a second account over claimed data is refused",
        "account/claims/claims.py",
        "raise claimed_by_another(claim, holder.ledger)",
        "continue",
        "account/test_claims.py::test_both_places_are_written_and_each_alone_is_enough",
    ),
    Mutant(
        "no account is begun over data that another one is kept of",
        "account/claims/claims.py",
        "raise claimed_by_another(claim, ledger)",
        "continue",
        f"{OWNED}test_a_second_account_over_the_same_data_is_refused",
    ),
    Mutant(
        "a copy of the ledger is no second budget",
        "account/claims/claims.py",
        "if not holder.keeps(claim):",
        "if False:",
        f"{OWNED}test_a_second_account_over_the_same_data_is_refused",
    ),
    Mutant(
        "a fresh ledger in the place of the old one is refused",
        "account/claims/claims.py",
        "                raise replaced(claim)\n",
        "                continue\n",
        f"{OWNED}test_a_fresh_ledger_in_the_place_of_the_old_one_is_noticed",
    ),
    Mutant(
        "an account that nobody could find again is refused",
        "account/claims/claims.py",
        "if not at_home and (self._site.origins.claimed or beside < len(self._places)):",
        "if False:",
        "account/test_claims.py::test_an_account_that_can_be_claimed_nowhere_is_refused",
    ),
    Mutant(
        "a registry that a variable names is not enough where nothing stands beside the source",
        "account/claims/claims.py",
        "return at_home is not None",
        "return True",
        "account/test_claims.py::test_a_registry_that_a_variable_names_is_not_enough_alone",
    ),
    Mutant(
        "what is pinned elsewhere is read before a record is appended",
        "account/ledger/journal.py",
        "                for place in self._pinned:\n                    self._check_besides(place)\n",
        "",
        f"{PINNED}test_whoever_is_charged_first_goes_on_and_the_other_is_refused_before_a_record",
    ),
    Mutant(
        "what is pinned elsewhere is read before it is written over",
        "account/ledger/journal.py",
        "                    self._check_besides(place)\n                    write_pinned",
        "                    write_pinned",
        f"{PINNED}test_of_two_that_wrote_before_either_pinned_only_one_is_answered",
    ),
    Mutant(
        "a second head that vanishes is missed",
        "account/ledger/journal.py",
        "raise second_head_missing(str(place))",
        "return",
        f"{PINNED}test_a_second_head_that_vanishes_while_the_ledger_is_open_is_missed",
    ),
    Mutant(
        "a ledger's file has one name",
        "account/ledger/pinning.py",
        "if names > 1:",
        "if False:",
        f"{PINNED}test_a_file_with_two_names_is_refused_under_both_until_one_is_gone",
    ),
    Mutant(
        "the same file under another name keeps no claim",
        "account/claims/claims.py",
        "return claim.account == self.account and name == own_name",
        "return claim.account == self.account",
        f"{PINNED}test_a_claim_is_kept_by_the_file_under_its_name_and_wherever_its_folder_goes",
    ),
    Mutant(
        "an account that went elsewhere is not charged where it was",
        "ask/session.py",
        " and self._claim_held.stands()",
        "",
        f"{FORKED}test_an_account_that_went_elsewhere_is_not_charged_where_it_was",
    ),
    Mutant(
        "a closed account leaves its exact releases on the claim",
        "sources/ownership/account_changes.py",
        "exact_closed=ledger.owner.exact_cells_left",
        "exact_closed=False",
        f"{AFTER}test_no_account_after_one_with_exact_releases_gives_exact_answers",
    ),
    Mutant(
        "nobody knows the exact releases of a lost account",
        "sources/ownership/lost_ledgers.py",
        "exact_closed=True",
        "exact_closed=False",
        f"{AFTER}test_no_account_after_one_with_exact_releases_gives_exact_answers",
    ),
    Mutant(
        "exact answers stay closed for whoever comes after",
        "account/claims/owner.py",
        "return bool(books.exact.entries) or books.ownership.exact_closed",
        "return bool(books.exact.entries)",
        f"{AFTER}test_exact_answers_stay_closed_for_every_account_that_follows",
    ),
    Mutant(
        "a closed book takes no exact release",
        "account/ledger/exact_releases.py",
        "            check_exact_open(books.ownership)\n            self._preconditions.check_together",
        "            self._preconditions.check_together",
        f"{AFTER}test_no_account_after_one_with_exact_releases_gives_exact_answers",
    ),
    # ---- which data an answer is about
    Mutant(
        "an answer is on record for one version of the data",
        "ask/session.py",
        'return f"{self.policy.name}, version {version}"',
        'return f"{self.policy.name}, version {version and 1}"',
        f"{CHANGED}test_a_new_version_is_opened_whether_or_not_anything_changed",
    ),
    Mutant(
        "a file that is written to during a question gives no answer",
        "ask/data.py",
        "if is_copy or not opened.version.holds(self._look(source)[0].hashes):",
        "if False:",
        f"{CHANGED}test_a_file_written_to_during_a_question_gives_no_answer",
    ),
    Mutant(
        "versions are opened one after another",
        "account/ledger/versions.py",
        "if number not in following or (formerly and not (begun == number == 1)):",
        "if False:",
        "account/test_versions.py::test_anything_else_is_found_by_the_accounts_and_by_the_auditor",
    ),
    Mutant(
        "nothing is charged before a worker has the data open",
        "ask/measure.py",
        "        with time_in_steps(), opened.workers.lease() as lease:\n",
        "        session.ledger.reserve(analyst, digest, plan.charge, asked)\n"
        "        with time_in_steps(), opened.workers.lease() as lease:\n",
        f"{CHANGED}test_nothing_is_charged_where_no_worker_gets_ready",
    ),
    # ---- failures
    Mutant(
        "what dies with its process is a failure",
        "account/ledger/failures.py",
        "return books.failures + orphans",
        "return books.failures",
        f"{FAILED}test_a_reset_is_recorded_and_counts_failures_and_orphans_anew",
    ),
    Mutant(
        "failures are rationed for each analyst",
        "account/ledger/failures.py",
        "if policy.analysts and failed[analyst] >= policy.failures_max:",
        "if False:",
        f"{FAILED}test_failures_are_rationed_for_each_analyst_and_for_all_together",
    ),
    Mutant(
        "failures are rationed for all analysts together",
        "account/ledger/failures.py",
        "if sum(failed.values()) >= total_max:",
        "if False:",
        f"{FAILED}test_failures_are_rationed_for_each_analyst_and_for_all_together",
    ),
    # ---- least prices, and one charge for one question
    Mutant(
        "an accuracy costs at least the least price",
        "ask/price.py",
        "return max(session.policy.epsilon_per_query_min, least)",
        "return least",
        f"{LEAST}test_an_accuracy_that_needs_less_is_had_for_the_least_price_and_says_so",
    ),
    Mutant(
        "suggestions cost at least the least price in all",
        "ask/limit_suggestions.py",
        "check_least_price(session.policy, total_charge(unpaid))",
        "pass",
        f"{LEAST}test_suggestions_cost_at_least_that_in_all",
    ),
    Mutant(
        "whoever waited for the same question looks for its answer first",
        "ask/measure.py",
        "known = None if fresh else recorded_of(session, analyst, plan, about.number, about.formerly)",
        "known = None",
        f"{ONCE}test_two_hundred_repeats_from_threads_are_one_charge",
    ),
    Mutant(
        "processes that ask the same wait for each other, too",
        "account/stores/asking.py",
        "            fcntl.fcntl(handle, command, wanted)\n",
        "            pass\n",
        f"{ONCE}test_repeats_from_processes_are_one_charge",
    ),
)
