"""Answers and explanations rebuilt from their plain data, noisy or exact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sanql.results.answer import Answer
from sanql.results.certificate import Certificate, ExactCertificate
from sanql.results.exact import ExactAnswer, ExactExplanation
from sanql.results.explanation import Explanation


def answer_from_dict(shape: Mapping[str, Any]) -> Answer:
    """Return the answer that `to_dict` wrote, of whichever kind it was."""
    return (ExactAnswer if _is_exact(shape) else Answer).from_dict(shape)


def explanation_from_dict(shape: Mapping[str, Any]) -> Explanation | ExactExplanation:
    """Return the explanation that `to_dict` wrote, of whichever kind it was."""
    return ExactExplanation.from_dict(shape) if _is_exact(shape) else Explanation.from_dict(shape)


def certificate_from_dict(shape: Mapping[str, Any]) -> Certificate | ExactCertificate:
    """Return the certificate that `to_dict` wrote, of whichever kind it was."""
    return ExactCertificate(shape) if "class" in shape else Certificate.from_dict(shape)


def _is_exact(shape: Mapping[str, Any]) -> bool:
    return shape.get("release") == "exact"
