"""A process that asks OpenDP, in an environment of its own: `python ask_opendp.py < jobs`.

It needs `opendp[polars]`, which wants a Polars of its own version, and imports nothing of ours. Jobs
come as JSON: rows with their unit, keys and one value; answers go out as `ask.py` prints them. Each
question is written as OpenDP's documentation shows: rows of a unit are truncated, then grouped.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import opendp.prelude as dp
import polars as pl

warnings.filterwarnings("ignore")
dp.enable_features("contrib", "honest-but-curious")
ROWS_MAX = 1_000_000  # public: no table is longer


def main() -> None:
    """Ask everything and print what comes back."""
    given = json.load(sys.stdin)
    for job in given["jobs"]:
        for epsilon in given["epsilons"]:
            try:
                measured = _resolve(_query(job, float(epsilon), given["delta"]))
                answers = [
                    {"rows": _rows(job, measured(_data(job)).collect())}
                    for _ in range(given["runs"])
                ]
            except Exception as error:  # its own class, and those of Polars
                answers = [{"refused": type(error).__name__, "message": str(error)[:200]}]
            told = {"question": job["question"], "epsilon": epsilon, "answers": answers}
            print(json.dumps(told), flush=True)


def _data(job: dict[str, Any]) -> pl.LazyFrame:
    return pl.scan_parquet(job["data"])


def _query(job: dict[str, Any], epsilon: float, delta: float) -> Any:
    keys, public = job["keys"], job["public"]
    loss = dp.loss_of(epsilon=epsilon, delta=delta if public is None else None)
    margins = [dp.polars.Margin(by=[], max_length=ROWS_MAX)]
    if keys:
        margins.append(dp.polars.Margin(by=keys, max_length=ROWS_MAX, max_groups=10_000))
    context = dp.Context.compositor(
        data=_data(job),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("unit")),
        privacy_loss=loss,
        split_evenly_over=1,
        margins=margins,
    )
    query = context.query()
    if job["kind"] == "units":
        query = query.truncate_per_group(1, by=keys)
        if keys:
            query = query.truncate_num_groups(job["groups"], by=keys, keep="first")
    else:
        query = query.truncate_per_group(job["rows"])
    statistic = _statistic(job).alias("statistic")
    if not keys:
        return query.select(statistic)
    grouped = query.group_by(keys).agg(statistic)
    if public is None:
        return grouped
    listed = pl.LazyFrame(public, schema_overrides=_data(job).select(keys).collect_schema())
    return grouped.with_keys(listed)


def _resolve(query: Any) -> Any:
    """Return what `query.resolve()` does, without its search of fifty steps for the scale of noise.

    Epsilon is inversely proportional to it, which the last line checks.
    """
    plan, inner = (object.__getattribute__(query, name) for name in ("polars_plan", "_query"))
    d_in, d_out = inner._d_in, inner._d_out

    def make(scale: float, threshold: int | None = None) -> Any:
        return dp.m.make_private_lazyframe(
            *inner._chain, inner._output_measure, plan, global_scale=scale, threshold=threshold
        )

    if isinstance(d_out, tuple):
        scale = make(1.0, 2**32 - 1).map(d_in)[0] / d_out[0] * (1 + 1e-12)
        least = dp.binary_search(lambda t: make(scale, t).map(d_in)[1] < d_out[1], T=int)
        made = make(scale, least)
    else:
        made = make(make(1.0).map(d_in) / d_out * (1 + 1e-12))
    assert made.check(d_in, d_out)
    return made


def _statistic(job: dict[str, Any]) -> Any:
    match job["kind"]:
        case "count" | "units":
            return dp.len(signed=True)
        case "sum":
            return pl.col("value").fill_null(0).dp.sum(tuple(job["bounds"]))
        case "mean":
            return pl.col("value").fill_null(0).dp.mean(tuple(job["bounds"]))
    raise ValueError(job["kind"])


def _rows(job: dict[str, Any], frame: pl.DataFrame) -> list[list[Any]]:
    rows = [list(row) for row in frame.select([*job["keys"], "statistic"]).rows()]
    if job["limit"]:
        rows = sorted(rows, key=lambda row: -row[-1])[: job["limit"]]
    return rows


if __name__ == "__main__":
    main()
