"""Exact releases, certified under an adversary class that the owner declares.

Describe the class (`continuous_sum`, `lattice_sum`, `CountAdversary`, `HistogramAdversary`,
`MapAdversary` …), then ask: `delta_at`, `epsilon_at`, `others_min`, `known_max`, `threshold_min`.
A bound that leaves this package is never below the true delta of the class; searching is done in
floats, what is answered is certified.

    numbers        declared numbers as rationals, refusals, rounding up
    precision      balls of so many bits, by one thread at a time
    summands       the laws that are added: interval, lattice, coin
    irwin_hall     few records: alternating sums          saddle    where a Fourier sum is taken
    fourier        many records: Fourier sums in balls    rising    many numbers of records at once
    copies, coins  whichever of these is tight            mixture   how many records are uniform
    sums, counts   classes for SUM, AVG, COUNT            answers   the questions
    truncation     closed forms for histograms            histograms, sampled_sizes, sampled_cells
    map_estimators, map_enumeration, stable, local_sensitivity
    map_tails, ratio_tails         a MAP estimate beyond enumeration
    noisy_map      a MAP estimate with noise, compared
    verdicts       modes, medians, share tests, MAP estimates     multiplicative  their ties, exactly
"""

from sanql.mechanisms.noiseless.answers import (
    DDP,
    NOISELESS,
    Countable,
    delta_at,
    epsilon_at,
    known_max,
    others_enough,
    others_min,
)
from sanql.mechanisms.noiseless.certificate import Adversary, Bound, NoiselessCertificate
from sanql.mechanisms.noiseless.counts import CountAdversary
from sanql.mechanisms.noiseless.histograms import (
    BinomialPrior,
    HistogramAdversary,
    PoissonPrior,
    SamplingPrior,
    threshold_min,
)
from sanql.mechanisms.noiseless.local_sensitivity import LikelyGood
from sanql.mechanisms.noiseless.map_enumeration import enumerated_delta, feasible
from sanql.mechanisms.noiseless.map_estimators import MapAdversary, chernoff_delta
from sanql.mechanisms.noiseless.noisy_map import NoisyMap, records_for, wrong_at
from sanql.mechanisms.noiseless.numbers import RECORDS_MAX, SMALLEST, checked_delta, exact
from sanql.mechanisms.noiseless.sampled_sizes import DiscardPrior, SizePrior, discard_prior
from sanql.mechanisms.noiseless.stable import StableFunction
from sanql.mechanisms.noiseless.summands import Lattice
from sanql.mechanisms.noiseless.sums import (
    POINTS_MAX,
    Part,
    SumAdversary,
    continuous_sum,
    heterogeneous_sum,
    lattice_sum,
    partial_sum,
)
from sanql.mechanisms.noiseless.verdicts import (
    MAP,
    Verdict,
    VerdictAdversary,
    lower_median,
    mode,
    share_test,
)

__all__ = [
    "DDP",
    "MAP",
    "NOISELESS",
    "POINTS_MAX",
    "RECORDS_MAX",
    "SMALLEST",
    "Adversary",
    "BinomialPrior",
    "Bound",
    "CountAdversary",
    "Countable",
    "DiscardPrior",
    "HistogramAdversary",
    "Lattice",
    "LikelyGood",
    "MapAdversary",
    "NoiselessCertificate",
    "NoisyMap",
    "Part",
    "PoissonPrior",
    "SamplingPrior",
    "SizePrior",
    "StableFunction",
    "SumAdversary",
    "Verdict",
    "VerdictAdversary",
    "checked_delta",
    "chernoff_delta",
    "continuous_sum",
    "delta_at",
    "discard_prior",
    "enumerated_delta",
    "epsilon_at",
    "exact",
    "feasible",
    "heterogeneous_sum",
    "known_max",
    "lattice_sum",
    "lower_median",
    "mode",
    "others_enough",
    "others_min",
    "partial_sum",
    "records_for",
    "share_test",
    "threshold_min",
    "wrong_at",
]
