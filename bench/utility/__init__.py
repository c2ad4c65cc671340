"""How useful answers are where one unit has many rows, beside the version before and other libraries."""
