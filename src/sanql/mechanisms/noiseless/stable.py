"""Functions that one record rarely changes are private without noise.

Theorem 11: if F(X) ≠ F(X without i) with probability below delta, whatever the record and the side
information, then F is (0, delta)-DDP, because the two outputs are equal except with probability
delta. Theorem 12: if moreover every output has probability at least c, and mu bounds the chance of
a change, P(F(X without i) = t) lies within mu of P(F(X) = t) ≥ c, hence at most ln(c/(c − mu)) away
in both directions; the printed ln((c + mu)/(c − mu)) is about twice that.
"""

from __future__ import annotations

from dataclasses import dataclass

from sanql.mechanisms.noiseless.certificate import NoiselessCertificate
from sanql.mechanisms.noiseless.numbers import (
    Number,
    as_ball,
    checked_probability,
    exact,
    refusal,
    rounded_up,
    shown,
    upper,
)
from sanql.mechanisms.noiseless.precision import precision


@dataclass(frozen=True)
class StableFunction:
    """A function that removing one record changes with probability at most `instability`.

    `least_output`, if given, is a probability that every output has at least.
    """

    instability: Number
    least_output: Number | None = None

    def __post_init__(self) -> None:
        change = exact(self.instability, "the instability")
        if not 0 < change <= 1:
            raise refusal(
                "probability",
                f"the instability is {shown(change)}; it must be above 0 and at most 1",
                "declare a probability that you can defend",
            )
        object.__setattr__(self, "instability", change)
        if self.least_output is not None:
            least = checked_probability(self.least_output, "the least output probability")
            if change >= least:
                raise refusal(
                    "instability",
                    f"the instability {shown(change)} is not below the least output probability "
                    f"{shown(least)}",
                    "use the (0, delta) certificate: leave the least output probability out",
                )
            object.__setattr__(self, "least_output", least)

    def certificate(self) -> NoiselessCertificate:
        """Return (0, instability), or (ln(c/(c − mu)), 0) if every output is likely enough.

        >>> round(StableFunction(0.01, 0.1).certificate().epsilon, 9)
        0.105360516
        """
        change = exact(self.instability, "the instability")
        said = f"removing a record changes the output with probability at most {shown(change)}, "
        said += "given the record and the side information"
        if self.least_output is None:
            return NoiselessCertificate(
                0.0,
                rounded_up(change),
                "DDP",
                "stable function",
                "Bassily, Groce, Katz, Smith, Theorem 11",
                "",
                ("closed form",),
                (said,),
            )
        least = exact(self.least_output, "the least output probability")
        with precision(128):
            epsilon = upper((as_ball(least) / as_ball(least - change)).log())
        return NoiselessCertificate(
            epsilon,
            0.0,
            "DDP",
            "stable function with likely outputs",
            "Bassily, Groce, Katz, Smith, Theorem 12, sharpened to ln(c/(c - mu))",
            "ln((c + mu)/(c - mu)), valid and about twice as large",
            ("closed form",),
            (said, f"every output has probability at least {shown(least)}, given both"),
        )
