"""A small hospital, made anew and always the same: people, their visits, and a policy."""

from sanql.demo.hospital import make_hospital

__all__ = ["make_hospital"]
