"""What commands print: text or JSON, progress, and expected errors as one line."""

import json
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

# Without a terminal, progress is printed at most this often.
_SECONDS_BETWEEN_LINES = 30.0

# The largest fraction of a command that is not over.
_NOT_YET_ALL = 0.99


# Columns for the name of a section.
_NAME = 11

# Terminals that are narrower than this break lines themselves.
_NARROWEST = 40


class Output:
    """Print text, unless JSON or nothing is asked for."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False):
        self.as_json, self.quiet = as_json, quiet

    def say(self, line: str = "", *, indent: int | None = None) -> None:
        """Print a line of text, on a terminal broken between words.

        Further lines begin after `indent` blanks, by default two more than the first.
        """
        if not (self.as_json or self.quiet):
            click.echo(_wrapped(line, sys.stdout, indent))

    def section(self, name: str, lines: Sequence[str]) -> None:
        """Print lines with a name before the first of them."""
        for number, line in enumerate(lines):
            self.say(f"  {name if number == 0 else '':<{_NAME}}{line}", indent=_NAME + 4)

    def result(self, result: dict[str, Any]) -> None:
        """Print the result of the command, if JSON is asked for."""
        if self.as_json:
            click.echo(json.dumps(result, indent=1, allow_nan=False))


def say_on_stderr(text: str) -> None:
    """Print text on standard error, on a terminal broken between words."""
    for line in text.splitlines():
        click.echo(_wrapped(line, sys.stderr), err=True)


def _wrapped(line: str, stream: Any, indent: int | None = None) -> str:
    """Return a line broken to the width of the terminal; as it is where there is no terminal."""
    width = shutil.get_terminal_size().columns
    if not stream.isatty() or width < _NARROWEST or len(line) <= width:
        return line
    before = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line.lstrip(),
        width,
        initial_indent=before,
        subsequent_indent=" " * (len(before) + 2 if indent is None else indent),
        break_long_words=False,
        break_on_hyphens=False,
        # Blanks between columns stay.
        replace_whitespace=False,
    )


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
        self._ends_at: float | None = None

    def __enter__(self) -> "ProgressBar":
        if self._console.is_terminal:
            from rich import progress

            self._bar = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(),
                progress.TextColumn("{task.fields[amount]}"),
                _left_column(self._left),
                console=self._console,
                transient=self._transient,
            )
            self._id = self._bar.add_task(self._task or "starting", total=None, amount="")
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def update(self, n_done: int, n_total: int, stage: str) -> None:
        """Show that n_done of n_total parts are done, which take about the same time each."""
        now = time.monotonic()
        if self._started is None:
            self._started, self._n_before = now, n_done
        n_new = n_done - self._n_before
        seconds = (now - self._started) / n_new * (n_total - n_done) if n_new else None
        fraction = n_done / n_total if n_total else 0.0
        self._show(fraction, f"{n_done} of {n_total}", seconds, stage)

    def show(self, fraction: float, seconds_left: float, stage: str) -> None:
        """Show the finished part of the time of all parts, and what is left of it."""
        self._show(fraction, f"{fraction:.0%}", seconds_left, stage)

    def _show(self, fraction: float, amount: str, seconds: float | None, stage: str) -> None:
        description = f"{self._task}: {stage}" if self._task else stage
        now = time.monotonic()
        self._ends_at = None if seconds is None or fraction >= 1.0 else now + seconds
        if self._bar:
            self._bar.update(
                self._id, completed=fraction, total=1.0, description=description, amount=amount
            )
        elif fraction >= 1.0 or now - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = now
            left = self._left()
            self._console.print(f"{amount}{', ' if left else ''}{left}: {description}")

    def _left(self) -> str:
        """Return the time left in words; empty if it is not known, or over."""
        seconds = 0.0 if self._ends_at is None else self._ends_at - time.monotonic()
        return f"about {duration(seconds)} left" if seconds > 0.0 else ""


def _left_column(left: Callable[[], str]) -> Any:
    """Return a column of a bar that counts down between two reports."""
    from rich import progress
    from rich.text import Text

    class Left(progress.ProgressColumn):
        def render(self, _task: Any) -> Text:
            return Text(left())

    return Left()


class RunBar:
    """One bar for all parts of a command, in expected time.

    Parameters
    ----------
    parts : dict
        The expected seconds of each part, by name and in their order.
    kinds : dict, optional
        What a part is a repetition of, by its name: repetitions take about the same time.
    quiet : bool
    """

    def __init__(
        self,
        parts: dict[str, float],
        *,
        kinds: dict[str, str] | None = None,
        quiet: bool = False,
    ):
        from .._fit.expected_time import Step, TimeLeft

        kinds = kinds or {}
        self._time_left = TimeLeft(
            Step(name, seconds, kinds.get(name, name)) for name, seconds in parts.items()
        )
        self._bar = ProgressBar(transient=True, quiet=quiet)
        self._name = ""

    def __enter__(self) -> "RunBar":
        self._bar.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.__exit__(*error)

    def stop(self) -> None:
        """Remove the bar, so that messages can follow."""
        self._bar.__exit__()

    def begin(self, name: str) -> None:
        """Begin a part, which ends the one before."""
        self._name = name
        self._time_left.begin(name)
        self._show(name)

    def update(self, share: float, stage: str) -> None:
        """Show that a share of the time of a part is over, and what is being done."""
        self._time_left.update(share)
        self._show(f"{self._name}: {stage}")

    def _show(self, stage: str) -> None:
        # All is done when the command ends, not before.
        fraction = min(self._time_left.fraction, _NOT_YET_ALL)
        self._bar.show(fraction, self._time_left.seconds, stage)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Show an expected error as one line, without a traceback."""
    try:
        yield
    except (click.Abort, click.exceptions.Exit, BrokenPipeError):
        raise
    except MemoryError as error:
        raise click.ClickException(
            "not enough memory: use fewer rows or columns, or --distances sparse"
        ) from error
    except (OSError, RuntimeError, ValueError, ImportError) as error:
        notes = getattr(error, "__notes__", [])
        message = str(error)
        if isinstance(error, OSError) and error.strerror:  # without the error number
            file = [str(error.filename)] if error.filename else []
            message = ": ".join([*file, error.strerror])
        raise click.ClickException("\n".join([message, *notes])) from error


def say_resumable(folder: Path) -> None:
    """Print how to resume a command that was interrupted."""
    say_on_stderr(f"Finished parts are kept in {folder}: run the same command to resume.")


def duration(seconds: float) -> str:
    """Return a time in rounded words, such as "5 s" or "12 min"."""
    if seconds < 1:
        return "a second"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} hours"
