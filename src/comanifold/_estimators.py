"""Shared by all estimators: failed fits change nothing, warnings point to the caller's line."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

# Packages whose frames are skipped to find the line of the user.
_BETWEEN = ("comanifold", "contextlib", "sklearn")


def unchanged_on_failure(fit: Callable) -> Callable:
    """Decorate a fit method so that the estimator is unchanged if it raises.

    A fitted estimator keeps its previous fit, an unfitted one stays unfitted, whether an error,
    Ctrl-C or a lack of memory ended the new fit. The method must assign new objects to attributes
    and never modify existing ones.
    """

    @wraps(fit)
    def guarded(self: Any, *arguments: Any, **options: Any) -> Any:
        before = vars(self).copy()
        try:
            return fit(self, *arguments, **options)
        except BaseException:
            self.__dict__ = before  # one assignment, which a second Ctrl-C cannot cut in half
            raise

    return guarded


def levels_to_caller() -> int:
    """Return the `stacklevel` with which the calling function warns at the line of the user."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    return level
