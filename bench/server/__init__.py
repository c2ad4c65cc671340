"""San as a server on loopback: questions a second, repeats, overhead, memory, start."""
