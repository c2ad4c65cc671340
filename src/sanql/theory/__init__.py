"""The theory SanQL stands on, executable: distances, tests, definitions, implications, attackers.

The modules are the chapters of `docs/theory/`, in order: `exact`, `distributions`, `divergences`,
`large`, `closed_forms`, `discrete_noise`, `testing`, `meaning`, `choose`, `channels`,
`neighbours`, `definitions`, `constants`, `implications`, `attackers`, `plots`. Import the chapter
you need; nothing heavy is loaded until it is used.
"""

from sanql.theory.channels import Channel
from sanql.theory.distributions import Distribution
from sanql.theory.errors import TheoryError

__all__ = ["Channel", "Distribution", "TheoryError"]
