"""Output of a command: text or one JSON object, a progress bar, and errors as one line."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import click

# Without a terminal, progress is printed at most this often.
_SECONDS_BETWEEN_LINES = 30.0


class Output:
    """Print text, unless JSON or nothing is asked for."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False):
        self.as_json, self.quiet = as_json, quiet

    def say(self, line: str = "") -> None:
        """Print a line of text."""
        if not (self.as_json or self.quiet):
            click.echo(line)

    def result(self, result: dict[str, Any]) -> None:
        """Print the result of the command, if JSON is asked for."""
        if self.as_json:
            click.echo(json.dumps(result, indent=1, allow_nan=False))


class ProgressBar:
    """A bar with the time left on a terminal, else a line now and then; on standard error.

    Parameters
    ----------
    task : str
        What is being done, shown before the current stage.
    transient : bool
        Whether the bar disappears at the end, and the first line is printed only after a while.
    quiet : bool
    """

    def __init__(self, task: str = "", *, transient: bool = False, quiet: bool = False):
        from rich.console import Console  # here, so that help is quick

        self._console = Console(stderr=True, highlight=False, quiet=quiet)
        self._task, self._transient = task, transient
        self._bar: Any = None
        self._started: float | None = None
        self._n_before = 0
        self._last_line = time.monotonic() - (0.0 if transient else _SECONDS_BETWEEN_LINES)

    def __enter__(self) -> "ProgressBar":
        if self._console.is_terminal:
            from rich import progress

            self._bar = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(),
                progress.MofNCompleteColumn(),
                progress.TimeRemainingColumn(elapsed_when_finished=True),
                console=self._console,
                speed_estimate_period=600.0,
                transient=self._transient,
            )
            self._id = self._bar.add_task(self._task or "starting", total=None)
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

    def update(self, n_done: int, n_total: int, stage: str) -> None:
        """Show that n_done of n_total parts are done."""
        description = f"{self._task}: {stage}" if self._task else stage
        now = time.monotonic()
        if self._started is None:
            self._started, self._n_before = now, n_done
        if self._bar:
            self._bar.update(self._id, completed=n_done, total=n_total, description=description)
        elif n_done == n_total or now - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = now
            left = self._time_left(now, n_done, n_total)
            self._console.print(f"{n_done} of {n_total}{left}: {description}")

    def _time_left(self, now: float, n_done: int, n_total: int) -> str:
        n_new = n_done - self._n_before
        if not n_new or n_done == n_total:
            return ""
        seconds = (now - self._started) / n_new * (n_total - n_done)
        return f", about {duration(seconds)} left"


@contextmanager
def plain_errors() -> Iterator[None]:
    """Show an expected error as one line, without a traceback."""
    try:
        yield
    except (click.Abort, click.exceptions.Exit):
        raise
    except MemoryError as error:
        raise click.ClickException(
            "not enough memory: use fewer rows or columns, or --distances sparse"
        ) from error
    except (OSError, RuntimeError, ValueError, ImportError) as error:
        notes = getattr(error, "__notes__", [])
        # Without the error number, if there is no file name either.
        own = error.strerror if isinstance(error, OSError) and not error.filename else None
        raise click.ClickException("\n".join([own or str(error), *notes])) from error


def say_resumable(folder: Path) -> None:
    """Print how to resume a command that was interrupted."""
    click.echo(f"Finished parts are kept in {folder}: run the same command to resume.", err=True)


def duration(seconds: float) -> str:
    """Return a time in rounded words, such as "5 s" or "12 min"."""
    if seconds < 1:
        return "a second"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} hours"
