"""A fitted model as one interactive HTML page."""

from ._report import render_report, write_report

__all__ = ["render_report", "write_report"]
