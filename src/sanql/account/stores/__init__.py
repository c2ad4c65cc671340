"""Where a ledger keeps its records."""
