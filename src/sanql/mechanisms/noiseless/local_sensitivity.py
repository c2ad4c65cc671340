"""Noise scaled to the local sensitivity of databases that are likely good.

Kasiviswanathan and Smith, Corollary 5.2, corrected. If the belief puts at least 1 − delta on
databases whose local sensitivity is at most s, then f + Lap(s/epsilon) is, for any eta > 0,
(tanh(epsilon/2) + eta, delta/eta + n(e^epsilon·delta/eta + delta))-semantically private: on good
databases posteriors are reweighted by factors within e^±epsilon, which moves them by at most
tanh(epsilon/2), and the posterior mass of the rest exceeds eta with probability at most delta/eta.

For any one person the joint laws of database and answer are (epsilon, delta)-close, so the sharp form
of Corollary 4.2 (`tv_constant`) holds too: failure at most n·delta·K_tv(e^epsilon, tau). A certificate
takes the lesser; K_tv is sharp for (epsilon, delta)-close pairs, so what is left is the union over n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sanql.mechanisms.noiseless.certificate import NoiselessCertificate
from sanql.mechanisms.noiseless.numbers import (
    Number,
    as_ball,
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_probability,
    refusal,
    rounded_up,
    shown,
    upper,
)
from sanql.mechanisms.noiseless.precision import precision
from sanql.theory.constants import tv_constant


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
        (0.050058375, '9.505191854e-06')
        """
        slack = checked_probability(eta, "eta")
        with precision(128):
            epsilon = as_ball(checked_epsilon(self.epsilon))
            delta, part = as_ball(checked_delta(self.delta)), as_ball(slack)
            level = (epsilon / 2).tanh() + part
            failure = upper(delta / part + self.records * (epsilon.exp() * delta / part + delta))
            tau, form = upper(level), "closed form"
            sharp = self._sharp(upper(epsilon.exp()), tau)
            if sharp < failure:
                failure, form = sharp, "sharp form of Corollary 4.2"
            if not failure < 1:
                raise refusal(
                    "failure",
                    f"the guarantee fails with probability {failure:.3g}",
                    "declare a belief with fewer bad databases, or a larger eta",
                )
            return NoiselessCertificate(
                tau,
                failure,
                "semantic privacy",
                "beliefs under which most databases have small local sensitivity",
                "Kasiviswanathan and Smith, Corollary 5.2, corrected",
                "without eta and the factor 1/eta, which the proof needs",
                (form,),
                (
                    "all but a share "
                    f"{shown(checked_delta(self.delta))} of the belief has local sensitivity at "
                    "most the scale of the noise times epsilon",
                    "Laplace noise of that scale is added",
                ),
            )

    def _sharp(self, gamma: float, tau: float) -> float:
        """Return n·delta·K_tv(gamma, tau), rounded up; infinite where tau says too little."""
        if tau >= 1:
            return math.inf
        constant = tv_constant(gamma, tau)
        if constant == math.inf:
            return math.inf
        return rounded_up(self.records * Fraction(self.delta) * Fraction(constant))
