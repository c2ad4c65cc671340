"""Plan → Certificate: what is claimed, why it is true, what it means, and what limits take away."""

from sanql.certificate.certificate import certify, certify_public, meaning

__all__ = ["certify", "certify_public", "meaning"]
