"""Exact cells → NoisyCells: the one place where exact values meet noise."""

from sanql.noise.cells import NoiseStage, add_noise

__all__ = ["NoiseStage", "add_noise"]
