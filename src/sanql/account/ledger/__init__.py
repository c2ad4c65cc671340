"""The durable account: records in a chain, and the state they add up to."""
