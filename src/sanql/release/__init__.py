"""Exact cells + noise → answer; what the analyst wrote around aggregates runs on noisy values."""

from sanql.release.answer import Answer
from sanql.release.cells import NoisyCells, add_noise
from sanql.release.certificate import Certificate, certify
from sanql.release.outer import show

__all__ = ["Answer", "Certificate", "NoisyCells", "add_noise", "certify", "show"]
