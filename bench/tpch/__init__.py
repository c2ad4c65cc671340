"""TPC-H with the customer as privacy unit."""
