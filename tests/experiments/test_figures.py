"""Figures drawn from tables made by hand."""

import pandas as pd
import pytest

from comanifold.experiments._figures import _style, draw_clustering, draw_geometry, families
from comanifold.experiments._methods import METHODS, OURS


def test_the_legend_has_the_methods_that_were_scored():
    rows = [
        {"data_set": data_set, "method": name, "n_components": n_components}
        for data_set in ("lung500", "linkage2")
        for name, method in METHODS.items()
        for n_components in ((2, 3) if method.is_nested else (2,))
    ]
    table = pd.DataFrame(rows).assign(fraction=0.5, realization=0, ari=0.5)
    figures = draw_clustering({"clustering": table})
    nested = [method.label for method in METHODS.values() if method.is_nested]
    assert _legends(figures["figure-3-ari"]) == {method.label for method in METHODS.values()}
    assert _legends(figures["figure-3-ari-3-coordinates"]) == set(nested)


def test_methods_of_a_family_look_different():
    for names in families(METHODS).values():
        styles = [tuple(_style(METHODS, name).items()) for name in {OURS, *names}]
        assert len(set(styles)) == len(styles)


def test_a_line_at_our_mean_shows_which_methods_are_better():
    rows = [
        {"method": name, "realization": mask, "value": (0.5 if name == OURS else 0.8) + 0.1 * mask}
        for name in METHODS
        for mask in range(3)
    ]
    known = {"data_set": "lung500", "mode": "column", "metric": "silhouette of Normal"}
    figure = draw_geometry({"geometry": pd.DataFrame(rows).assign(**known)})["figure-2-in-numbers"]
    upright = [line for line in figure.axes[0].lines if list(line.get_ydata()) == [0, 1]]
    assert [line.get_xdata()[0] for line in upright] == [pytest.approx(0.6)]


def _legends(figure):
    legends = (ax.get_legend() for ax in figure.axes)
    return {text.get_text() for legend in legends if legend for text in legend.get_texts()}
