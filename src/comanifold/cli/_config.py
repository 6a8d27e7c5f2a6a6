"""`--config`: options from a file, such as the run.json of an earlier run."""

import json
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

# Options that belong to one run, and are not stored.
_NOT_STORED = {
    *("out", "path", "force", "as_json", "quiet", "config", "help"),
    *("jobs", "checkpoint", "checkpoint_after", "resume"),
}

# Where a context keeps what was given.
_KEY = "comanifold.given"
_GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP, ParameterSource.ENVIRONMENT)


def config_option() -> click.Option:
    """Return the option --config of a command."""
    return click.Option(
        ["--config"],
        type=click.Path(path_type=Path),
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=_read_config,
        help="Take FILE and options from here, as far as they are not given: the run.json of an "
        'earlier fit, or a file such as {"log1p": true, "clusters": 4}.',
    )


def given_options() -> dict[str, Any]:
    """Return what was given to the current command, as values that JSON can store."""
    context = click.get_current_context()
    given = context.meta.get(_KEY, {})
    return {name: _as_json(value) for name, value in given.items()}


def remember_given(context: click.Context) -> None:
    """Keep what was given to a command, before its options are grouped."""
    context.meta[_KEY] = {
        name: value
        for name, value in context.params.items()
        if name not in _NOT_STORED and context.get_parameter_source(name) in _GIVEN
    }


def _as_json(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_as_json(part) for part in value]
    return str(value) if isinstance(value, Path) else value


def _read_config(context: click.Context, _option: click.Parameter, path: Path | None) -> None:
    """Set the defaults of a command from a file."""
    if path is None:
        return
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise click.ClickException(f"{path} is not JSON: {error}") from error
    context.default_map = {**(context.default_map or {}), **_checked(context, path, content)}


def _checked(context: click.Context, path: Path, content: Any) -> dict[str, Any]:
    """Return the options of a configuration by name; an error names what is wrong."""
    if not isinstance(content, dict):
        raise click.ClickException(f"{path} must have an object of options, such as {{...}}")
    is_run = "comanifold" in content and "findings" in content
    if is_run:
        if not content.get("options"):
            raise click.ClickException(
                f"{path} has no options: it was written by the demonstration or by an earlier "
                "version of comanifold"
            )
        content = content["options"]
    known = {param.name: param for param in context.command.params}
    # What another command stores for options that this one does not have.
    others = _options_of_fit(context) if is_run else set()
    options = {}
    for key, value in content.items():
        name = str(key).replace("-", "_")
        if name not in known or name in _NOT_STORED:
            if name in others:
                continue
            raise click.ClickException(
                f"{path}: {key!r} is not an option of {context.command_path} that a file can have"
            )
        options[name] = _check_value(context, known[name], value, f"{path}: {key}")
    return options


def _options_of_fit(context: click.Context) -> set[str]:
    root = context.find_root().command
    fit = root.commands.get("fit") if isinstance(root, click.Group) else None
    return set() if fit is None else {str(param.name) for param in fit.params}


def _check_value(context: click.Context, param: click.Parameter, value: Any, where: str) -> Any:
    """Validate a value of a file; return it as it would be given on the command line."""
    if isinstance(param, click.Option) and param.is_flag:
        expected, is_possible = "true or false", isinstance(value, bool)
    elif param.multiple:
        expected, is_possible = "a list of texts", isinstance(value, list)
    else:
        expected = "a number, a text or a list"
        is_possible = isinstance(value, str | int | float | list) and not isinstance(value, bool)
    if not is_possible:
        raise click.ClickException(f"{where} must be {expected}, got {json.dumps(value):.40}")
    if isinstance(value, list) and not param.multiple:
        value = ",".join(map(str, value))
    try:
        param.type_cast_value(context, value)
    except click.BadParameter as error:
        raise click.ClickException(f"{where}: {error.message}") from error
    return value
