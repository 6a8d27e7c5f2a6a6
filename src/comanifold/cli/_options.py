"""Options that commands share, and help that lists them by group.

Each group of options becomes one argument of the command: the keywords of `read_table`, an
unfitted `Preprocessor`, an unfitted `CoManifold`, or an `Output`.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._config import remember_given
from ._output import Output, plain_errors

if TYPE_CHECKING:
    from .. import CoManifold
    from ..preprocessing import Preprocessor

FILE = click.Path(path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
COUNT = click.IntRange(min=1)

_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "bar": "|"}


@dataclass(frozen=True)
class OptionGroup:
    """Options that are one section of the help and one argument of the command.

    Attributes
    ----------
    argument : str
        Name of the argument of the command.
    section : str
        Heading in the help.
    collect : callable
        Takes the options as keywords and returns the argument.
    options : sequence of click.Option
    """

    argument: str
    section: str
    collect: Callable[..., Any]
    options: Sequence[click.Option]


class GroupedCommand(click.Command):
    """A command with groups of options; expected errors are shown as one line."""

    def __init__(
        self,
        *arguments: Any,
        groups: Sequence[OptionGroup],
        params: Sequence[click.Parameter] | None = None,
        examples: Sequence[str],
        **settings: Any,
    ):
        options = [option for group in groups for option in group.options]
        super().__init__(*arguments, params=[*(params or ()), *options], **settings)
        self.groups, self.examples = groups, examples

    def invoke(self, context: click.Context) -> Any:
        with plain_errors():
            remember_given(context)
            for group in self.groups:
                given = {
                    option.name: context.params.pop(option.name)
                    for option in group.options
                    if option.expose_value
                }
                context.params[group.argument] = group.collect(**given)
            return super().invoke(context)

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        help_option = self.get_help_option(context)
        for group in self.groups:
            is_last = group is self.groups[-1]
            options = [*group.options, *([help_option] if is_last and help_option else [])]
            with formatter.section(group.section):
                formatter.write_dl([option.get_help_record(context) for option in options])

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        formatter.write_paragraph()
        formatter.write("\n".join(["Examples:", *(f"  {line}" for line in self.examples), ""]))


# Reading


def _reading(*, no_labels: bool, **options: Any) -> dict[str, Any]:
    """Return the keywords of `read_table`."""
    if no_labels:
        if options["labels"] is not None:
            raise click.UsageError("--labels and --no-labels exclude each other")
        options["labels"] = False
    options["delimiter"] = _DELIMITERS.get(options["delimiter"], options["delimiter"])
    return options


_LINES = click.IntRange(min=0)

reading_options = OptionGroup(
    "reading",
    "Reading the table (auto-detected unless given)",
    _reading,
    [
        click.Option(
            ["--missing"],
            metavar="LIST",
            help='Further codes of missing entries, such as "-999,unknown". Numbers are compared '
            "by value. Empty cells, NA, N/A, NaN, null, None, ?, -, . and the like are always "
            "missing.",
        ),
        click.Option(["--delimiter"], metavar="CHAR", help='Such as ";" or "tab".'),
        click.Option(["--decimal"], type=click.Choice([".", ","]), help="Decimal mark."),
        click.Option(
            ["--thousands"],
            metavar="CHAR",
            help='Thousands separator: ".", ",", a space or an apostrophe.',
        ),
        click.Option(
            ["--skip-rows"], type=_LINES, default=0, metavar="N", help="Skip the first N lines."
        ),
        click.Option(
            ["--skip-footer"],
            type=_LINES,
            default=0,
            metavar="N",
            help="Skip the last N lines that are not blank.",
        ),
        click.Option(
            ["--header-rows"],
            type=_LINES,
            metavar="N",
            help="Number of header lines; the names in them are joined.",
        ),
        click.Option(
            ["--header/--no-header"],
            default=None,
            help="Whether the first line has the names of the columns.",
        ),
        click.Option(
            ["--labels"],
            metavar="COLUMN",
            help="Column with the labels of the rows, by name or number from 1.",
        ),
        click.Option(
            ["--no-labels"],
            is_flag=True,
            help="Rows have no labels; label files beside an MTX file are ignored.",
        ),
        click.Option(
            ["--columns"],
            metavar="LIST",
            help='Read only these columns: names, numbers from 1, or ranges ("3-58", "Q1-Q30").',
        ),
        click.Option(["--exclude"], metavar="LIST", help="Ignore these columns."),
        click.Option(
            ["--censored"],
            type=click.Choice(["limit", "missing"]),
            help="Read values such as <0.5 as their limit, or as missing.",
        ),
        click.Option(
            ["--long"],
            metavar="ROW,COLUMN,VALUE",
            help="Long format, one entry per line: the columns with its row, column and value.",
        ),
        click.Option(["--transpose"], is_flag=True, help="Exchange rows and columns."),
        click.Option(["--sheet"], metavar="NAME", help="Sheet of an XLSX file."),
        click.Option(["--array"], metavar="NAME", help="Array of an NPZ file."),
        click.Option(["--layer"], metavar="NAME", help="Layer of an H5AD file."),
        click.Option(
            ["--absent"],
            type=click.Choice(["missing", "zero"]),
            help="Meaning of entries that a sparse matrix does not store.",
        ),
        click.Option(["--encoding"], metavar="NAME", help="Text encoding, such as latin-1."),
    ],
)


# Preprocessing


def _preprocessor(**parameters: bool) -> "Preprocessor":
    from ..preprocessing import Preprocessor

    return Preprocessor(**parameters)


preprocessing_options = OptionGroup(
    "preprocessor",
    "Preprocessing",
    _preprocessor,
    [
        click.Option(["--log1p"], is_flag=True, help="Take the logarithm of 1 + x, as for counts."),
        click.Option(
            ["--standardize"],
            is_flag=True,
            help="Give every column mean 0 and standard deviation 1 over its observed entries. "
            "Filled-in values are still written in the units of the file.",
        ),
    ],
)


# Model

EMBEDDINGS = ("diffusion", "umap", "tsne", "isomap", "mds")


class Names(click.ParamType):
    """A list of some of the given names, such as umap,tsne."""

    name = "names"

    def __init__(self, kind: str, names: Sequence[str]):
        self._kind, self._names = kind, names

    def convert(self, value: Any, *_context: Any) -> tuple[str, ...]:
        if isinstance(value, tuple):  # the default
            return value
        parts = str(value).split(",")
        chosen = tuple(dict.fromkeys(str(part).strip().lower() for part in parts))
        unknown = [name for name in chosen if name not in self._names]
        if unknown:
            known = ", ".join(self._names)
            self.fail(f"{unknown[0]!r} is not a {self._kind}: some of {known}, separated by commas")
        return chosen


class _Neighbors(click.ParamType):
    name = "number"

    def convert(self, value: Any, *_context: Any) -> Any:
        parts = str(value).split(",")
        if len(parts) > 2 or not all(part.strip().isdecimal() and int(part) for part in parts):
            self.fail(f"{value!r} is not a positive integer, or two: 5,10 (rows, columns)")
        numbers = tuple(int(part) for part in parts)
        return numbers[0] if len(numbers) == 1 else numbers


class _Bandwidth(click.ParamType):
    name = "bandwidth"

    def convert(self, value: Any, *_context: Any) -> Any:
        if value in ("auto", "local", "median"):
            return value
        kind, _, neighbor = str(value).replace(",", ":").partition(":")
        if kind == "local" and neighbor.isdecimal():
            return "local", int(neighbor)
        try:
            return float(value)
        except ValueError:
            return self.fail(f'{value!r} is not "auto", "local", "local:7", "median" or a number')


def _n_clusters(both: int | None, rows: int | None, columns: int | None) -> Any:
    """Return the parameter `n_clusters` of `CoManifold`; None to find the numbers."""
    if both is not None and (rows is not None or columns is not None):
        raise click.UsageError(
            "--clusters is the number for both rows and columns: use it alone, or "
            "--row-clusters and --column-clusters"
        )
    return both if rows is None and columns is None else (rows, columns)


# The parameters of `CoManifold` whose options have shorter names.
_PARAMETERS = {"components": "n_components", "neighbors": "n_neighbors", "passes": "n_passes"}


def _model(
    *,
    paper: bool,
    jobs: int,
    alpha: float | None,
    clusters: int | None,
    row_clusters: int | None,
    column_clusters: int | None,
    **options: Any,
) -> "CoManifold":
    """Return the unfitted model that the options ask for."""
    from .. import CoManifold

    parameters = {
        _PARAMETERS.get(name, name): value for name, value in options.items() if value is not None
    }
    model = (CoManifold.as_in_the_paper if paper else CoManifold)(n_jobs=jobs, **parameters)
    if alpha is not None:
        if model.scale_weights != "cost":
            raise click.UsageError("--alpha has an effect only with --scale-weights cost")
        model.set_params(alpha=alpha)
    return model.set_params(n_clusters=_n_clusters(clusters, row_clusters, column_clusters))


model_options = OptionGroup(
    "model",
    "Model",
    _model,
    [
        click.Option(
            ["--components"],
            type=COUNT,
            metavar="N",
            help="Coordinates of each embedding. [default: 2]",
        ),
        click.Option(
            ["--embedding"],
            type=click.Choice(EMBEDDINGS),
            help="How distances become coordinates. umap needs the extra umap; umap, tsne and mds "
            "place no new points. [default: diffusion]",
        ),
        click.Option(
            ["--clusters"],
            type=COUNT,
            metavar="K",
            help="Number of clusters of the rows, and of the columns. [default: found]",
        ),
        click.Option(
            ["--row-clusters"],
            type=COUNT,
            metavar="K",
            help="Number of clusters of the rows alone. [default: found]",
        ),
        click.Option(
            ["--column-clusters"],
            type=COUNT,
            metavar="K",
            help="Number of clusters of the columns alone. [default: found]",
        ),
        click.Option(
            ["--neighbors"],
            type=_Neighbors(),
            metavar="N or N,N",
            help="Neighbours of each row, and of each column, in the graphs. [default: 5]",
        ),
        click.Option(
            ["--scale-weights"],
            type=click.Choice(["learned", "cost"]),
            help="Weights of the scales: learned from held-out entries, or a power of the costs. "
            "[default: learned]",
        ),
        click.Option(
            ["--alpha"],
            type=float,
            metavar="A",
            help="Exponent of the costs, with --scale-weights cost. [default: -0.5]",
        ),
        click.Option(
            ["--penalty"],
            type=click.Choice(["snowflake", "linear", "log", "mcp"]),
            help="Penalty on the differences between neighbours. [default: snowflake]",
        ),
        click.Option(
            ["--passes"],
            type=COUNT,
            metavar="N",
            help="Number of passes; each further one rebuilds the graphs from the distances of the "
            "one before. [default: 1]",
        ),
        click.Option(
            ["--bandwidth"],
            type=_Bandwidth(),
            metavar="B",
            help="Bandwidth of the diffusion maps: auto, local, local:7, median or a number. "
            "[default: auto]",
        ),
        click.Option(
            ["--distances"],
            type=click.Choice(["auto", "dense", "sparse"]),
            help="Compute all distances, or (sparse) those of near pairs and a few others, for "
            "large matrices. [default: auto]",
        ),
        click.Option(
            ["--metric"],
            type=click.Choice(["multi-scale", "tree"]),
            help="Distances: sums over all scales, or (tree) over the folders of trees of rows and "
            "columns, for noisy data. [default: multi-scale]",
        ),
        click.Option(
            ["--first-graphs"],
            type=click.Choice(["completed", "masked"]),
            help="Find the first neighbours by distances in the filled-in matrix, or over shared "
            "entries only. [default: completed]",
        ),
        click.Option(
            ["--traversal"],
            type=click.Choice(["symmetric", "paper"]),
            help="Which pairs of costs to solve. [default: symmetric]",
        ),
        click.Option(
            ["--tol"],
            type=click.FloatRange(0, 1, min_open=True, max_open=True),
            metavar="T",
            help="Tolerance of each scale. [default: 0.001]",
        ),
        click.Option(
            ["--max-iter"],
            type=COUNT,
            metavar="N",
            help="Maximum number of iterations of each scale. [default: 10000]",
        ),
        click.Option(["--paper"], is_flag=True, help="Use the settings of the paper."),
        click.Option(
            ["--jobs"],
            type=COUNT,
            metavar="N",
            default=os.cpu_count() or 1,
            help="Number of parallel jobs; by default one per processor. The result is the same.",
        ),
    ],
)


# Output

output_options = OptionGroup(
    "output",
    "Output options",
    Output,
    [
        click.Option(
            ["--json", "as_json"],
            is_flag=True,
            help="Print one JSON object instead of text; progress goes to standard error.",
        ),
        click.Option(["--quiet", "-q"], is_flag=True, help="Print nothing but errors."),
    ],
)
