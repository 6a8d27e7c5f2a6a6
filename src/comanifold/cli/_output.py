"""Output of a command: text, or one JSON object; errors in one line."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ._help import option, together

output_options: Callable = together(
    option(
        "--json",
        "as_json",
        is_flag=True,
        section="Output options",
        help="Print one JSON object instead of text; progress goes to standard error.",
    ),
    option(
        "--quiet", "-q", is_flag=True, section="Output options", help="Print nothing but errors."
    ),
)


class Output:
    """Print the lines of a command, unless JSON or nothing is asked for."""

    def __init__(self, *, as_json: bool, quiet: bool):
        self.as_json, self.quiet = as_json, quiet

    def say(self, line: str = "") -> None:
        if not (self.as_json or self.quiet):
            click.echo(line)

    def end(self, outcome: dict[str, Any]) -> None:
        """The whole outcome, for machines."""
        if self.as_json:
            click.echo(json.dumps(outcome, indent=1, allow_nan=False))


@contextmanager
def plain_errors() -> Iterator[None]:
    """Show an expected error as one line, without a traceback."""
    try:
        yield
    except MemoryError as error:
        raise click.ClickException(
            "there is not enough memory: leave out rows or columns, or use --distances sparse"
        ) from error
    except (OSError, RuntimeError, ValueError, ImportError) as error:
        notes = getattr(error, "__notes__", [])
        # Without the number of the error, which says nothing to most.
        own = error.strerror if isinstance(error, OSError) and not error.filename else None
        raise click.ClickException("\n".join([own or str(error), *notes])) from error


def say_kept(folder: Path) -> None:
    """Tell someone who has stopped a command how to go on."""
    click.echo(f"What is done is kept in {folder}: the same command goes on.", err=True)


def duration(seconds: float) -> str:
    """A time as one would say it."""
    if seconds < 1:
        return "a second"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} hours"
