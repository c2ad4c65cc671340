"""Data of other shapes than flights: few units with many rows, and columns that most rows lack."""
