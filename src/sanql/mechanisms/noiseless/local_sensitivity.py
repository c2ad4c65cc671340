"""Noise scaled to the local sensitivity of databases that are likely good.

Kasiviswanathan and Smith, Corollary 5.2, corrected. If the belief puts at least 1 − delta on
databases whose local sensitivity is at most s, then f + Lap(s/epsilon) is, for any eta > 0,
(tanh(epsilon/2) + eta, delta/eta + n(e^epsilon·delta/eta + delta))-semantically private: on good
databases posteriors are reweighted by factors within e^±epsilon, which moves them by at most
tanh(epsilon/2), and the posterior mass of the rest exceeds eta with probability at most delta/eta.
"""

from __future__ import annotations

from dataclasses import dataclass

from sanql.mechanisms.noiseless.certificate import NoiselessCertificate
from sanql.mechanisms.noiseless.numbers import (
    Number,
    as_ball,
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_probability,
    refusal,
    shown,
    upper,
)
from sanql.mechanisms.noiseless.precision import precision


@dataclass(frozen=True)
class LikelyGood:
    """A belief under which all but delta of the databases have local sensitivity at most s."""

    records: int
    epsilon: Number
    delta: Number

    def __post_init__(self) -> None:
        checked_count(self.records, "the number of records", least=1)
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon, least_open=True))
        object.__setattr__(self, "delta", checked_delta(self.delta))

    def certificate(self, eta: Number) -> NoiselessCertificate:
        """Return the semantic guarantee when posteriors may move by eta more than tanh(eps/2).

        >>> certificate = LikelyGood(1000, 0.1, 1e-12).certificate(1e-4)
        >>> round(certificate.epsilon, 9), f"{certificate.delta_upper:.9e}"
        (0.050058375, '1.106270918e-05')
        """
        slack = checked_probability(eta, "eta")
        with precision(128):
            epsilon = as_ball(checked_epsilon(self.epsilon))
            delta, part = as_ball(checked_delta(self.delta)), as_ball(slack)
            level = (epsilon / 2).tanh() + part
            failure = delta / part + self.records * (epsilon.exp() * delta / part + delta)
            if not failure < 1:
                raise refusal(
                    "failure",
                    f"the guarantee fails with probability {float(failure):.3g}",
                    "declare a belief with fewer bad databases, or a larger eta",
                )
            return NoiselessCertificate(
                upper(level),
                upper(failure),
                "semantic privacy",
                "beliefs under which most databases have small local sensitivity",
                "Kasiviswanathan and Smith, Corollary 5.2, corrected",
                "without eta and the factor 1/eta, which the proof needs",
                ("closed form",),
                (
                    "all but a share "
                    f"{shown(checked_delta(self.delta))} of the belief has local sensitivity at "
                    "most the scale of the noise times epsilon",
                    "Laplace noise of that scale is added",
                ),
            )
