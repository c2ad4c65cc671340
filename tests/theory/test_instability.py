"""Instability against every database, counted in another way, and against the best simulator."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations, product
from math import comb
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from sanql.cli.main import main
from sanql.theory.channel_file import parse_channel
from sanql.theory.check import Levels, check
from sanql.theory.distributions import Distribution
from sanql.theory.errors import TheoryError
from sanql.theory.exact import INFINITE
from sanql.theory.instability import instability, instability_of_counts

VALUES = ("0", "1", "2")


def law_at_random(rng: np.random.Generator, values: int) -> dict[str, Fraction]:
    weights = [int(w) for w in rng.integers(0, 9, size=values)]
    weights[int(rng.integers(values))] += 1
    return {VALUES[k]: Fraction(w, sum(weights)) for k, w in enumerate(weights)}


def function_at_random(rng: np.random.Generator, values: int, n: int) -> dict[str, object]:
    """Return a file of a function on all databases, and often of one record fewer."""
    outputs = int(rng.integers(1, 4))
    skew = rng.dirichlet([0.4] * outputs)
    sizes = (n, n - 1) if rng.random() < 0.4 else (n,)
    return {
        "databases": {
            ",".join(x): {f"t{rng.choice(outputs, p=skew)}": 1}
            for size in sizes
            for x in product(VALUES[:values], repeat=size)
        },
        "laws": [
            [law_at_random(rng, values) for _ in range(n)]
            if rng.random() < 0.6
            else law_at_random(rng, values)
            for _ in range(int(rng.integers(1, 3)))
        ],
        "neighbours": "add-remove" if len(sizes) == 2 else "change-one",
    }


def by_hand(
    content: dict[str, object], default: str | None, known: int
) -> tuple[Fraction, Fraction]:
    """Return the instability and the least output, record by record, from products of masses."""
    rows: dict[str, dict[str, int]] = content["databases"]  # type: ignore[assignment]
    table = {tuple(x.split(",")) if x else (): next(iter(row)) for x, row in rows.items()}
    n = max(map(len, table))
    values = sorted({y for x in table for y in x})
    shorter = any(len(x) < n for x in table)
    worst, rarest = Fraction(0), Fraction(1)
    for i in range(n):
        tried = []
        for d in [default] if default else [None] if shorter else values:
            most, least = Fraction(0), Fraction(1)
            for law in content["laws"]:  # type: ignore[attr-defined]
                laws = law if isinstance(law, list) else [law] * n
                for places in combinations([k for k in range(n) if k != i], known):
                    for told in product(values, repeat=known + 1):
                        fixed = dict(zip((i, *places), told, strict=True))
                        if any(laws[k].get(v, 0) == 0 for k, v in fixed.items()):
                            continue
                        change, real = Fraction(0), dict.fromkeys(table.values(), Fraction(0))
                        ideal = dict(real)
                        for x in product(values, repeat=n):
                            if any(x[k] != v for k, v in fixed.items()):
                                continue
                            p = Fraction(1)
                            for k in range(n):
                                p *= 1 if k in fixed else laws[k].get(x[k], 0)
                            y = x[:i] + ((d,) if d else ()) + x[i + 1 :]
                            change += p if table[x] != table[y] else 0
                            real[table[x]] += p
                            ideal[table[y]] += p
                        most = max(most, change)
                        least = min([least, *(q for t, q in real.items() if q + ideal[t])])
            tried.append((most, -least))
        most, minus = min(tried)
        worst, rarest = max(worst, most), min(rarest, -minus)
    return worst, rarest


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_instability_is_that_of_all_databases(seed: int) -> None:
    rng = np.random.default_rng([20, 7, seed])
    for _ in range(20):
        values, n = int(rng.integers(2, 4)), int(rng.integers(1, 4))
        content = function_at_random(rng, values, n)
        default = "0" if rng.random() < 0.4 else None
        known = int(rng.integers(0, n))
        given = parse_channel(content)
        found = instability(given.channel, given.worlds, default=default, known=known)
        chance, least = by_hand(content, default, known)
        assert (found.chance, found.least_output) == (chance, least)
        if chance == 0:
            assert found.gamma == 1
        elif chance >= least:
            assert found.gamma == INFINITE
        else:
            assert found.gamma == least / (least - chance)


@pytest.mark.slow
def test_the_best_simulator_does_at_least_as_well_as_theorem_11_says() -> None:
    rng = np.random.default_rng(2077)
    for _ in range(40):
        n = int(rng.integers(1, 4))
        content = function_at_random(rng, 2, n) | {"neighbours": "change-one"}
        rows: dict[str, object] = content["databases"]  # type: ignore[assignment]
        content["databases"] = {x: t for x, t in rows.items() if x and x.count(",") == n - 1}
        given = parse_channel(content)
        found = instability(given.channel, given.worlds)
        findings, _ = check(given, Levels(epsilon=Fraction(0)), ["ddp"])
        assert Fraction(findings[0]["delta"]) <= found.chance


def test_outputs_are_as_likely_without_a_record_up_to_the_factor_of_theorem_12() -> None:
    rng = np.random.default_rng(2112)
    pure = 0
    for _ in range(60):
        n, least = int(rng.integers(5, 24)), Fraction(int(rng.integers(30, 70)), 100)
        known = int(rng.integers(0, 2))
        over = int(n * least) + int(rng.integers(0, 2))
        found = instability_of_counts(
            lambda counts, over=over: counts[1] >= over,
            n,
            [Distribution.of({0: 1 - least, 1: least})],
            known=known,
        )
        if found.gamma == INFINITE:
            continue
        pure += 1
        m = n - 1 - known
        for seen in range(known + 1):
            chances = [
                sum(comb(m, c) * least**c * (1 - least) ** (m - c) for c in range(m + 1) if c >= k)
                for k in (over - seen, over - seen - 1)
            ]
            for p, q in [chances, [1 - chance for chance in chances]]:
                assert p <= found.gamma * q
                assert q <= found.gamma * p
    assert pure >= 20


@pytest.mark.slow
def test_counts_are_databases_in_any_order() -> None:
    rng = np.random.default_rng(2012)
    for _ in range(150):
        values, n = int(rng.integers(2, 4)), int(rng.integers(1, 5))
        laws = [law_at_random(rng, values) for _ in range(int(rng.integers(1, 3)))]
        answers: dict[tuple[int, ...], str] = {}

        def function(counts: tuple[int, ...], known: dict[tuple[int, ...], str] = answers) -> str:
            return known.setdefault(counts, f"t{rng.integers(2)}")

        databases = {
            ",".join(x): {function(tuple(x.count(v) for v in VALUES[:values])): 1}
            for x in product(VALUES[:values], repeat=n)
        }
        given = parse_channel({"databases": databases, "laws": laws})
        default = "1" if rng.random() < 0.5 else None
        known = int(rng.integers(0, n))
        whole = instability(given.channel, given.worlds, default=default, known=known)
        counted = instability_of_counts(
            function, n, [Distribution.of(law) for law in laws], default=default, known=known
        )
        assert (counted.chance, counted.least_output) == (whole.chance, whole.least_output)


def test_side_information_conditions_the_chance() -> None:
    """Whoever learns that the records are equal knows all: the parity then always changes."""
    rows = {"0,0": {"even": 1}, "0,1": {"odd": 1}, "1,0": {"odd": 1}, "1,1": {"even": 1}}
    world = {"0,0 | equal": "1/4", "1,1 | equal": "1/4", "0,1 | not": "1/4", "1,0 | not": "1/4"}
    given = parse_channel({"databases": rows, "worlds": [world]})
    assert instability(given.channel, given.worlds, default="0").chance == 1


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"laws": []}, "no_world"),
        ({"databases": {"0,0": [1, 0], "0,1": ["1/2", "1/2"]}, "laws": []}, "not_a_function"),
        ({"laws": [[{"0": 1}]]}, "channel_file"),
        ({"laws": [{"0": "1/2"}]}, "mass_sum"),
        ({"laws": {"0": 1}}, "channel_file"),
        ({"laws": [{"7": 1}]}, "unknown_database"),
    ],
)
def test_what_is_no_function_or_law_is_refused(change: dict[str, object], code: str) -> None:
    rows = {"0,0": [1, 0], "0,1": [0, 1], "1,0": [0, 1], "1,1": [0, 1]}
    with pytest.raises(TheoryError) as refused:
        given = parse_channel({"databases": rows, "laws": [{"0": "1/2", "1": "1/2"}]} | change)
        instability(given.channel, given.worlds)
    assert refused.value.code == code


def test_the_command_says_where_it_is_worst(tmp_path: Path) -> None:
    path = tmp_path / "majority.json"
    rows = {",".join(x): {str(x.count("1") >= 2): 1} for x in product("01", repeat=3)}
    path.write_text(json.dumps({"databases": rows, "laws": [{"0": "9/10", "1": "1/10"}]}))
    done = CliRunner().invoke(main, ["theory", "stable", str(path), "--format", "json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)["instability"]
    assert told["(0, delta)-DDP with delta (Theorem 11)"] == "9/50"
    assert told["where"] == "record 1, world 1, given 1, against 0"
    done = CliRunner().invoke(main, ["theory", "stable", str(path), "--known", "3"])
    assert done.exit_code == 2
    assert "let between 0 and 2 be known" in done.output
