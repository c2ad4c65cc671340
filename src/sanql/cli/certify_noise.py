"""`sanql certify map --with-noise`: an exact estimate beside one that is differentially private."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sanql.cli.saying import say, say_json

if TYPE_CHECKING:
    from sanql.mechanisms.noiseless import MapAdversary


def compare_with_noise(adversary: MapAdversary, epsilon: Fraction, form: str) -> None:
    """Say what the estimate costs with noise, beside what the exact one is certified to be."""
    from sanql.mechanisms.noiseless import NoisyMap, delta_at, records_for, wrong_at

    noisy = NoisyMap(adversary, epsilon)
    records = adversary.others + 1
    told: dict[str, object] = {
        "epsilon": float(epsilon),
        "exact: delta against the class": delta_at(adversary, 0).delta_upper,
        "exact: wrong at most": wrong_at(adversary, records),
        "with noise: wrong at most": noisy.wrong_upper(records),
        "exact: records for 1 % wrong": records_for(adversary, "0.01"),
        "with noise: records for 1 % wrong": records_for(
            adversary, "0.01", min(1.0, noisy.power_lower)
        ),
    }
    if form == "json":
        say_json(told)
        return
    for what, value in told.items():
        say(f"{what}: {value}")
