"""The commands of `comanifold`, and what they have in common."""

import signal
import sys
from types import FrameType

import click

from .. import __version__
from ._demo import demo
from ._fit import fit
from ._impute import impute
from ._inspect import inspect
from ._report import report
from ._reproduce import reproduce
from ._transform import transform


class _Stopped(KeyboardInterrupt):
    """By a signal."""

    def __init__(self, number: int):
        super().__init__()
        # What a shell expects of a program that a signal has ended.
        self.exit_code = 128 + number


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="comanifold")
def commands() -> None:
    """The geometry of both the rows and the columns of a matrix full of holes.

    Begin with: comanifold demo, or comanifold inspect FILE, or comanifold fit FILE --out DIR
    """


for command in (demo, inspect, fit, impute, transform, report, reproduce):
    commands.add_command(command)


def main() -> None:
    """Run a command; what a user can mend is said in a line, without a traceback."""
    # Both end the workers, and the way to go on is told.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        sys.exit(commands.main(prog_name="comanifold", standalone_mode=False))
    except click.exceptions.Exit as leave:
        sys.exit(leave.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort as abort:
        click.echo("Stopped.", err=True)
        sys.exit(getattr(abort.__cause__, "exit_code", 1))


def _stop(number: int, _frame: FrameType | None) -> None:
    # Asked again, it ends at once.
    for known in (signal.SIGINT, signal.SIGTERM):
        signal.signal(known, signal.SIG_DFL)
    raise _Stopped(number)
