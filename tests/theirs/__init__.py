"""Questions in the manner of collections that people really ask, each with its tables and its policy."""
