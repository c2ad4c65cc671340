"""Whose data these are: an account claims its source, beside it and in the user's registry."""
