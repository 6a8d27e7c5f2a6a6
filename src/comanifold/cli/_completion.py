"""`comanifold completion`: completion of commands, options and files by the shell."""

import click
from click.shell_completion import get_completion_class

_INSTALL = {
    "bash": "comanifold completion bash >> ~/.bashrc",
    "zsh": "comanifold completion zsh >> ~/.zshrc",
    "fish": "comanifold completion fish > ~/.config/fish/completions/comanifold.fish",
}


@click.command(
    short_help="Print a script for completion by the shell.",
    epilog="\n".join(["\b", "Examples:", *(f"  {line}" for line in _INSTALL.values())]),
)
@click.argument("shell", type=click.Choice(list(_INSTALL)))
def completion(shell: str) -> None:
    """Print a script that lets SHELL complete commands, options and files with the tab key.

    Add it to the start-up file of the shell, and open a new one.
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.ClickException(f"completion for {shell} is not available")
    commands = click.get_current_context().find_root().command
    click.echo(kind(commands, {}, "comanifold", "_COMANIFOLD_COMPLETE").source())
