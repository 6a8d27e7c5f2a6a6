"""What all plot functions have in common."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from sklearn.exceptions import NotFittedError

from comanifold import CoManifold, plotting

_FUNCTIONS = [getattr(plotting, name) for name in plotting.__all__ if name not in ("STYLE", "save")]
_OF_FIGURES = [plotting.distinguishing, plotting.overview]


@pytest.mark.parametrize("draw", _FUNCTIONS)
def test_only_fitted_models_are_drawn(draw):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        draw(CoManifold())
    with pytest.raises(ValueError, match=r"must be a CoManifold, got str|must hold numbers"):
        draw("model")
    assert not plt.get_fignums()


@pytest.mark.parametrize("draw", [f for f in _FUNCTIONS if f not in _OF_FIGURES])
def test_given_axes_are_returned_and_settings_left_alone(draw, model):
    before = dict(plt.rcParams)
    figure, ax = plt.subplots()
    assert draw(model, ax=ax) is ax
    assert draw(model) is not ax
    assert dict(plt.rcParams) == before
    assert len(plt.get_fignums()) == 2
    figure.canvas.draw()


def test_saved_vector_files_have_text_and_the_exact_width(model, tmp_path):
    ax = plotting.embedding(model, labels=["ash"] * 15 + ["$beech$"] * 15, width="single")
    plotting.save(ax, tmp_path / "points.svg")
    plotting.save(ax.figure, tmp_path / "points.pdf")
    plotting.save(ax, tmp_path / "points.png", dpi=200)
    svg = (tmp_path / "points.svg").read_text()
    assert {"ash", "$beech$", "coordinate 1"} <= set(re.findall(r">([^<]+)</text>", svg))
    width = float(re.search(r'width="([0-9.]+)pt"', svg)[1])
    assert width / 72 * 25.4 == pytest.approx(89, abs=0.01)
    assert b"/FontFile2" in (tmp_path / "points.pdf").read_bytes()  # an embedded TrueType font
    assert plt.imread(tmp_path / "points.png").shape[1] == int(89 / 25.4 * 200)
    with pytest.raises(ValueError, match="figure must be a Figure or Axes, got CoManifold"):
        plotting.save(model, tmp_path / "model.png")


def _lab(colour):
    """Return a colour in CIELAB, D65."""
    c = np.array(to_rgb(colour))
    c = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(np.array(to_xyz) @ c / [0.95047, 1.0, 1.08883])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_colours_of_categories_can_be_told_apart():
    from comanifold.plotting._style import GREY, OTHER, palette_of

    colours = [*palette_of(range(24)).values(), GREY, OTHER, "white"]
    points = np.array([_lab(colour) for colour in colours])
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    assert (apart[:24] + 1e9 * np.eye(24, 27)).min() > 20  # a difference of 2 is just visible
