"""A process that has OpenDP count rows by a key, in an environment of its own: `ask_opendp.py < jobs`.

It needs `opendp[polars]` and imports nothing of ours. Each line answers one job: what every run counted.
Rows of a person are truncated, by group or in all, as OpenDP's documentation shows.
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
ROWS_MAX, GROUPS_MAX = 1_000_000, 10_000  # public: no table is longer, and none has more keys


def main() -> None:
    """Answer every job."""
    given = json.load(sys.stdin)
    data = pl.scan_parquet(given["data"])
    for job in given["jobs"]:
        measured = _measurement(data, job, given["epsilon"], given["delta"])
        runs = [dict(measured(data).collect().rows()) for _ in range(given["runs"])]
        print(json.dumps(runs), flush=True)


def _measurement(data: pl.LazyFrame, job: dict[str, Any], epsilon: float, delta: float) -> Any:
    key, public = job["key"], job["public"]
    query = dp.Context.compositor(
        data=data,
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user_id")),
        privacy_loss=dp.loss_of(epsilon=epsilon, delta=None if public else delta),
        split_evenly_over=1,
        margins=[
            dp.polars.Margin(by=[], max_length=ROWS_MAX),
            dp.polars.Margin(by=[key], max_length=ROWS_MAX, max_groups=GROUPS_MAX),
        ],
    ).query()
    if job["groups"]:
        query = query.truncate_per_group(job["rows"], by=[key])
        query = query.truncate_num_groups(job["groups"], by=[key], keep="first")
    else:
        query = query.truncate_per_group(job["rows"])
    query = query.group_by([key]).agg([dp.len().alias("n")])
    return _resolved(query.with_keys(pl.LazyFrame({key: public})) if public else query)


def _resolved(query: Any) -> Any:
    """Return the measurement of a query, scaled without `resolve`'s search of fifty steps."""
    plan, inner = (object.__getattribute__(query, name) for name in ("polars_plan", "_query"))
    d_in, d_out = inner._d_in, inner._d_out

    def make(scale: float, threshold: int | None = None) -> Any:
        return dp.m.make_private_lazyframe(
            *inner._chain, inner._output_measure, plan, global_scale=scale, threshold=threshold
        )

    if not isinstance(d_out, tuple):
        made = make(make(1.0).map(d_in) / d_out * (1 + 1e-12))
    else:
        scale = make(1.0, 2**32 - 1).map(d_in)[0] / d_out[0] * (1 + 1e-12)
        made = make(
            scale, dp.binary_search(lambda t: make(scale, t).map(d_in)[1] < d_out[1], T=int)
        )
    assert made.check(d_in, d_out)
    return made


if __name__ == "__main__":
    main()
