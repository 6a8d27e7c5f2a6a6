"""Help that shows options by what they are about."""

from collections.abc import Callable
from typing import Any

import click


class SectionedCommand(click.Command):
    """A command whose options are listed in sections, and whose examples stay as they are."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(context):
            record = parameter.get_help_record(context)
            # Arguments stand in the usage, and the text says what they are.
            if record is not None and isinstance(parameter, click.Option):
                section = getattr(parameter, "section", "Output options")
                sections.setdefault(section, []).append(record)
        # What all commands have comes last.
        sections["Output options"] = sections.pop("Output options", [])
        for section, records in sections.items():
            with formatter.section(section):
                formatter.write_dl(records)

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        if self.epilog:
            formatter.write_paragraph()
            formatter.write(self.epilog.rstrip() + "\n")


class _Option(click.Option):
    def __init__(self, *arguments: Any, section: str, **settings: Any):
        super().__init__(*arguments, **settings)
        self.section = section


def option(*names: str, section: str, **settings: Any) -> Callable:
    """A click option that belongs to a section of the help."""
    return click.option(*names, cls=_Option, section=section, **settings)


def together(*options: Callable) -> Callable:
    """Several options as one decorator, in the order given."""

    def decorate(function: Callable) -> Callable:
        for one in reversed(options):
            function = one(function)
        return function

    return decorate


def examples(*lines: str) -> str:
    """The end of a help text."""
    return "Examples:\n" + "\n".join(f"  {line}" for line in lines)
