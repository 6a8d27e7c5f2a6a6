"""A fitted model as one web page to explore and to share."""

from ._report import write_report

__all__ = ["write_report"]
