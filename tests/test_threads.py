"""Interrupts that come while compiled code hands out its result."""

import pytest

from comanifold._threads import plain_interrupts


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
