"""The engine is chosen in one place: a policy says whether a cluster computes, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engines.engine_contract import POLICY
from sanql.engines.duckdb.engine import WorkerEngine
from sanql.engines.open import ENGINE_KINDS, engine_of, open_engine
from sanql.engines.spark.engine import SparkEngine
from sanql.errors import PolicyError
from sanql.policy import SparkCluster, load
from sanql.policy.keys import ENGINE_DEFAULT


def test_an_unknown_kind_is_refused_by_name_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'gpu'") as caught:
        open_engine("gpu")
    assert all(kind in str(caught.value) for kind in ENGINE_KINDS)


def test_what_nobody_chose_is_the_engine_that_confines() -> None:
    assert isinstance(open_engine(), WorkerEngine)


def test_a_policy_that_names_a_cluster_has_its_engine() -> None:
    cluster = SparkCluster("local[2]", "layout")
    assert isinstance(engine_of(replace(ENGINE_DEFAULT, spark=cluster)), SparkEngine)
    assert isinstance(engine_of(ENGINE_DEFAULT), WorkerEngine)


@pytest.mark.parametrize("kind", ENGINE_KINDS)
def test_a_policy_does_not_choose_among_those_of_this_machine(kind: str, tmp_path: Path) -> None:
    text = POLICY.format(source="town.duckdb").replace("[engine]", f'[engine]\nkind = "{kind}"')
    (tmp_path / "policy.toml").write_text(text)
    with pytest.raises(PolicyError, match="engine"):
        load(tmp_path / "policy.toml")
