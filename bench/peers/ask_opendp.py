"""A process that asks OpenDP the eight questions, in an environment of its own, and times itself.

It needs `opendp[polars]` and imports nothing of ours. The first line says where the rows are; each line
after it names a question, and is answered by what it took. Questions are written as OpenDP's
documentation shows: rows of a person are truncated, then grouped; lazily, over a Parquet file.
Measurements are made beforehand, and the time for that is not counted.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import opendp.prelude as dp
import polars as pl

warnings.filterwarnings("ignore")
dp.enable_features("contrib", "honest-but-curious")
EPSILON, DELTA = 1.0, 1e-6
ROWS, GROUPS = 10, 4  # of a person and group, and groups of a person
BOUNDS = (0.0, 500.0)
CANDIDATES = [float(each) / 2 for each in range(1001)]


def main() -> None:
    """Make every measurement, then answer as long as lines come."""
    given = json.loads(sys.stdin.readline())
    made: list[Callable[[], object] | str] = [_made(number, given) for number in range(8)]
    print("{}", flush=True)
    for line in sys.stdin:
        release = made[json.loads(line)["question"]]
        if isinstance(release, str):
            print(json.dumps({"refused": release}), flush=True)
            continue
        wall, cpu = time.perf_counter(), time.process_time()
        release()
        took = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        print(json.dumps(took), flush=True)


def _made(number: int, given: dict[str, Any]) -> Callable[[], object] | str:
    """Return what releases the answer to a question, or why it cannot be asked."""
    data = pl.scan_parquet(given["data"])
    try:
        measured = _resolved(_query(number, data, given))
        return lambda: measured(data).collect()
    except Exception as error:  # its own class, and those of Polars
        return type(error).__name__ + ": " + str(error)[:100]


def _query(number: int, data: pl.LazyFrame, given: dict[str, Any]) -> Any:
    keys = {3: ["category"], 4: ["city"], 5: ["item"]}.get(number, [])
    unknown = number in {4, 5}
    margins = [dp.polars.Margin(by=[], max_length=given["rows"])]
    if keys:
        margins.append(dp.polars.Margin(by=keys, max_length=given["rows"], max_groups=200_000))
    query = dp.Context.compositor(
        data=data,
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user_id")),
        privacy_loss=dp.loss_of(epsilon=EPSILON, delta=DELTA if unknown else None),
        split_evenly_over=1,
        margins=margins,
    ).query()
    if number == 7:
        query = query.filter(pl.col("age") < 25)
    rows = 1 if number == 1 else ROWS
    if not keys:
        return query.truncate_per_group(rows).select(_statistics(number))
    bounded = query.truncate_per_group(rows, by=keys).truncate_num_groups(
        GROUPS, by=keys, keep="first"
    )
    grouped = bounded.group_by(keys).agg(_statistics(number))
    return grouped if unknown else grouped.with_keys(pl.LazyFrame({keys[0]: given["categories"]}))


def _statistics(number: int) -> list[Any]:
    """Return what is measured; an average is the quotient of a sum and a count."""
    amount = pl.col("amount").fill_null(0.0).fill_nan(0.0)
    if number in {0, 1, 7}:
        return [dp.len()]
    if number == 6:
        return [
            amount.dp.quantile(alpha, CANDIDATES).alias(f"q{alpha}") for alpha in (0.25, 0.5, 0.75)
        ]
    return [dp.len(), amount.dp.sum(BOUNDS)]


def _resolved(query: Any) -> Any:
    """Return the measurement of a query, scaled without `resolve`'s search of fifty steps."""
    plan, inner = (object.__getattribute__(query, name) for name in ("polars_plan", "_query"))
    d_in, d_out = inner._d_in, inner._d_out

    def make(scale: float, threshold: int | None = None) -> Any:
        return dp.m.make_private_lazyframe(
            *inner._chain, inner._output_measure, plan, global_scale=scale, threshold=threshold
        )

    if not isinstance(d_out, tuple):
        return make(make(1.0).map(d_in) / d_out * (1 + 1e-12))
    scale = make(1.0, 2**32 - 1).map(d_in)[0] / d_out[0] * (1 + 1e-12)
    least = dp.binary_search(lambda t: make(scale, t).map(d_in)[1] < d_out[1], T=int)
    return make(scale, least)


if __name__ == "__main__":
    main()
