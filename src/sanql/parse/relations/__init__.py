"""FROM and subqueries: relations that are per unit by construction."""
