"""Tasks in parallel on the active joblib backend, and one thread for linear algebra."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from threading import Lock
from typing import Any

import threadpoolctl
from joblib import Parallel, delayed
from joblib.parallel import SequentialBackend, get_active_backend


class StopSign:
    """Tells threads that nobody waits for them any more.

    Copies in other processes do not hear of it: those are ended from outside.
    """

    def __init__(self) -> None:
        self.is_up = False


@contextmanager
def in_parallel(
    calls: Iterable[tuple[Callable, tuple]],
    *,
    n_jobs: int | None,
    stop: StopSign | None = None,
    prefer: str | None = None,
) -> Iterator[Iterator[Any]]:
    """The result of each function of its arguments, in the order in which they are finished.

    The workers are those of the ambient `joblib.parallel_config`; without one, `n_jobs` of those
    that are preferred. Leaving by an error, or by Ctrl-C, ends what is still running.
    """
    check_backend()
    if _is_sequential():
        yield (function(*arguments) for function, arguments in calls)
        return
    client = _dask_client()
    # The rest of the calls would be made by the thread that talks to Dask, which must not wait.
    ahead = "2 * n_jobs" if client is None else "all"
    run = Parallel(
        n_jobs, return_as="generator_unordered", prefer=prefer, batch_size=1, pre_dispatch=ahead
    )
    results = None
    with nullcontext() if client is None else _large_tasks():
        try:
            results = run(delayed(function)(*arguments) for function, arguments in calls)
            yield results
        except BaseException as error:
            if stop is not None:
                stop.is_up = True
            if results is not None:
                # Closed, it would warn of the results that are lost; so it just stops.
                results.throw(error)
            raise


def check_backend() -> None:
    """Refuse a backend of joblib that cannot hand out results as they are finished."""
    backend, _ = get_active_backend()
    if not _is_sequential() and not getattr(backend, "supports_return_generator", False):
        name = type(backend).__name__.removesuffix("Backend").lower()
        raise ValueError(
            f"joblib's backend {name!r} cannot hand out results as they are finished, which is "
            'needed here: use joblib.parallel_config("loky") for processes, or "threading"'
        )


def _is_sequential() -> bool:
    """Whether joblib has been told to run nothing side by side, or is that deep in its workers."""
    backend, _ = get_active_backend()
    return isinstance(backend, SequentialBackend)


def share(value: Any) -> Any:
    """`value` as an argument that many calls have in common; they get at it by `shared`.

    A Dask cluster gets it once. It is the result of a task there, not scattered data, so that it
    is made anew when the worker that had it is lost.
    """
    client = _dask_client()
    if client is None:
        return value
    with _large_tasks():
        return client.submit(_itself, value, pure=False)


def shared(value: Any) -> Any:
    """What was given to `share`."""
    # On a cluster of one worker joblib makes the calls here.
    return value.result() if hasattr(value, "result") else value


def _itself(value: Any) -> Any:
    return value


def _dask_client() -> Any:
    """Return the Dask client of the active backend, or None."""
    backend, _ = get_active_backend()
    return getattr(backend, "client", None)


def _large_tasks() -> Any:
    """No warnings of large tasks: what is in ours is needed, and sent once."""
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"})


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
