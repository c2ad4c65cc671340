"""What is known, privately, of the units of a table: measured once, and used for free from then on."""

from sanql.profile.histogram import KeptShare, SizeCounts, UnitSpread
from sanql.profile.parts import PartKind, ProfilePart, has_profile, parts_of, plan_part
from sanql.profile.profile import Profile
from sanql.profile.reading import MeasuredPart, read_profile, size_counts

__all__ = [
    "KeptShare",
    "MeasuredPart",
    "PartKind",
    "Profile",
    "ProfilePart",
    "SizeCounts",
    "UnitSpread",
    "has_profile",
    "parts_of",
    "plan_part",
    "read_profile",
    "size_counts",
]
