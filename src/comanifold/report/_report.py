"""Write a fitted model as one HTML page that loads nothing from elsewhere."""

import base64
import hashlib
import json
import os
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from .._io import atomic_file
from ..model_selection import HeldOutErrors
from ._page_data import page_data

if TYPE_CHECKING:
    from ..co_manifold import CoManifold

# In order of dependence.
_SCRIPTS = (
    "data",
    "turns",
    "colours",
    "categories",
    "clusters",
    "entries",
    "frame",
    "trees",
    "matrix",
    "matrix_controls",
    "points_canvas",
    "many_points",
    "embedding",
    "scales",
    "tables",
    "selections",
    "distinguishing",
    "themes",
    "heatmap_pictures",
    "pictures",
    "sizes",
    "keys",
    "print",
    "page",
)

# Plotly adds an empty style sheet and fills it rule by rule,
_EMPTY = ""
# and adds style sheets of its geographical maps unless elements with their ids exist.
_MAP_STYLES = re.compile(r'getElementById\("([0-9a-f]{64})"\)')


def write_report(
    model: "CoManifold",
    path: str | os.PathLike,
    *,
    row_names: Sequence[Any] | None = None,
    column_names: Sequence[Any] | None = None,
    title: str | None = None,
    notes: Sequence[str] = (),
    annotations: dict[str, dict[str, Sequence[Any]]] | None = None,
    errors: HeldOutErrors | None = None,
    layouts: dict[str, tuple[ArrayLike, ArrayLike]] | None = None,
) -> None:
    """Write a fitted model as one self-contained HTML page.

    The page shows the organised matrix linked to both embeddings and, if the model was fitted
    with ``keep_scales=True``, the matrix and the clusters at every scale. With more than 500 rows
    or columns, neighbours in the organised order are averaged in the picture of the matrix, and
    the page says so.

    Parameters
    ----------
    model : CoManifold
        Fitted.
    path : path
        The file to write, usually ``.html``. An existing file is replaced once the new one is
        complete.
    row_names, column_names : sequence, optional
        By default the labels of the DataFrame that the model was fitted to, else numbers. Shown
        as plain text.
    title : str, optional
        The heading of the page.
    notes : sequence of str
        Further remarks, such as warnings or the source of the data.
    annotations : dict, optional
        Text or numbers to colour by, ``{"rows": {name: values}, "columns": {name: values}}``,
        one value for each row or column; None or NaN where missing.
    errors : HeldOutErrors, optional
        The errors on held-out entries to show, such as those of
        `comanifold.model_selection.compare_held_out`. By default those of the model and of means,
        if the fit has held out any entries.
    layouts : dict, optional
        Further layouts to switch to, ``{name: (row coordinates, column coordinates)}``, one line
        for each row or column, such as ``{"UMAP": (model.embed("umap"), model.embed("umap",
        mode="column"))}``. The page opens with the embedding of the fit.

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
        errors=errors,
        layouts=layouts,
    )
    with atomic_file(path) as part:
        part.write_bytes(html)


def render_report(model: "CoManifold", **content: Any) -> bytes:
    """Return the page that `write_report` writes; takes the same keywords."""
    # The arguments are validated before missing packages are reported.
    data = page_data(model, **content)
    try:
        from jinja2 import Environment, StrictUndefined
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError(
            f"the report needs {error.name}: pip install 'comanifold[report]'"
        ) from error
    script = "".join(_read(f"{name}.js") for name in _SCRIPTS)
    scripts = {"plotly": get_plotlyjs(), "page": script}
    style = _read("page.css") + _read("media.css")
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    page = environment.from_string(_read("page.html")).render(
        data=data,
        json=json_for_html(data),
        style=style,
        scripts=scripts,
        taken_names=_MAP_STYLES.findall(scripts["plotly"]),
        policy=_policy(list(scripts.values()), [style, _EMPTY]),
    )
    # A lone surrogate in a name is not valid UTF-8: it becomes a character reference.
    return page.encode("utf-8", "xmlcharrefreplace")


def json_for_html(data: Any) -> str:
    """Return data as ASCII JSON without <, > and &, safe inside any HTML element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _policy(scripts: list[str], styles: list[str]) -> str:
    """Return a content security policy that allows only these scripts and styles."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hashes(scripts)}",
            f"style-src-elem {_hashes(styles)}",
            # Plotly positions text with style attributes.
            "style-src-attr 'unsafe-inline'",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hashes(texts: list[str]) -> str:
    """Return the hashes of texts as a source list of the policy."""
    digests = [hashlib.sha256(text.encode("utf-8")).digest() for text in texts]
    return " ".join(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)


def _read(name: str) -> str:
    """Return the text of a file of the page."""
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")
