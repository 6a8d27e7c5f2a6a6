"""The commands of `comanifold`, and what they have in common."""

import sys

import click

from .. import __version__
from ._reproduce import reproduce

# What a shell expects of a program that was interrupted.
_INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="comanifold")
def commands() -> None:
    """The geometry of both the rows and the columns of a matrix full of holes."""


commands.add_command(reproduce)


def main() -> None:
    """Run a command; what a user can mend is said in a line, without a traceback."""
    try:
        sys.exit(commands.main(standalone_mode=False))
    except click.exceptions.Exit as leave:
        sys.exit(leave.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        sys.exit(_INTERRUPTED)
