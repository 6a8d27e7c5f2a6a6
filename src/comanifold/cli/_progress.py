"""A bar with the time left, on a terminal; elsewhere a line now and then."""

import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

# Where there is no terminal, a line is written at most so often.
_SECONDS = 30.0


class ProgressBar:
    """Shows on standard error how many pieces of work are done and how long the rest will take."""

    def __init__(self, what: str = "", *, brief: bool = False, quiet: bool = False):
        self._console = Console(stderr=True, highlight=False, quiet=quiet)
        # Brief work leaves no trace: no bar when it is done, no line before it has taken long.
        self._transient = brief
        self._what = what
        self._bar: Progress | None = None
        self._started: float | None = None
        self._n_before = 0
        self._last_line = time.monotonic() - (0.0 if brief else _SECONDS)

    def __enter__(self) -> "ProgressBar":
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(elapsed_when_finished=True),
                console=self._console,
                speed_estimate_period=600.0,
                transient=self._transient,
            )
            self._task = self._bar.add_task(self._what or "starting", total=None)
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()

    def update(self, n_done: int, n_all: int, what: str) -> None:
        """So many pieces are done, the last of them this one."""
        what = f"{self._what}: {what}" if self._what else what
        now = time.monotonic()
        if self._started is None:
            self._started, self._n_before = now, n_done
        if self._bar:
            self._bar.update(self._task, completed=n_done, total=n_all, description=what)
        elif n_done == n_all or now - self._last_line >= _SECONDS:
            self._last_line = now
            self._console.print(f"{n_done} of {n_all}{self._left(now, n_done, n_all)}: {what}")

    def _left(self, now: float, n_done: int, n_all: int) -> str:
        n_made = n_done - self._n_before
        if not n_made or n_done == n_all:
            return ""
        seconds = (now - self._started) / n_made * (n_all - n_done)
        return f", about {seconds / 60:.0f} min left" if seconds > 90 else ", nearly there"
