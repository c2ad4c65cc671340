"""The door for browsers: pages that are made here, forms that turn words into requests."""
