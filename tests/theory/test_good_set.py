"""The mass of databases with small local sensitivity, against every database by hand."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from sanql.cli.main import main
from sanql.theory.channel_file import parse_channel
from sanql.theory.errors import TheoryError
from sanql.theory.good_set import at_scale, good_sets

VALUES = ("0", "1", "2")


def content_at_random(rng: np.random.Generator, values: int, n: int) -> dict[str, object]:
    laws = []
    for _ in range(int(rng.integers(1, 3))):
        weights = [int(w) for w in rng.integers(1, 9, size=values)]
        laws.append({VALUES[k]: Fraction(w, sum(weights)) for k, w in enumerate(weights)})
    rows = {
        ",".join(x): {str(int(rng.integers(4)) ** 2): 1} for x in product(VALUES[:values], repeat=n)
    }
    return {"databases": rows, "laws": laws}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_the_bad_set_is_that_of_all_databases(seed: int) -> None:
    rng = np.random.default_rng([5, 2, seed])
    for _ in range(25):
        values, n = int(rng.integers(2, 4)), int(rng.integers(1, 4))
        content = content_at_random(rng, values, n)
        rows: dict[str, dict[str, int]] = content["databases"]  # type: ignore[assignment]
        table = {tuple(x.split(",")): int(next(iter(row))) for x, row in rows.items()}
        laws: list[dict[str, Fraction]] = content["laws"]  # type: ignore[assignment]
        given = parse_channel(content)
        found = good_sets(given.channel, given.neighbours, given.worlds)
        for scale in range(10):
            bad = {
                x
                for x in table
                if any(
                    abs(table[x] - table[y]) > scale
                    for y in table
                    if sum(a != b for a, b in zip(x, y, strict=True)) == 1
                )
            }
            chances, given_one = [], []
            for law in laws:
                chances.append(sum(math.prod(law[v] for v in x) for x in bad))
                for i, value in product(range(n), VALUES[:values]):
                    here = [x for x in bad if x[i] == value]
                    given_one.append(sum(math.prod(law[v] for v in x) for x in here) / law[value])
            told = at_scale(found, Fraction(scale))
            assert (told.bad, told.bad_given) == (max(chances), max(given_one))


@pytest.mark.parametrize("eta", [0.02, 0.05, 0.1])
def test_posteriors_move_no_more_than_is_certified(eta: float, tmp_path: Path) -> None:
    """Integrate, over answers, where a belief moves too far when a record is replaced by 0."""
    epsilon, step = 0.5, 0.02
    law = {"0": 0.999, "1": 0.001}
    table = {x: 30 if x.count("1") > 1 else x.count("1") for x in product("01", repeat=3)}
    prior = {x: math.prod(law[v] for v in x) for x in table}
    path = tmp_path / "jump.json"
    rows = {",".join(x): {str(value): 1} for x, value in table.items()}
    path.write_text(json.dumps({"databases": rows, "laws": [{"0": "0.999", "1": "0.001"}]}))
    asked = f"theory good-set {path} --scale 1 --epsilon {epsilon} --eta {eta} --format json"
    done = CliRunner().invoke(main, asked.split())
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)["semantic privacy (Corollary 5.2)"]
    tau, failure = float(told["level"]), float(told["failure at most"])
    failed = 0.0
    for t in np.arange(-30, 62, step):
        noise = {x: math.exp(-epsilon * abs(t - value)) for x, value in table.items()}
        real = {x: prior[x] * noise[x] for x in table}
        for i in range(3):
            drop = {x: prior[x] * noise[*x[:i], "0", *x[i + 1 :]] for x in table}
            a, b = sum(real.values()), sum(drop.values())
            if sum(abs(real[x] / a - drop[x] / b) for x in table) / 2 > tau:
                failed += a * step * epsilon / 2
                break
    assert 0 < failed <= failure


def test_neighbours_that_hide_a_record_are_refused() -> None:
    rows = {"0,0": {"0": 1}, "0,1": {"1": 1}, "1,0": {"1": 1}, "1,1": {"5": 1}}
    law = {"laws": [{"0": "1/2", "1": "1/2"}]}
    given = parse_channel({"databases": rows, "neighbours": [["0,0", "0,1"]]} | law)
    with pytest.raises(TheoryError) as refused:
        good_sets(given.channel, given.neighbours, given.worlds)
    assert refused.value.code == "neighbours_missing"
    given = parse_channel({"databases": rows | {"0,0": {"many": 1}}} | law)
    with pytest.raises(TheoryError) as refused:
        good_sets(given.channel, given.neighbours, given.worlds)
    assert refused.value.code == "not_a_number"
