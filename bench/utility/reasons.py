"""Why a peer is ahead where one is: what it gives up for it, by question."""

from __future__ import annotations

ONE_MEASUREMENT = (
    "It selects keys by the very counts that it shows, so that all of epsilon is for these, and pays "
    "with keys: it shows those above some 9,000 flights (256 rows of one plane, noise of scale 512, "
    "delta 1e-8), about ten of 105 destinations. San selects by weights of planes, with half of what it "
    "may spend, and shows some fifty."
)

SAME_NOISE = (
    "Both have Laplace noise of scale 512, that is 256 rows of one plane over epsilon, and leave out "
    "what is beyond 256 rows: the difference is of the draws."
)

REASONS = {
    "top ten destinations": ONE_MEASUREMENT,
    "flights by carrier": SAME_NOISE,
}
