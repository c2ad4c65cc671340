"""Exact cells + noise → answer; what the analyst wrote around aggregates runs on noisy values."""

from sanql.release.answer import Answer
from sanql.release.cells import NoiseStage, NoisyCells, add_noise
from sanql.release.certificate import Certificate, certify
from sanql.release.levels import LevelCells, add_noise_to_levels, show_levels
from sanql.release.outer import show

__all__ = [
    "Answer",
    "Certificate",
    "LevelCells",
    "NoiseStage",
    "NoisyCells",
    "add_noise",
    "add_noise_to_levels",
    "certify",
    "show",
    "show_levels",
]
