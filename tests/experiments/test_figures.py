"""Figures drawn from tables made by hand."""

import pandas as pd

from comanifold.experiments._figures import draw_clustering
from comanifold.experiments._methods import METHODS


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
    assert _legend(figures["figure-3-ari"]) == [method.label for method in METHODS.values()]
    assert _legend(figures["figure-3-ari-3-coordinates"]) == nested


def _legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]
