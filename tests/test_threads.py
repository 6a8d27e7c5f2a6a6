"""Threads of linear algebra, and interrupts while compiled code hands out its result."""

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from comanifold._parallel import plain_interrupts, single_threaded_blas


def raise_from(cause):
    try:
        try:
            raise cause
        except BaseException as inner:
            raise SystemError("unpickling returned a result with an exception set") from inner
    except SystemError as inner:
        raise SystemError("a kernel returned a result with an exception set") from inner


def test_an_interrupt_behind_an_error_of_the_interpreter_is_an_interrupt():
    # The same one, which may know what it came from.
    interrupt = KeyboardInterrupt("as asked")
    with pytest.raises(KeyboardInterrupt) as caught, plain_interrupts():
        raise_from(interrupt)
    assert caught.value is interrupt


def test_other_errors_of_the_interpreter_stay_what_they_are():
    with pytest.raises(SystemError, match="a kernel"), plain_interrupts():
        raise_from(ValueError())


def n_threads():
    """Threads of each library; some can have only one."""
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def in_thread(function):
    result = []
    thread = threading.Thread(target=lambda: result.append(function()))
    thread.start()
    thread.join()
    return result[0]


def limited():
    with single_threaded_blas():
        return set(n_threads())


@pytest.mark.skipif(max(n_threads(), default=1) < 2, reason="needs two threads")
def test_any_thread_can_set_the_limit_after_another_has():
    """The first thread that set it was the only one that could."""
    before = n_threads()
    assert limited() == {1}
    assert in_thread(limited) == {1}
    assert limited() == {1}
    with threadpool_limits(2, user_api="blas"):
        inside = n_threads()
        assert max(inside) == 2
        assert limited() == {1}
        assert in_thread(limited) == {1}
        assert n_threads() == inside
    assert n_threads() == before


@pytest.mark.skipif(max(n_threads(), default=1) < 2, reason="needs two threads")
def test_the_last_caller_restores_the_limit_of_another_thread():
    before = n_threads()
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with single_threaded_blas():
            entered.set()
            leave.wait(10)

    with single_threaded_blas():
        other = threading.Thread(target=hold)
        other.start()
        entered.wait(10)
    assert set(n_threads()) == {1}
    leave.set()
    other.join()
    assert n_threads() == before
    with threadpool_limits(2, user_api="blas"):
        assert max(n_threads()) == 2
