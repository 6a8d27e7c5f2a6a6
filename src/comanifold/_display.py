"""How a fitted model is shown: as HTML in notebooks, and its report inline or in a browser."""

import html
import os
import tempfile
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._summary import Summary
    from .co_manifold import CoManifold

# Points of an embedding that are drawn, and the side of its picture in pixels.
_MAX_POINTS = 1000
_SIDE = 200


def summary_html(summary: "Summary") -> str:
    """Return a summary as HTML, in the colours of the page that it is shown on."""
    rows = "".join(
        "<tr><th style='text-align:left;vertical-align:top;padding-right:1em;font-weight:600'>"
        f"{_escaped(name)}</th><td style='text-align:left'>{_lines(texts)}</td></tr>"
        for name, texts in summary.sections().items()
    )
    return (
        f"<div><strong>{_escaped(summary.title)}</strong>"
        f"<table style='font-size:inherit;border:none'>{rows}</table></div>"
    )


def model_html(model: "CoManifold", diagram: str) -> str:
    """Return what a fitted model has found, with `diagram`, its parameters as HTML, folded."""
    from ._summary import summarise

    pictures = "".join(_embedding_svg(model, mode) for mode in ("row", "column"))
    return (
        "<div class='comanifold-model'>"
        f"<div style='display:flex;flex-wrap:wrap;gap:1em'>{pictures}</div>"
        f"{summary_html(summarise(model, compare=False))}"
        f"<details><summary>parameters</summary>{diagram}</details></div>"
    )


def in_notebook() -> bool:
    """Return whether this is a notebook, which displays HTML."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    shell = get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def show_report(
    model: "CoManifold",
    path: str | os.PathLike | None,
    *,
    show: bool,
    height: int,
    **content: Any,
) -> Path | None:
    """Write and show the report; see `CoManifold.report`."""
    from ._io import atomic_file
    from .report import render_report

    page = render_report(model, **content)
    inline = show and in_notebook()
    if path is None and not inline:
        handle, name = tempfile.mkstemp(prefix="comanifold-", suffix=".html")
        os.close(handle)
        path = name
    if path is not None:
        path = Path(path).absolute()
        with atomic_file(path) as part:
            part.write_bytes(page)
    if inline:
        _display({"text/plain": "Co-manifold report", "text/html": _frame(page, height)})
    elif show:
        webbrowser.open(path.as_uri())
    return path


def _frame(page: bytes, height: int) -> str:
    """Return a frame that holds a whole page.

    Its scripts run, but as of an origin of their own: they reach nothing of the notebook. The
    page's own content security policy holds in the frame as well.
    """
    return (
        "<iframe title='Co-manifold report' sandbox='allow-scripts allow-downloads allow-popups' "
        f"style='width:100%;height:{height}px;border:1px solid #8888' "
        f'srcdoc="{html.escape(page.decode("utf-8"))}"></iframe>'
    )


def _display(bundle: dict[str, str]) -> None:
    from IPython.display import display

    display(bundle, raw=True)


def _escaped(text: str) -> str:
    """Return text for HTML; a lone surrogate, which is not valid UTF-8, becomes a reference."""
    return html.escape(text).encode("utf-8", "xmlcharrefreplace").decode("utf-8")


def _lines(texts: Sequence[str]) -> str:
    return "<br>".join(map(_escaped, texts))


def _embedding_svg(model: "CoManifold", mode: str) -> str:
    """Return the points of an embedding as a small picture, coloured by cluster."""
    from .plotting._style import GREY, clusters_palette

    points = getattr(model, f"{mode}_embedding_")
    labels = getattr(model, f"{mode}_labels_")
    points = np.hstack([points, np.zeros_like(points)])[:, :2] if points.shape[1] == 1 else points
    placed = np.flatnonzero(np.isfinite(points[:, :2]).all(axis=1))
    step = max(-(-len(placed) // _MAX_POINTS), 1)
    drawn = placed[::step]
    low, high = points[placed, :2].min(axis=0), points[placed, :2].max(axis=0)
    # Both axes to the same scale, in the middle of the picture.
    span = float((high - low).max()) or 1.0
    margin = 8
    places = _SIDE / 2 + (_SIDE - 2 * margin) * (points[drawn, :2] - (low + high) / 2) / span
    order = getattr(model, f"{mode}_order_")
    palette = clusters_palette(labels[order].tolist())
    size = float(np.clip(40.0 / np.sqrt(len(drawn)), 1.2, 3.5))
    dots = "".join(
        f"<circle cx='{x:.1f}' cy='{_SIDE - y:.1f}' r='{size:.1f}' "
        f"fill='{palette.get(int(label), GREY)}'/>"
        for (x, y), label in zip(places, labels[drawn], strict=True)
    )
    of_all = "" if step == 1 else f" ({len(drawn):,} shown)"
    title = f"{len(placed):,} {mode}s{of_all}"
    return (
        f"<figure style='margin:0'><svg width='{_SIDE}' height='{_SIDE}' role='img' "
        f"aria-label='Embedding of {title}' style='background:#fff'>{dots}</svg>"
        f"<figcaption>{title}</figcaption></figure>"
    )
