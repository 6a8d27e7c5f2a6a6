"""What all estimators share: failed fits that change nothing, and warnings at the caller's line."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

# Whose functions stand between a fit and the line that asked for it.
_BETWEEN = ("comanifold", "contextlib", "sklearn")


def unchanged_on_failure(fit: Callable) -> Callable:
    """The method, which leaves the estimator as it was if it does not return.

    An estimator that was fitted before keeps all of that fit, one that was not stays unfitted,
    whether an error, Ctrl-C or a lack of memory ended the new fit. Methods only have to assign
    new objects to attributes, and never change those that are there.
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
    """The `stacklevel` with which a function that asks for it warns at the user's line."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    return level
