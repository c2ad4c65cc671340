"""Plan → Certificate: what is claimed, why it is true, what it means, and what limits take away."""

from sanql.certificate.certificate import certify, certify_public, meaning
from sanql.certificate.limits_in_words import is_of_noise_alone
from sanql.certificate.together import certify_together

__all__ = ["certify", "certify_public", "certify_together", "is_of_noise_alone", "meaning"]
