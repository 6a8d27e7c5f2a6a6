"""Tasks in parallel on the active joblib backend, and one thread for linear algebra."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from threading import Lock
from typing import TYPE_CHECKING, Any

import threadpoolctl
from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from joblib.parallel import SequentialBackend, ThreadingBackend, get_active_backend

if TYPE_CHECKING:
    from ._tasks import Tasks


class StopFlag:
    """A flag that tells running threads to stop early.

    Other processes have copies that are not updated: these are terminated instead.
    """

    def __init__(self) -> None:
        self.is_up = False


@contextmanager
def in_parallel(
    calls: Iterable[tuple[Callable, tuple]],
    *,
    n_jobs: int | None,
    stop: StopFlag | None = None,
    tasks: "Tasks | None" = None,
) -> Iterator[Iterator[Any]]:
    """Call functions in parallel; yield an iterator over results in the order of completion.

    The workers are those of the active `joblib.parallel_config`; without one, the threads of
    `tasks`, or `n_jobs` processes. An error or Ctrl-C inside the context ends calls that are still
    running.
    """
    check_backend()
    if tasks is not None and _prefers_threads():
        try:
            yield tasks.each(calls)
        except BaseException:
            if stop is not None:
                stop.is_up = True
            raise
        return
    if _is_sequential():
        yield (function(*arguments) for function, arguments in calls)
        return
    client = _dask_client()
    # Dispatch all: later calls would come from the thread that talks to Dask, which must not wait.
    ahead = "2 * n_jobs" if client is None else "all"
    run = Parallel(n_jobs, return_as="generator_unordered", batch_size=1, pre_dispatch=ahead)
    results = None
    with nullcontext() if client is None else _large_tasks():
        try:
            results = run(delayed(function)(*arguments) for function, arguments in calls)
            yield results
        except BaseException as error:
            if stop is not None:
                stop.is_up = True
            if results is not None:
                # Closing the generator would warn about lost results; throwing into it does not.
                results.throw(error)
            raise


def map_in_threads(
    function: Callable, items: Iterator[tuple], *, n_jobs: int | None
) -> Iterator[Any]:
    """Call a function on threads for arguments as they come; yield the results in their order."""
    n_workers = n_threads(n_jobs)
    pool = ThreadPoolExecutor(n_workers)
    waiting: deque[Future] = deque()
    try:
        for arguments in items:
            waiting.append(pool.submit(_call, function, arguments))
            # Few at a time, for the memory that results take.
            while waiting and (waiting[0].done() or len(waiting) > 2 * n_workers):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _call(function: Callable, arguments: tuple) -> Any:
    """Call a function with one BLAS thread, which is a limit of each thread with OpenMP."""
    with single_threaded_blas():
        return function(*arguments)


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads for work in this process: that of the workers.

    Workers of a Dask cluster may be more than this machine has processors.
    """
    if _is_sequential():
        return 1
    n_workers = effective_n_jobs(n_jobs)
    return n_workers if _dask_client() is None else max(1, min(n_workers, cpu_count()))


def check_backend() -> None:
    """Raise ValueError if the joblib backend cannot return results as a generator."""
    backend, _ = get_active_backend()
    if not _is_sequential() and not getattr(backend, "supports_return_generator", False):
        name = type(backend).__name__.removesuffix("Backend").lower()
        raise ValueError(
            f"joblib's backend {name!r} cannot return results as they are finished, which is "
            'needed here: use joblib.parallel_config("loky") for processes, or "threading"'
        )


def _is_sequential() -> bool:
    """Return True if joblib runs sequentially, by configuration or inside nested workers."""
    backend, _ = get_active_backend()
    return isinstance(backend, SequentialBackend)


def _prefers_threads() -> bool:
    """Return True if joblib runs calls on threads, by configuration or if it has the choice."""
    backend, _ = get_active_backend(prefer="threads")
    return type(backend) is ThreadingBackend


def share(value: Any) -> Any:
    """Return a handle to a value that many calls take; `shared` returns the value.

    A value is sent to a Dask cluster once, as the result of a task and not as scattered data, so
    that Dask recomputes it if a worker is lost.
    """
    client = _dask_client()
    if client is None:
        return value
    # This must not wait for the cluster: joblib holds a lock while it asks for the next call, and
    # the thread that talks to Dask needs it.
    with _large_tasks():
        future = client.submit(_itself, value, pure=False)
    future.local_value = value  # not sent with it
    return future


def shared(value: Any) -> Any:
    """Return the value of a handle that `share` returned."""
    # If only one worker is left, joblib calls from this process, where it is still a future.
    return getattr(value, "local_value", value)


def is_distributed() -> bool:
    """Return whether calls go to the workers of a Dask cluster.

    Not if there is only one of them: then joblib makes the calls in this process.
    """
    return _dask_client() is not None and effective_n_jobs() > 1


def _itself(value: Any) -> Any:
    return value


def _dask_client() -> Any:
    """Return the Dask client of the active backend, or None."""
    backend, _ = get_active_backend()
    return getattr(backend, "client", None)


def _large_tasks() -> Any:
    """Switch off the warning of Dask about large tasks: shared values are large, and sent once."""
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"})


_lock = Lock()
_n_users = 0
_limit: Any = None
# Libraries in which each thread has its own limit.
_per_thread: Any = None


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread while any caller is inside this context.

    Most libraries have one limit per process: the first caller sets it and the last one, perhaps
    in another thread, restores the previous one. With OpenMP each thread has its own limit.
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

    Since threadpoolctl 3.7 only the first thread that sets the limit controls it, until it is
    cleared.
    """
    clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if clear is None:
        yield
        return
    clear(force=True)
    try:
        yield
    finally:
        clear(force=True)


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt in place of a SystemError that it caused.

    Ctrl-C while compiled code returns its result raises SystemError, with the interrupt as its
    cause.
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
