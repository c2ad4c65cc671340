"""One list of accountants; a word that is not in it is refused by name, wherever it comes from."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast, get_args

import pytest

from account.forging import forge
from sanql.account.accountants.choice import ACCOUNTANTS, accountant_for, known_accounting
from sanql.account.ledger.ledger import Ledger
from sanql.audit.ledger import verify
from sanql.audit.ledger.accounts import ACCOUNTINGS
from sanql.errors import LedgerError
from sanql.policy.model import Accounting, Budget, Policy

TERMS = {"neighbours": "add-remove"}


def test_every_word_that_a_policy_may_write_has_an_accountant_and_the_auditor_knows_it() -> None:
    assert set(ACCOUNTANTS) == set(get_args(Accounting)) == set(ACCOUNTINGS)


def test_each_accountant_is_held_to_the_contract() -> None:
    from account.test_pure_accountant import TestPureAccountant
    from account.test_renyi_accountant import TestRenyiAccountant

    held = {suite.accounting for suite in (TestPureAccountant, TestRenyiAccountant)}
    assert held == set(ACCOUNTANTS)


@pytest.mark.parametrize("word", ["zcdp", "Pure", "", None, 2, ["pure"]])
def test_an_unknown_way_of_counting_is_refused_by_name(word: object) -> None:
    for refuse in (known_accounting, lambda word: accountant_for(word, Budget(ONE, ZERO))):
        with pytest.raises(LedgerError) as error:
            refuse(cast(Any, word))
        assert error.value.code == "ledger_accounting_unknown"
        assert repr(str(word)) in error.value.message and "'renyi'" in error.value.message


def test_a_ledger_that_is_counted_in_an_unknown_way_is_refused_by_name_and_nothing_is_written(
    make_policy: Callable[..., Policy],
) -> None:
    policy = make_policy()
    with Ledger.open(policy, TERMS) as ledger:
        limits = next(record for record in ledger.records() if record.kind == "limits").content
    sequence = forge(policy, "limits", limits | {"accounting": "zcdp"})
    for _ in range(2):
        with pytest.raises(LedgerError) as error:
            Ledger.open(policy, TERMS)
        assert error.value.code == "ledger_accounting_unknown"
        assert "'zcdp'" in error.value.message
    fault = verify(policy.ledger).fault
    assert fault is not None and fault.sequence == sequence
    assert fault.message == "is counted by 'zcdp', which this version does not know"


ONE, ZERO = Fraction(1), Fraction(0)
