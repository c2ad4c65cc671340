"""What tests of several packages share: silent samplers, policies, the way from a question to its
plan and cells, commands run as in a shell, and which share of much `make test` runs."""
