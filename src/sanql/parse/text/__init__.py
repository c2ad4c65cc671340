"""The text of a question before it is bound: limits, grammar, options, parameters, positions."""
