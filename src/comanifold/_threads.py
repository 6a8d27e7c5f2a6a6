"""One thread for linear algebra, so that sums are added in one order."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from threading import Lock
from typing import Any

import threadpoolctl

_lock = Lock()
_n_users = 0
_limit: Any = None
# Libraries whose limit is that of the calling thread.
_per_thread: Any = None


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep the linear algebra of this process on one thread while any caller is inside.

    Most libraries have one limit for the whole process: the first caller sets it and the last one,
    perhaps in another thread, restores what was there before. With OpenMP each thread has its own.
    """
    global _n_users, _limit, _per_thread
    with _lock:
        if _n_users == 0:
            controller = threadpoolctl.ThreadpoolController().select(user_api="blas")
            _per_thread = controller.select(threading_layer="openmp")
            with _control():
                _limit = controller.limit(limits=1)
        _n_users += 1
    try:
        with _per_thread.limit(limits=1) if _per_thread.lib_controllers else nullcontext():
            yield
    finally:
        with _lock:
            _n_users -= 1
            if _n_users == 0:
                with _control():
                    _limit.restore_original_limits()


@contextmanager
def _control() -> Iterator[None]:
    """Let this thread set the limit of OpenBLAS, and any other thread afterwards.

    Since threadpoolctl 3.7 only the first thread that sets it is heard, until it lets go.
    """
    let_go = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if let_go is None:
        yield
        return
    let_go(force=True)
    try:
        yield
    finally:
        let_go(force=True)


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
