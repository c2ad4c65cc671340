"""Aggregates and groups: what a statistic asks for, in its many spellings."""
