"""Tasks: the results they take, the threads that run them, errors and interrupts."""

import _thread
import threading
import time

import numpy as np
import pytest
from joblib import parallel_config

from comanifold._tasks import Tasks


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
@pytest.mark.parametrize("overlap", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_any_graph_of_calls_gives_the_results_of_plain_calls(n_jobs, overlap, seed):
    rng = np.random.default_rng(seed)
    n_calls = 40

    def call(number, *values):
        time.sleep(0.0005 * (number % 3))
        return (number + 3 * sum(values)) % 1009

    with Tasks(n_jobs, overlap=overlap) as tasks:
        added, expected = [], []
        for number in range(n_calls):
            inputs = rng.integers(number, size=rng.integers(3)) if number else []
            late = bool(rng.integers(2))
            added.append(tasks.add(call, number, *(added[i] for i in inputs), late=late))
            expected.append(call(number, *(expected[i] for i in inputs)))
        assert [added[i].result() for i in rng.permutation(n_calls)] != []
        assert [task.result() for task in added] == expected
        both = tasks.gather({"first": added[0], "last": added[-1]})
        assert both.result() == {"first": expected[0], "last": expected[-1]}


@pytest.mark.parametrize("overlap", [True, False])
def test_each_call_is_made_once(overlap):
    made = []
    with Tasks(3, overlap=overlap) as tasks:
        base = tasks.add(made.append, "base")
        others = [tasks.add(lambda _, i=i: made.append(i), base) for i in range(20)]
        for task in [*reversed(others), *others]:
            task.result()
    assert sorted(map(str, made)) == sorted(["base", *map(str, range(20))])


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_independent_calls_are_all_made(n_jobs):
    def wait(number):
        time.sleep(0.002 * (number % 3))
        return number

    with Tasks(n_jobs) as tasks:
        found = list(tasks.each((wait, (number,)) for number in range(20)))
    assert sorted(found) == list(range(20))


def test_calls_are_taken_when_they_can_be_made_soon():
    n_taken, n_done = 0, 0

    def calls():
        nonlocal n_taken
        for number in range(30):
            n_taken += 1
            assert n_taken - n_done <= 1 + 2 * 2
            yield (lambda number=number: number), ()

    with Tasks(3) as tasks:
        for _ in tasks.each(calls()):
            n_done += 1
    assert n_taken == 30


@pytest.mark.parametrize(("n_jobs", "n_at_once"), [(1, 1), (2, 2), (3, 3)])
def test_no_more_threads_work_than_are_asked_for(n_jobs, n_at_once):
    lock, running, most = threading.Lock(), 0, 0

    def work():
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1

    with Tasks(n_jobs) as tasks:
        early = [tasks.add(work) for _ in range(4)]
        list(tasks.each((work, ()) for _ in range(6)))
        for task in early:
            task.result()
    assert most == n_at_once


def test_late_tasks_begin_after_others():
    order = []
    begin = threading.Event()
    with Tasks(2) as tasks:
        tasks.add(begin.wait, 10)
        late = tasks.add(order.append, "late", late=True)
        others = [tasks.add(order.append, number) for number in range(3)]
        begin.set()
        while not all(task._is_done for task in (late, *others)):
            time.sleep(0.001)
    assert order == [0, 1, 2, "late"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_is_raised_by_all_that_need_the_result(n_jobs):
    def fail():
        raise ZeroDivisionError("as asked")

    with Tasks(n_jobs) as tasks:
        fine = tasks.add(lambda: 1)
        assert fine.result() == 1
        failed = tasks.add(fail)
        follower = tasks.add(lambda a, b: a + b, fine, failed)
        for _ in range(2):
            with pytest.raises(ZeroDivisionError, match="as asked"):
                follower.result()
        with pytest.raises(ZeroDivisionError, match="as asked"):
            failed.result()
        with pytest.raises(ZeroDivisionError, match="as asked"):
            list(tasks.each([(fail, ())]))


@pytest.mark.parametrize("n_running", [1, 2])
def test_an_interrupt_ends_the_wait_and_drops_what_has_not_begun(n_running):
    made, leave = [], threading.Event()
    before = threading.active_count()

    def wait():
        while not leave.is_set():
            time.sleep(0.005)

    def interrupted():
        # Two calls: one by the thread that is interrupted.
        with Tasks(2) as tasks:
            running = [tasks.add(wait) for _ in range(n_running)]
            late = tasks.add(made.append, running[0], late=True)
            if n_running == 2:  # else this thread would make the call while it waits
                tasks.add(made.append, None)
            timer = threading.Timer(0.2, _thread.interrupt_main)
            timer.start()
            late.result()

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    leave.set()
    deadline = time.monotonic() + 20
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.005)
    assert threading.active_count() == before
    assert not made


def test_threads_handle_errors_of_numpy_as_the_caller_does():
    def divide():
        time.sleep(0.001)
        return np.array([1.0]) / 0.0

    with Tasks(2) as tasks, np.errstate(divide="raise"):
        added = [tasks.add(divide) for _ in range(6)]
        time.sleep(0.05)  # the other thread has made all calls
        for task in added:
            with pytest.raises(FloatingPointError):
                task.result()


def test_threads_are_those_of_the_configuration():
    def ident():
        time.sleep(0.01)
        return threading.get_ident()

    def threads():
        with Tasks(None) as tasks:
            return {task.result() for task in [tasks.add(ident) for _ in range(6)]}

    with parallel_config("loky", n_jobs=1):
        assert threads() == {threading.get_ident()}
    with parallel_config("loky", n_jobs=2):
        assert len(threads()) == 2
