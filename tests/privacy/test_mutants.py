"""The tables of rules and their tests are about the source and the tests as they are."""

from __future__ import annotations

import ast

import pytest

from privacy.mutants import MUTANTS
from privacy.mutation import TESTS, Mutant


def test_no_rule_is_named_twice() -> None:
    rules = [mutant.rule for mutant in MUTANTS]
    assert len(rules) == len(set(rules)) >= 60


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.rule)
def test_a_rule_stands_once_in_the_source_and_can_be_broken(mutant: Mutant) -> None:
    """Where a rule has moved or reads otherwise, its entry in `mutants_of_…` moves with it."""
    text = mutant.path.read_text("utf-8")
    assert text.count(mutant.kept) == 1, (
        f"{mutant.file} has no longer, or more than once: {mutant.kept}"
    )
    ast.parse(text.replace(mutant.kept, mutant.broken))


@pytest.mark.slow
@pytest.mark.parametrize("test", sorted({mutant.test for mutant in MUTANTS}))
def test_the_test_that_sees_it_is_there(test: str) -> None:
    file, _, name = test.partition("::")
    tree = ast.parse((TESTS / file).read_text("utf-8"))
    assert name in [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
