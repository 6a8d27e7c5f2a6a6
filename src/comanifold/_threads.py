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


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Ctrl-C as the KeyboardInterrupt that it is.

    One that comes while compiled code hands out its result appears as an error of the
    interpreter, with the interrupt as its cause.
    """
    try:
        yield
    except SystemError as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, KeyboardInterrupt):
                raise cause from None
            cause = cause.__cause__
        raise
