"""The engine is chosen in one place, and never by a policy."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.engine_contract import POLICY
from sanql.engines.duckdb.engine import WorkerEngine
from sanql.engines.open import ENGINE_KINDS, open_engine
from sanql.errors import PolicyError
from sanql.policy import load


def test_an_unknown_kind_is_refused_by_name_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'spark'") as caught:
        open_engine("spark")
    assert all(kind in str(caught.value) for kind in ENGINE_KINDS)


def test_what_nobody_chose_is_the_engine_that_confines() -> None:
    assert isinstance(open_engine(), WorkerEngine)


@pytest.mark.parametrize("kind", ENGINE_KINDS)
def test_a_policy_does_not_choose(kind: str, tmp_path: Path) -> None:
    text = POLICY.format(source="town.duckdb").replace("[engine]", f'[engine]\nkind = "{kind}"')
    (tmp_path / "policy.toml").write_text(text)
    with pytest.raises(PolicyError, match="engine"):
        load(tmp_path / "policy.toml")
