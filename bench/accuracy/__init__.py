"""Errors of quantiles, variances and distinct counts, side by side with other libraries."""
