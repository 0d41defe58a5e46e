"""Reports: one self-contained HTML page, and figures for papers."""

from hypergnn.report.writing import PAGE, write, write_results

__all__ = ["PAGE", "write", "write_results"]
