"""What an officer hands over: promise, spending, questions and what they mean, as one page."""

from sanql.report.contents import Report
from sanql.report.gathering import gather
from sanql.report.page import page_of

__all__ = ["Report", "gather", "page_of"]
