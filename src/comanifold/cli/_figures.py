"""The figures of a fit as files: overview, embeddings, matrix, and what distinguishes clusters."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._annotations import as_labels, is_grouping
from ._options import Names
from ._results import NewFile, Run

if TYPE_CHECKING:
    from .. import CoManifold

FORMATS = ("svg", "pdf", "png")
FIGURES = "figures"

# Dots per inch, where a format has dots; of the overview that is always written, fewer.
_DPI, _DPI_OF_OVERVIEW = 300, 150

_MODES = ("row", "column")


def figure_option(more: str) -> click.Option:
    """Return the option --figures; `more` ends its help."""
    return click.Option(
        ["--figures"],
        type=Names("format", FORMATS),
        default=(),
        metavar="LIST",
        help="Also write figures for papers in these formats, such as svg,pdf,png, to the folder "
        f"{FIGURES}: overview, both embeddings, the matrix, and what distinguishes the clusters."
        f"{more}",
    )


def possible_figures(formats: tuple[str, ...]) -> list[str]:
    """Return the names of all files that `write_figures` may write."""
    names = ["overview", "matrix"]
    names += [f"{mode}_{what}" for mode in _MODES for what in ("embedding", "distinguishing")]
    return [_path(name, ending) for name in names for ending in formats]


def render_overview(model: "CoManifold", run: Run) -> bytes:
    """Return the overview as PNG."""
    with _drawing():
        figure = _overview(model, run)
        content = _as_bytes(figure, "png", _DPI_OF_OVERVIEW)
        _close(figure)
    return content


def write_figures(
    new_file: NewFile, model: "CoManifold", run: Run, formats: tuple[str, ...]
) -> list[str]:
    """Write the figures in all formats; return the names of the files."""
    written: list[str] = []
    if not formats:
        return written
    for name, draw in _figures(model, run).items():
        save_figure(draw, lambda ending, name=name: new_file(_path(name, ending)), formats)
        written += [_path(name, ending) for ending in formats]
    return written


def _path(name: str, ending: str) -> str:
    return f"{FIGURES}/{name}.{ending}"


def save_figure(
    draw: Callable[[], Any], new_file: Callable[[str], Path], formats: tuple[str, ...]
) -> None:
    """Draw a figure and save it in some formats; `new_file` takes the format."""
    with _drawing():
        figure = draw()
        for ending in formats:
            content = _as_bytes(figure, ending, _DPI)
            new_file(ending).write_bytes(content)
        _close(figure)


@contextmanager
def _drawing() -> Iterator[None]:
    """Draw without a display, with text as text and the same bytes for the same figure."""
    import matplotlib as mpl

    from ..plotting import STYLE

    settings = {"backend": "agg", "svg.fonttype": "none", "svg.hashsalt": "comanifold"}
    with mpl.rc_context({**STYLE, **settings}):
        yield


def _as_bytes(figure: Any, ending: str, dpi: int) -> bytes:
    content = io.BytesIO()
    without_date = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    figure.savefig(content, dpi=dpi, format=ending, metadata=without_date.get(ending))
    return content.getvalue()


def _close(figure: Any) -> None:
    import matplotlib.pyplot as plt

    plt.close(figure)


def _annotations(run: Run) -> dict[str, dict[str, list[Any]]]:
    """Return the annotations that figures show."""
    return {
        mode: {name: as_labels(known[name]) for name in names if name in known}
        for mode, names in run.in_figures.items()
        if (known := run.annotations.get(mode))
    }


def _overview(model: "CoManifold", run: Run) -> Any:
    return model.plot(annotations=_annotations(run))


def _figures(model: "CoManifold", run: Run) -> dict[str, Callable[[], Any]]:
    """Return a function for each figure that draws it."""
    from .. import plotting

    clusters = {mode: _clusters(model, mode) for mode in _MODES}
    figures: dict[str, Callable[[], Any]] = {
        "overview": lambda: _overview(model, run),
        "matrix": lambda: (
            plotting.matrix(
                model,
                filled=True,
                row_labels=clusters["row"],
                column_labels=clusters["column"],
                annotations=_annotations(run),
            ).figure
        ),
    }
    for mode in _MODES:
        figures[f"{mode}_embedding"] = lambda mode=mode: _embedding(model, run, mode)
        if clusters[mode] is not None:
            figures[f"{mode}_distinguishing"] = lambda mode=mode: plotting.distinguishing(
                model, mode=mode
            )
    return figures


def _clusters(model: "CoManifold", mode: str) -> list[str | None] | None:
    """Return the clusters as in clusters.csv; None if there is one."""
    labels = getattr(model, f"{mode}_labels_").tolist()
    if max(labels) < 1:
        return None
    return [None if label < 0 else f"{mode} cluster {label + 1}" for label in labels]


def _embedding(model: "CoManifold", run: Run, mode: str) -> Any:
    """Draw an embedding in the colours of the first annotation, else of the clusters."""
    from .. import plotting

    known = _annotations(run).get(f"{mode}s", {})
    for name, values in known.items():
        if is_grouping(run.annotations[f"{mode}s"][name]):
            return plotting.embedding(model, mode=mode, labels=values, name=name).figure
        numbers = [float("nan") if value is None else value for value in values]
        return plotting.embedding(model, mode=mode, values=numbers, name=name).figure
    labels = _clusters(model, mode)
    return plotting.embedding(model, mode=mode, labels=labels).figure
