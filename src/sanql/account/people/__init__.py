"""Who may ask: people, their roles and the verifiers of their tokens."""
