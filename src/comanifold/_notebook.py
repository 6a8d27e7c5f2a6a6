"""Output in notebooks, and the progress bars of `fit(progress=True)` there and in terminals."""

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._fit.progress import FitProgress

# Seconds between two updates of a bar.
_BETWEEN = 0.1


def in_notebook() -> bool:
    """Return whether this code runs in a notebook, which displays HTML."""
    # IPython is there if it is running; it need not be imported to find that it is not.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def show(text: str, content: str, *, handle: Any = None, can_change: bool = False) -> Any:
    """Display HTML in a notebook, with a text for where there is none.

    With `can_change` a handle is returned, with which it can be replaced by another call.
    """
    from IPython.display import display

    bundle = {"text/plain": text, "text/html": content}
    if handle is not None:
        handle.update(bundle, raw=True)
        return handle
    return display(bundle, raw=True, display_id=True) if can_change else display(bundle, raw=True)


def with_progress_bar(fit: Callable) -> Callable:
    """Decorate a fit method so that ``progress=True`` shows a bar; other values are passed on."""

    @wraps(fit)
    def shown(self: Any, *arguments: Any, progress: Any = None, **options: Any) -> Any:
        with _listener(progress) as listener:
            return fit(self, *arguments, progress=listener, **options)

    return shown


@contextmanager
def _listener(progress: Any) -> Iterator[Any]:
    """Yield a bar for True, None for False, and anything else itself."""
    if progress is not True:
        yield None if progress is False else progress
        return
    bar = NotebookBar() if in_notebook() else TerminalBar()
    try:
        yield bar
    finally:
        bar.close()


class NotebookBar:
    """A progress bar that replaces itself in the output of a cell; called with a `FitProgress`."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._last = -_BETWEEN
        self._fraction = 0.0
        self._handle = show("fit: starting", _bar_html(0.0, "starting"), can_change=True)

    def __call__(self, at: "FitProgress") -> None:
        self._fraction = at.fraction
        now = time.monotonic()
        if at.fraction < 1.0 and now - self._last >= _BETWEEN:
            self._last = now
            self._show(f"{at.fraction:.0%}, about {_duration(at.seconds_left)} left: {at.stage}")

    def close(self) -> None:
        """Show how long the fit has taken, or where it was stopped."""
        seconds = _duration(time.monotonic() - self._started)
        if self._fraction < 1.0:
            self._show(f"stopped at {self._fraction:.0%}, after {seconds}")
        else:
            self._show(f"fitted in {seconds}")

    def _show(self, text: str) -> None:
        show(f"fit: {text}", _bar_html(self._fraction, text), handle=self._handle)


class TerminalBar:
    """A progress bar on standard error, if that is a terminal; called with a `FitProgress`."""

    def __init__(self) -> None:
        from rich import progress
        from rich.console import Console

        console = Console(stderr=True)
        self._bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=1.0, left="")
        self._bar.start()

    def __call__(self, at: "FitProgress") -> None:
        left = f"{at.fraction:.0%}, about {_duration(at.seconds_left)} left"
        self._bar.update(self._task, completed=at.fraction, description=at.stage, left=left)

    def close(self) -> None:
        """Remove the bar."""
        self._bar.stop()


def _bar_html(fraction: float, text: str) -> str:
    return (
        f"<div><progress value='{fraction:.4f}' max='1' aria-label='progress of the fit' "
        f"style='width:20em;vertical-align:middle'></progress> {html.escape(text)}</div>"
    )


def _duration(seconds: float) -> str:
    """Return a time in words, such as 40 s or 3 min."""
    if seconds < 10.0:
        return f"{seconds:.1f} s"
    if seconds < 100.0:
        return f"{seconds:.0f} s"
    minutes = seconds / 60.0
    return f"{minutes:.0f} min" if minutes < 100.0 else f"{minutes / 60.0:.1f} h"
