"""A server's address and a token → San: the same methods, answers and errors, and no engine."""

from sanql.client.remote_san import RemoteSan, connect_to_server

__all__ = ["RemoteSan", "connect_to_server"]
