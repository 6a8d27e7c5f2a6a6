"""A fitted model as one web page to explore and to share."""

from ._report import render_report, write_report

__all__ = ["render_report", "write_report"]
