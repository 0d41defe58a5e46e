"""Looking at results: one page of HTML that needs nothing else, and figures for papers."""

from hypergnn.report.writing import PAGE, write

__all__ = ["PAGE", "write"]
