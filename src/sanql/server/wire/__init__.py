"""The PostgreSQL wire: the door that every database tool knows. It turns messages into requests."""

from sanql.server.wire.challenge import bound_to_certificate
from sanql.server.wire.door import WireDoor

__all__ = ["WireDoor", "bound_to_certificate"]
