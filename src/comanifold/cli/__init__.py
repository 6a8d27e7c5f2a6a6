"""The command line, `comanifold`: the group of commands, and what happens on signals."""

import os
import signal
import sys
from types import FrameType

import click

from .. import __version__
from ._compare import compare
from ._completion import completion
from ._fit import demo, fit
from ._impute import impute, transform
from ._inspect import inspect
from ._output import say_on_stderr
from ._pages import report
from ._reproduce import reproduce

__all__ = ["commands", "main"]


class _Interrupted(KeyboardInterrupt):
    """A signal to stop."""

    def __init__(self, number: int):
        super().__init__()
        # What a shell expects of a program that a signal has ended.
        self.exit_code = 128 + number


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 success, 1 error (the message says which), 2 wrong usage, 130 "
    "interrupted with Ctrl-C, 143 terminated.",
)
@click.version_option(__version__, prog_name="comanifold")
def commands() -> None:
    """Embed, cluster and fill in a matrix with missing entries, by rows and columns at once.

    Start with: comanifold demo, comanifold inspect FILE, or comanifold fit FILE --out DIR
    """


for command in (demo, inspect, fit, compare, impute, transform, report, reproduce, completion):
    commands.add_command(command)


def main() -> None:
    """Run a command; show expected errors as one line, without a traceback."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        sys.exit(commands.main(prog_name="comanifold", standalone_mode=False))
    except click.exceptions.Exit as leave:
        sys.exit(leave.exit_code)
    except click.UsageError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        say_on_stderr(f"Error: {error.format_message()}")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # Nobody reads on, as with `| head`. Python would complain when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except click.Abort as abort:
        click.echo("Stopped.", err=True)
        sys.exit(getattr(abort.__cause__, "exit_code", 1))


def _interrupt(number: int, _frame: FrameType | None) -> None:
    """Stop the command in an orderly way; a second signal ends it at once."""
    for known in (signal.SIGINT, signal.SIGTERM):
        signal.signal(known, signal.SIG_DFL)
    raise _Interrupted(number)
