"""What is typed, before it means anything: limits, grammar, options, parameters, places."""
