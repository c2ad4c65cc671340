"""The nearest question that would be answered: rewriters by the kind of refusal, and their search."""
