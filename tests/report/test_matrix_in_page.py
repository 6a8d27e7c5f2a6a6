"""The picture of the matrix: zooming, names, trees, borders, colour limits, standard errors."""

import numpy as np
import pytest
from oracles.pages import COLUMNS, ROWS, drag, drawn, organised, picture, unpack

from comanifold.report._page_data import page_data

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")


@pytest.fixture
def matrix(page):
    """The usual page; afterwards the matrix is drawn as at first."""
    yield page
    for box in page.locator("#matrix-controls input:checked").all():
        box.uncheck()
    if page.locator("#limits-reset").is_enabled():
        page.locator("#limits-reset").click()
    page.focus("#matrix")
    page.keyboard.press("0")
    page.evaluate("document.activeElement.blur()")


def ticks(page, axis):
    return page.locator(f"#matrix .{axis}axislayer-above text").all_text_contents()


def in_places(page, axis, reach=0.49):
    """The places between the ends of an axis, also those of which a part is seen."""
    low, high = sorted(drawn(page, "matrix", f"layout.{axis}axis.range"))
    return range(int(np.ceil(low - reach)), int(np.floor(high + reach)) + 1)


def test_names_are_written_as_soon_as_they_fit(opened, model):
    page = opened(model, row_names=[f"row number {i}" for i in range(40)], column_names=COLUMNS)
    # Drawn anew in a plot that is too low for 40 names.
    page.evaluate("() => { document.getElementById('matrix').style.flex = '0 0 300px'; }")
    page.wait_for_function("() => document.getElementById('matrix')._fullLayout.height === 300")
    page.select_option("#palette", "grey")
    assert ticks(page, "y") == []
    drag(page, "matrix", (0.1, 0.1), (0.6, 0.5))
    page.wait_for_function("() => document.querySelector('#matrix .yaxislayer-above text')")
    shown = [f"row number {model.row_order_[place]}" for place in in_places(page, "y", reach=0)]
    assert 5 < len(shown) < 30
    # Shortened to 16 letters; the longest of these have 13.
    assert ticks(page, "y") == shown
    box = page.locator("#matrix .yaxislayer-above text").nth(2).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function(
        "(name) => document.getElementById('tip').textContent === name", arg=shown[2]
    )


def test_trees_put_rows_and_columns_in_their_order(matrix, model):
    data = page_data(model)
    n_traces = drawn(matrix, "matrix", "data.length")
    matrix.check("#trees")
    places = [unpack(data[mode]["tree"]["order"]) for mode in ("rows", "columns")]
    assert any((np.diff(order) != 1).any() for order in places)  # not the organised order
    expected = organised(model, model.filled_)[np.ix_(*places)]
    np.testing.assert_allclose(picture(matrix), expected, atol=1e-5)
    assert (
        drawn(matrix, "matrix", "data.length") == n_traces + 4
    )  # a tree and what is behind, twice
    names = [COLUMNS[model.column_order_[place]] for place in places[1]]
    assert ticks(matrix, "x") == names
    # What is selected is marked where it is now.
    matrix.fill("#find", "gene 12")
    matrix.press("#find", "Enter")
    place = places[0].tolist().index(model.row_order_.tolist().index(12))
    clear = {
        row
        for shape in drawn(matrix, "matrix", "layout.shapes")
        for row in np.arange(shape["y0"] + 0.5, shape["y1"])
        if shape.get("yref") == "y" and shape.get("opacity", 1) < 1
    }
    assert clear == set(range(40)) - {place}
    matrix.fill("#find", "")


def test_borders_are_between_clusters(matrix, model):
    before = drawn(matrix, "matrix", "data.length")
    matrix.check("#borders")
    assert drawn(matrix, "matrix", "data.length") == before + 2
    lines = drawn(matrix, "matrix", "data.at(-1)")
    labels = model.row_labels_[model.row_order_]
    changes = np.flatnonzero(np.diff(labels)) + 0.5
    assert len(changes) > 1
    horizontal = [y for x, y in zip(lines["x"], lines["y"], strict=True) if x == -0.5]
    assert horizontal == changes.tolist()


def test_colour_limits_are_chosen_and_reset(matrix):
    first = drawn(matrix, "matrix", "data[0].zmin"), drawn(matrix, "matrix", "data[0].zmax")
    assert "middle 98%" in matrix.inner_text("#matrix-text")
    matrix.fill("#low", "-0.5")
    matrix.press("#low", "Enter")
    matrix.fill("#high", "0.25")
    matrix.press("#high", "Enter")
    assert (drawn(matrix, "matrix", "data[0].zmin"), drawn(matrix, "matrix", "data[0].zmax")) == (
        -0.5,
        0.25,
    )
    assert "middle 98%" not in matrix.inner_text("#matrix-text")
    # What is no range is refused.
    matrix.fill("#high", "-3")
    matrix.press("#high", "Enter")
    assert drawn(matrix, "matrix", "data[0].zmax") == 0.25
    assert matrix.evaluate("!document.getElementById('high').checkValidity()")
    matrix.get_by_role("button", name="Reset the colour limits").click()
    assert (
        drawn(matrix, "matrix", "data[0].zmin"),
        drawn(matrix, "matrix", "data[0].zmax"),
    ) == first
    assert matrix.evaluate("document.getElementById('high').checkValidity()")


def test_what_was_filled_in_fades_by_its_standard_error(matrix, model):
    matrix.check("#uncertain")
    opacity = np.array(
        drawn(matrix, "matrix", "data[1].z.map((row) => Array.from(row))"), dtype=float
    )
    errors = organised(model, model.filled_std_ / model.scale_)
    is_missing = np.isnan(organised(model, model.data_))
    assert (opacity[~is_missing] == 0).all()
    assert (opacity[is_missing] >= 0.2).all()
    known = is_missing & np.isfinite(errors)
    np.testing.assert_allclose(
        opacity[known], np.minimum(0.9, 0.2 + 0.7 * errors[known]), atol=0.004
    )
    assert "standard error" in matrix.inner_text("#matrix-text")
    row, column = np.argwhere(known)[0]
    box = matrix.locator("#matrix .nsewdrag").first.bounding_box()
    matrix.mouse.move(
        box["x"] + (column + 0.5) / 25 * box["width"], box["y"] + (row + 0.5) / 40 * box["height"]
    )
    matrix.wait_for_function("() => !document.getElementById('tip').hidden")
    told = float(matrix.inner_text("#tip").split("standard error ")[1])
    assert told == pytest.approx(model.scale_ * errors[row, column], abs=0.006)


def test_single_entries_of_a_large_matrix_are_shown_on_zoom(opened, model):
    page = opened(model, max_cells=14, row_names=ROWS, column_names=COLUMNS)
    assert "mean of up to 3 × 2 neighbours: zoom in" in page.inner_text("#matrix-text")
    drag(page, "matrix", (0.02, 0.02), (0.3, 0.28))
    page.wait_for_function(
        "() => document.getElementById('matrix-text').textContent.includes('Single entries')"
    )
    assert "rounded to 1/65,534" in page.inner_text("#matrix-text")
    rows, columns = in_places(page, "y"), in_places(page, "x")
    assert 5 < len(rows) <= 14
    first = [drawn(page, "matrix", f"data[0].{name}") for name in ("y0", "x0")]
    assert first == [rows[0], columns[0]]
    expected = organised(model, model.filled_)[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    # What was filled in has one byte for each entry.
    np.testing.assert_allclose(picture(page), expected, atol=np.ptp(expected) / 250)
    named = in_places(page, "x", reach=0)
    assert ticks(page, "x") == [COLUMNS[model.column_order_[place]] for place in named]
    # The order of the trees, which needs every entry.
    page.check("#trees")
    page.focus("#matrix")
    page.keyboard.press("0")
    page.wait_for_function("() => document.getElementById('matrix').data[0].z.length === 14")
    places = [unpack(page_data(model)[mode]["tree"]["order"]) for mode in ("rows", "columns")]
    whole = organised(model, model.filled_)[np.ix_(*places)]
    block = whole[:3, :2]
    assert picture(page)[0, 0] == pytest.approx(np.nanmean(block), abs=0.02)


def test_a_matrix_without_single_entries_says_so(opened, model):
    page = opened(model, max_cells=14, max_entries=100)
    assert "too large for single entries" in page.inner_text("#matrix-text")
    assert page.locator("#trees").is_disabled()
    drag(page, "matrix", (0.1, 0.1), (0.4, 0.4))
    assert picture(page).shape == (14, 13)
