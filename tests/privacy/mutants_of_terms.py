"""Rules that keep rehearsals from answering and an account to what it promised: see `mutants`."""

from __future__ import annotations

from privacy.mutation import Mutant

SCRATCH = "threats/test_scratch_accounts.py::"
TERMS = "account/test_terms.py::"
RENAMES = "account/test_renames.py::"

TERMS_AND_SCRATCH = (
    Mutant(
        "no scratch account reads the data",
        "ask/data.py",
        "if self._ledger.scratch:\n            raise never_releases()\n        seen = self._seen",
        "if True:\n            pass\n        seen = self._seen",
        f"{SCRATCH}test_no_question_is_answered",
    ),
    Mutant(
        "no scratch account records an answer",
        "account/ledger/journal.py",
        "if self.books.scratch and kind not in SCRATCH_KINDS:",
        "if False:",
        f"{SCRATCH}test_no_question_is_answered",
    ),
    Mutant(
        "a scratch ledger is not opened as a real one",
        "account/ledger/scratch.py",
        "if recorded and not wanted:",
        "if False:",
        f"{SCRATCH}test_a_scratch_ledger_is_never_opened_as_a_real_one_nor_the_other_way_round",
    ),
    Mutant(
        "a real ledger is not opened as a scratch one",
        "account/ledger/scratch.py",
        "if wanted and not recorded:",
        "if False:",
        f"{SCRATCH}test_a_scratch_ledger_is_never_opened_as_a_real_one_nor_the_other_way_round",
    ),
    Mutant(
        "a scratch account is not merged into a real one",
        "sources/ownership/account_changes.py",
        "check_no_scratch(other, scratch=giving.scratch)",
        "pass",
        f"{SCRATCH}test_a_scratch_account_is_not_merged_into_a_real_one",
    ),
    Mutant(
        "a table joins an account only with a unit that it has",
        "account/ledger/terms.py",
        "if known and not _roots(unit, kinds) <= known:",
        "if False:",
        f"{TERMS}test_terms_change_in_no_other_way",
    ),
    Mutant(
        "a table that was public does not become private",
        "account/ledger/terms.py",
        "if fold(key.removeprefix(_UNIT_OF)) in self.public:",
        "if False:",
        f"{TERMS}test_terms_change_in_no_other_way",
    ),
    Mutant(
        "a private table does not become public",
        "account/ledger/terms.py",
        "if fold(_UNIT_OF + table) in units:",
        "if False:",
        f"{TERMS}test_terms_change_in_no_other_way",
    ),
    Mutant(
        "a private table's file is not shown under another name",
        "account/claims/claims.py",
        "if claim.identity in public or claim.path in places:",
        "if False:",
        "threats/test_terms_may_grow.py::"
        "test_a_private_table_that_is_left_out_does_not_come_back_public_under_another_name",
    ),
    Mutant(
        "what was public for charges taken over is not known",
        "account/ledger/state.py",
        "self._take(analyst, charge)\n                self.terms.forget_public()",
        "self._take(analyst, charge)",
        f"{TERMS}test_charges_taken_over_from_another_account_end_what_is_known_of_public_tables",
    ),
    Mutant(
        "what was public in records that are missing is not known",
        "account/ledger/state.py",
        "self.balances)\n                self.terms.forget_public()",
        "self.balances)",
        f"{TERMS}test_records_that_are_missing_end_what_is_known_of_public_tables",
    ),
    Mutant(
        "no name comes to mean another thing",
        "account/ledger/terms.py",
        "if rename.after in on_record - names_of(rename.before, self.renames):",
        "if False:",
        f"{RENAMES}"
        "test_a_rename_that_the_record_does_not_bear_is_refused_and_as_a_record_is_damage_to_both",
    ),
    Mutant(
        "no table is renamed where nobody knows what was public",
        "account/ledger/terms.py",
        "if column is None and self.public is None:",
        "if False:",
        f"{RENAMES}test_a_table_is_not_renamed_where_nobody_knows_what_was_public",
    ),
    Mutant(
        "exact cells of what was renamed leave no second time",
        "account/ledger/exact_book.py",
        "check_exact_names(claim.footprint.table, self.renamed)",
        "pass",
        "threats/test_renamed_on_record.py::"
        "test_no_exact_release_is_made_of_a_table_that_was_renamed_under_either_name",
    ),
    Mutant(
        "charges from before there were claims claim their source",
        "sources/ownership/claimed_ledgers.py",
        "if ledger.owner.state.account is None and ledger.used:",
        "if False:",
        "threats/test_first_ledgers_claim.py::"
        "test_opening_a_ledger_of_0_1_0_claims_its_source_so_that_a_second_account_is_refused",
    ),
)
