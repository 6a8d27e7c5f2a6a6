"""One thread for linear algebra, so that sums are added in one order."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_users = 0
_limit: Any = None


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep the linear algebra of this process on one thread while any caller is inside.

    The limit is that of the whole process: the first caller sets it and the last one restores
    what was there before.
    """
    global _users, _limit
    with _lock:
        if _users == 0:
            _limit = ThreadpoolController().limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit.restore_original_limits()
