"""The command `sanql`: argument parsing only."""
