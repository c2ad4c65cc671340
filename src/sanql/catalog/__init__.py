"""Policy + schema → catalog: the tables and columns of a policy found in its source."""

from sanql.catalog.binding import BoundTable, SourceFormat, bind
from sanql.catalog.description import Description, Layout, PreparedSource, Summary, layout
from sanql.catalog.owner_remarks import Remark, remarks_on
from sanql.catalog.similar_names import suggest_similar

__all__ = [
    "BoundTable",
    "Description",
    "Layout",
    "PreparedSource",
    "Remark",
    "SourceFormat",
    "Summary",
    "bind",
    "layout",
    "remarks_on",
    "suggest_similar",
]
