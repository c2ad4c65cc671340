"""Questions over noisy statistics: the statistics taken out, and what is left read over their answers."""

from sanql.parse.over.possible import may_be_over_statistics
from sanql.parse.over.reading import read_over_statistics

__all__ = ["may_be_over_statistics", "read_over_statistics"]
