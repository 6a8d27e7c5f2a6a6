"""Further layouts of the points in the page."""

import numpy as np
import pytest
from oracles.pages import drawn, saved

from comanifold.report import render_report

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")


@pytest.fixture(scope="module")
def others():
    rng = np.random.default_rng(0)
    return {
        "UMAP": (rng.standard_normal((40, 2)), rng.standard_normal((25, 2))),
        "<b>my</b> own": (rng.standard_normal((40, 4)), rng.standard_normal((25, 1))),
    }


def points(page, mode):
    x, y = (drawn(page, mode, f"data[0].{axis}.map((v) => v ?? null)") for axis in "xy")
    return np.array([x, y], dtype=float).T


def test_layouts_are_switched_and_their_coordinates_chosen(opened, model, others):
    page = opened(model, layouts=others)
    names = ["diffusion map", "UMAP", "<b>my</b> own"]
    assert page.locator("#rows-layout option").all_inner_texts() == names
    # Opens with the embedding of the fit.
    np.testing.assert_allclose(points(page, "rows"), model.row_embedding_[model.row_order_, :2])
    page.select_option("#rows-layout", "1")
    np.testing.assert_allclose(points(page, "rows"), others["UMAP"][0][model.row_order_])
    assert drawn(page, "rows", "layout.xaxis.title.text") == "UMAP 1"
    assert page.locator("#rows-axes").is_hidden()
    # The other mode stays.
    expected = model.column_embedding_[model.column_order_, :2]
    np.testing.assert_allclose(points(page, "columns"), expected)
    page.select_option("#rows-layout", "2")
    page.select_option("#rows-y", index=3)
    expected = others["<b>my</b> own"][0][np.ix_(model.row_order_, [0, 3])]
    np.testing.assert_allclose(points(page, "rows"), expected)
    assert page.locator("#rows .xtitle").text_content() == "<b>my</b> own 1"
    page.select_option("#columns-layout", "2")
    np.testing.assert_allclose(points(page, "columns")[:, 1], np.arange(25) + 1)
    header, *rows = saved(page, "Row embedding")
    assert header == ["name", *(f"coordinate_{i}" for i in range(1, 5))]
    values = np.array([[float(x) for x in row[1:]] for row in rows])
    np.testing.assert_array_equal(values, others["<b>my</b> own"][0])


def test_without_further_layouts_there_is_no_switch(page):
    assert page.locator("#rows-layout").is_hidden()


@pytest.mark.parametrize(
    ("layouts", "message"),
    [
        ([1], r"layouts must be \{name: .* got list"),
        ({"a": np.ones(3)}, r"layouts\['a'\] must be \(row coordinates, column coordinates\)"),
        ({"a": (np.ones((39, 2)), np.ones((25, 2)))}, r"row .* 40, .* got shape \(39, 2\)"),
        ({"a": (np.ones((40, 2)), np.ones(25))}, r"column coordinates .* got shape \(25,\)"),
        ({"a": (np.full((40, 2), np.inf), np.ones((25, 2)))}, "must be finite"),
        ({"a": ([["x", "y"]] * 40, np.ones((25, 2)))}, "must be numbers"),
    ],
)
def test_invalid_layouts_are_errors(model, layouts, message):
    with pytest.raises(ValueError, match=message):
        render_report(model, layouts=layouts)
