"""A verifier of certificates that shares no line with what found them.

It reads one JSON object, computes with fractions, and imports nothing of the project but itself.
"""

from sanql.theory.verifier.claims import Verified, verify
from sanql.theory.verifier.reading import Rejected

__all__ = ["Rejected", "Verified", "verify"]
