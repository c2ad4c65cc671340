"""The kernel over copies that are encrypted at rest: buckets of files, and processes that open them."""
