"""San beside its peers: `python -m bench.peers`."""
