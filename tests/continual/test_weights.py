"""The weights of a row by its age, and that counts are read off releases exactly."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from sanql.continual.weights import STEPS, readings, weights


@pytest.mark.parametrize("releases", [1, 2, 3, 30, 365, 3_660])
def test_a_row_never_counts_more_as_it_gets_older_and_always_counts(releases: int) -> None:
    own = weights(releases)
    assert len(own) == releases
    assert own[0] == STEPS
    assert all(older <= younger for younger, older in pairwise(own))
    assert min(own) >= 1


@pytest.mark.parametrize("releases", [1, 2, 3, 30, 365, 3_660])
def test_what_is_read_off_releases_without_noise_is_what_there_is_so_far(releases: int) -> None:
    """Of rows of one period alone, and so of any: both steps are linear, and alike at each period."""
    so_far = np.convolve(readings(releases), np.array(weights(releases), dtype=float))[:releases]
    assert np.allclose(so_far, 1.0, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("releases", "most"), [(30, 2.2), (365, 3.0), (3_660, 3.8)])
def test_the_error_grows_with_the_logarithm_of_the_releases(releases: int, most: float) -> None:
    """Against a bound of the exact square root: 1 + (ln T + 0.58) / pi, for either factor squared."""
    column = math.sqrt(sum(weight * weight for weight in weights(releases)))
    factor = column * float(np.linalg.norm(readings(releases)))
    assert factor <= most
    assert factor <= 1.02 * (1 + (math.log(releases) + 0.58) / math.pi)
