"""The kernel in worker processes of this machine."""
