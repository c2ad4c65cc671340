"""The catalogue that database tools read: a PostgreSQL of its own with empty tables of the same shape."""

from sanql.server.wire.catalogue.asking import Catalogue, CatalogueError

__all__ = ["Catalogue", "CatalogueError"]
