"""From a model to a file: the one public function of this package."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._io import atomic_file
from ._data import page_data

if TYPE_CHECKING:
    from ..co_manifold import CoManifold


def write_report(
    model: "CoManifold",
    path: str | os.PathLike,
    *,
    row_names: Sequence[Any] | None = None,
    column_names: Sequence[Any] | None = None,
    title: str | None = None,
    notes: Sequence[str] = (),
    annotations: dict[str, dict[str, Sequence[Any]]] | None = None,
) -> None:
    """Write a fitted model as one HTML file that needs nothing else, not even a network.

    The page has the matrix in its organised order beside both embeddings, linked to each other;
    with a model that was fitted with ``keep_scales=True`` also the matrix and the clusters at
    every pair of scales. Rows, or columns, past 500 are averaged with their neighbours in that
    order for the picture of the matrix, and the page says so.

    Parameters
    ----------
    model : CoManifold
        Fitted.
    path : path
        Of the file, by habit ending in ``.html``. It is replaced when the new one is complete.
    row_names, column_names : sequence, optional
        One name for each; by default those of the DataFrame that the model was fitted to, else
        numbers. They are shown as text, whatever is in them.
    title : str, optional
        The heading of the page.
    notes : sequence of str
        What else a reader should know: warnings, where the data come from.
    annotations : dict, optional
        Text or numbers to colour by: ``{"rows": {name: values}, "columns": {name: values}}``,
        one value for each row or column; None or NaN where there is none.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from comanifold import CoManifold
    >>> from comanifold.datasets import make_checkerboard, remove_entries
    >>> from comanifold.report import write_report
    >>> data = make_checkerboard(30, 20, random_state=0)
    >>> X = remove_entries(data.X, 0.3, random_state=0)
    >>> model = CoManifold(keep_scales=True).fit(X)
    >>> with TemporaryDirectory() as folder:
    ...     write_report(model, Path(folder) / "report.html", title="A checkerboard")
    ...     (Path(folder) / "report.html").exists()
    True
    """
    html = render_report(
        model,
        row_names=row_names,
        column_names=column_names,
        title=title,
        notes=notes,
        annotations=annotations,
    )
    with atomic_file(path) as part:
        part.write_bytes(html)


def render_report(model: "CoManifold", **content: Any) -> bytes:
    """Return the page that `write_report` writes, with the same keywords."""
    data = page_data(model, **content)
    # Imported here, so that what is wrong with the arguments is told first.
    from ._page import page_html

    return page_html(data)
