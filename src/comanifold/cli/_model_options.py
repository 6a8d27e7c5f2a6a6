"""The options that set the parameters of a fit."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from ._help import option, together

if TYPE_CHECKING:
    from .. import CoManifold

_SECTION = "The method"


class _Neighbors(click.ParamType):
    name = "number"

    def convert(self, value: Any, *_context: Any) -> Any:
        parts = str(value).split(",")
        if len(parts) > 2 or not all(part.strip().isdecimal() and int(part) for part in parts):
            self.fail(f"{value!r} is neither a number nor one for rows and one for columns: 5,10")
        numbers = tuple(int(part) for part in parts)
        return numbers[0] if len(numbers) == 1 else numbers


class _Alpha(click.ParamType):
    name = "alpha"

    def convert(self, value: Any, *_context: Any) -> Any:
        return value if value == "auto" else _number(self, value, 'neither "auto" nor a number')


class _Bandwidth(click.ParamType):
    name = "bandwidth"

    def convert(self, value: Any, *_context: Any) -> Any:
        if value in ("local", "median"):
            return value
        kind, _, neighbor = str(value).partition(":")
        if kind == "local" and neighbor.isdecimal():
            return "local", int(neighbor)
        return _number(self, value, 'not "local", "local:7", "median" or a number')


def _number(kind: click.ParamType, value: Any, complaint: str) -> float:
    try:
        return float(value)
    except ValueError:
        return kind.fail(f"{value!r} is {complaint}")


model_options: Callable = together(
    option(
        "--components",
        type=click.IntRange(min=1),
        metavar="N",
        default=2,
        show_default=True,
        section=_SECTION,
        help="Coordinates of each embedding.",
    ),
    option(
        "--neighbors",
        type=_Neighbors(),
        metavar="N or N,N",
        section=_SECTION,
        help="Neighbours of each row, and each column, in the graphs. [default: 5]",
    ),
    option(
        "--alpha",
        type=_Alpha(),
        metavar="auto or A",
        section=_SECTION,
        help="Weights of the scales: learned from hidden entries, or a power of the costs. "
        "[default: auto]",
    ),
    option(
        "--penalty",
        type=click.Choice(["snowflake", "linear", "log", "mcp"]),
        section=_SECTION,
        help="What it costs to keep rows, or columns, apart. [default: snowflake]",
    ),
    option(
        "--passes",
        type=click.IntRange(min=1),
        metavar="N",
        section=_SECTION,
        help="More than 1: the graphs are built again from what was found. [default: 1]",
    ),
    option(
        "--bandwidth",
        type=_Bandwidth(),
        metavar="B",
        section=_SECTION,
        help="Of the diffusion maps: local, local:7, median or a number. [default: local]",
    ),
    option(
        "--distances",
        type=click.Choice(["auto", "dense", "sparse"]),
        section=_SECTION,
        help="sparse: near pairs and some others only, for large matrices. [default: auto]",
    ),
    option(
        "--first-graphs",
        type=click.Choice(["low-rank", "masked"]),
        section=_SECTION,
        help="How neighbours are found at first. [default: low-rank]",
    ),
    option(
        "--traversal",
        type=click.Choice(["symmetric", "paper"]),
        section=_SECTION,
        help="Which pairs of costs are solved. [default: symmetric]",
    ),
    option(
        "--tol",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        metavar="T",
        section=_SECTION,
        help="Where each scale stops. [default: 0.001]",
    ),
    option(
        "--max-iter",
        type=click.IntRange(min=1),
        metavar="N",
        section=_SECTION,
        help="Steps of a scale at most. [default: 10000]",
    ),
    option("--paper", is_flag=True, section=_SECTION, help="Settings as in the paper."),
    option(
        "--jobs",
        type=click.IntRange(min=1),
        metavar="N",
        default=os.cpu_count() or 1,
        section=_SECTION,
        help="Work side by side; by default as many as processors. The result is the same.",
    ),
)

_PARAMETERS = {
    "neighbors": "n_neighbors",
    "alpha": "alpha",
    "penalty": "penalty",
    "passes": "n_passes",
    "bandwidth": "bandwidth",
    "distances": "distances",
    "first_graphs": "first_graphs",
    "traversal": "traversal",
    "tol": "tol",
    "max_iter": "max_iter",
}


def make_model(given: dict[str, Any], **others: Any) -> "CoManifold":
    """The model that the options ask for."""
    from .. import CoManifold

    parameters = {
        parameter: given[name] for name, parameter in _PARAMETERS.items() if given[name] is not None
    }
    make = CoManifold.as_in_the_paper if given["paper"] else CoManifold
    return make(given["components"], n_jobs=given["jobs"], **parameters, **others)
