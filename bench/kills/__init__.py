"""Processes that ask San, killed in the middle of it: nothing acknowledged is lost, nothing overspent."""
