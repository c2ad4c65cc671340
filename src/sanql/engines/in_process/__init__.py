"""The kernel in this process, for tests and small tools over data that are nobody's secret."""
