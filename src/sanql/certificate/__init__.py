"""Plan → Certificate: what is claimed, why it is true, what it means, and what limits take away."""

from sanql.certificate.certificate import certify, certify_public
from sanql.certificate.limits_in_words import is_of_noise_alone
from sanql.certificate.meaning_of_charge import meaning
from sanql.certificate.protected_also import cases_also_protected
from sanql.certificate.together import certify_together
from sanql.certificate.told_to_attackers import told_to_attacker

__all__ = [
    "cases_also_protected",
    "certify",
    "certify_public",
    "certify_together",
    "is_of_noise_alone",
    "meaning",
    "told_to_attacker",
]
