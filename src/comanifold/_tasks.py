"""Calls that take each other's results, on the threads of this process."""

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from threading import Condition, Thread
from typing import Any

from ._parallel import n_threads, single_threaded_blas

# Seconds after which a thread that waits looks up: on some systems Ctrl-C does not wake it.
_WAIT = 0.1

# Calls of `Tasks.each` that are asked for before they can be made, for each thread but the first.
_AHEAD = 2


class Task:
    """A call that is made once, by any thread; see `Tasks.add`."""

    def __init__(self, tasks: "Tasks", function: Callable, arguments: tuple, *, late: bool = False):
        self._tasks = tasks
        self._function, self._arguments = function, arguments
        self._context = copy_context()  # with the error handling of NumPy
        self._place = late, tasks._count()  # in the order of calls that can begin
        self._followers: list[Task] = []  # which wait for its result
        self._n_awaited = 0  # results that it waits for
        self._is_started = self._is_done = False
        self._value: Any = None
        self._error: BaseException | None = None

    def result(self) -> Any:
        """Return the result of the call, or raise its error.

        The thread that asks makes the call if no other has begun it, and others while it waits,
        whose errors it raises as well.
        """
        self._tasks._finish_one_of([self])
        return self._outcome()

    def _outcome(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._value

    def _unfinished_inputs(self) -> list["Task"]:
        arguments = (a for a in self._arguments if isinstance(a, Task))
        return [argument for argument in arguments if not argument._is_done]

    def _run(self) -> None:
        try:
            values = [a._outcome() if isinstance(a, Task) else a for a in self._arguments]
            # With OpenMP, each thread has its own limit of BLAS threads.
            with single_threaded_blas():
                self._value = self._context.run(self._function, *values)
        except BaseException as error:
            self._error = error
        self._function, self._arguments, self._context = None, (), None  # they may be large


class Tasks:
    """Calls that are made on threads as soon as the results that they take are there.

    The thread that adds the calls is one of the threads: it works when it asks for a result. With
    one thread, a call is made when its result is asked for. Which thread makes a call does not
    matter for its result.

    Parameters
    ----------
    n_jobs : int or None
        Number of threads, as for `joblib.Parallel`.
    overlap : bool, default=True
        Whether the calls of `add` are made before their results are asked for. That takes memory
        for the results of several.
    """

    def __init__(self, n_jobs: int | None, *, overlap: bool = True):
        self._n_others = n_threads(n_jobs) - 1
        self._overlap = overlap and self._n_others > 0
        self._threads: list[Thread] = []
        self._changed = Condition()
        self._ready: list[tuple[tuple[bool, int], Task]] = []  # a heap
        self._count = itertools.count().__next__
        self._is_closed = False

    def __enter__(self) -> "Tasks":
        return self

    def __exit__(self, *_: Any) -> None:
        """Let the threads end; calls that have not begun are dropped."""
        with self._changed:
            self._is_closed = True
            self._ready.clear()
            self._changed.notify_all()

    def add(self, function: Callable, *arguments: Any, late: bool = False) -> Task:
        """Return the task to call a function; arguments that are tasks stand for their results.

        Of calls that can begin, the one that was added first does, those that are `late` last.
        """
        task = Task(self, function, arguments, late=late)
        if self._overlap:
            self._begin_soon(task)
        return task

    def gather(self, tasks: dict[Any, Task]) -> Task:
        """Return a task whose result is the dict of the results of others."""
        keys = tuple(tasks)
        return self.add(lambda *values: dict(zip(keys, values, strict=True)), *tasks.values())

    def each(self, calls: Iterable[tuple[Callable, tuple]]) -> Iterator[Any]:
        """Make independent calls at the same time; yield their results as they are done.

        Calls are taken from the iterator by this thread, when they can be made soon.
        """
        waiting: list[Task] = []
        for function, arguments in calls:
            waiting.append(Task(self, function, arguments))
            del arguments  # they may be large
            if self._n_others:
                self._begin_soon(waiting[-1])
            while len(waiting) > _AHEAD * self._n_others or any(t._is_done for t in waiting):
                yield self._next_of(waiting)
        while waiting:
            yield self._next_of(waiting)

    def _next_of(self, waiting: list[Task]) -> Any:
        """Return the result of a task that is done, and remove it."""
        self._finish_one_of(waiting)
        number = next(i for i, task in enumerate(waiting) if task._is_done)
        return waiting.pop(number)._outcome()

    def _begin_soon(self, task: Task) -> None:
        """Let any thread make a call once it has its arguments."""
        with self._changed:
            inputs = task._unfinished_inputs()
            task._n_awaited = len(inputs)
            for needed in inputs:
                needed._followers.append(task)
            if not inputs:
                self._add_ready(task)
        while len(self._threads) < self._n_others:
            # As daemons they do not keep a process from ending.
            self._threads.append(Thread(target=self._work, daemon=True))
            self._threads[-1].start()

    def _add_ready(self, task: Task) -> None:
        if not self._is_closed:
            heapq.heappush(self._ready, (task._place, task))
            self._changed.notify()

    def _work(self) -> None:
        """Make calls that are ready, until the tasks are closed."""
        while not self._is_closed:
            with self._changed:
                task = self._take_ready()
                if task is None:
                    self._changed.wait()
            if task is not None:
                self._run(task)
            del task  # its result may be large

    def _finish_one_of(self, tasks: list[Task]) -> None:
        """Make calls until one of these is done: those that they need first, then any other."""
        while not any(task._is_done for task in tasks):
            with self._changed:
                task = self._take_needed(tasks) or self._take_ready()
                if task is None:
                    self._changed.wait(_WAIT)
            if task is not None:
                self._run(task)
                task._outcome()  # raises its error at once, which may be Ctrl-C

    def _take_needed(self, tasks: Iterable[Task]) -> Task | None:
        """Take one of some tasks, or of those whose results they take, that can begin."""
        for task in tasks:
            if task._is_started:
                continue
            inputs = task._unfinished_inputs()
            if not inputs:
                task._is_started = True
                return task
            found = self._take_needed(inputs)
            if found is not None:
                return found
        return None

    def _take_ready(self) -> Task | None:
        """Take the first task that is ready."""
        while self._ready:
            task = heapq.heappop(self._ready)[-1]
            if not task._is_started:
                task._is_started = True
                return task
        return None

    def _run(self, task: Task) -> None:
        task._run()
        with self._changed:
            task._is_done = True
            for follower in task._followers:
                follower._n_awaited -= 1
                if not follower._n_awaited:
                    self._add_ready(follower)
            task._followers = []
            self._changed.notify_all()
