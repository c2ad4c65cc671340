"""Plan → Certificate: what is claimed, why it is true, what it means, and what limits take away."""

from sanql.certificate.certificate import (
    Certificate,
    certify,
    certify_public,
    meaning,
    number_lower,
    number_upper,
)

__all__ = ["Certificate", "certify", "certify_public", "meaning", "number_lower", "number_upper"]
