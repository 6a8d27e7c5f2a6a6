"""The plots by keyboard, and what screen readers are told."""

import pytest
from oracles.pages import COLUMNS, ROWS, drawn

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")


def told(page):
    return page.locator("#announcement").text_content()


def test_points_are_reached_and_selected_by_keyboard(page, model):
    page.focus("#rows")
    page.keyboard.press("Home")
    first = ROWS[model.row_order_[0]]
    assert told(page).startswith(f"{first}, cluster")
    assert page.locator("#tip").is_visible()
    # To the right until there is no further point: x grows with every step.
    x = model.row_embedding_[:, 0]
    at = [first]
    for _ in range(60):
        page.keyboard.press("ArrowRight")
        name = told(page).split(",")[0]
        if name == at[-1]:
            break
        at.append(name)
    steps = [x[ROWS.index(name)] for name in at]
    assert len(at) > 2
    assert steps == sorted(steps)
    assert steps[-1] == pytest.approx(max(x[~(x != x)]))
    page.keyboard.press("Space")
    assert told(page) == f"{at[-1]} selected, 1 row in all"
    page.keyboard.press("ArrowLeft")
    second = told(page).split(",")[0]
    page.keyboard.press("Enter")
    names = {ROWS[model.row_order_[i]] for i in drawn(page, "rows", "data[0].selectedpoints")}
    assert names == {at[-1], second}
    page.keyboard.press("Enter")
    assert "no longer selected, 1 row in all" in told(page)
    page.keyboard.press("Escape")
    assert told(page) == "Nothing selected"
    assert drawn(page, "rows", "data[0].selectedpoints") is None


def test_cells_are_reached_and_zoomed_by_keyboard(page, model):
    page.focus("#matrix")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    row, column = ROWS[model.row_order_[1]], COLUMNS[model.column_order_[1]]
    assert told(page).startswith(f"row: {row}, column: {column}, ")
    page.keyboard.press("Space")
    page.keyboard.press("Shift+Space")
    assert drawn(page, "rows", "data[0].selectedpoints") == [1]
    assert drawn(page, "columns", "data[0].selectedpoints") == [1]
    page.keyboard.press("Escape")
    whole = drawn(page, "matrix", "layout.xaxis.range")
    page.keyboard.press("+")
    near = drawn(page, "matrix", "layout.xaxis.range")
    assert near[1] - near[0] == pytest.approx((whole[1] - whole[0]) / 2)
    page.keyboard.press("0")
    assert drawn(page, "matrix", "layout.xaxis.range") == whole


def test_plots_have_roles_and_labels(page):
    for plot in ("matrix", "rows", "columns"):
        place = page.locator(f"#{plot}")
        assert place.get_attribute("role") == "application"
        assert "Arrow keys" in place.get_attribute("aria-label")
    assert page.locator("#announcement").get_attribute("aria-live") == "polite"
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, textarea")]
            .filter((control) => !control.getAttribute("aria-label"))
            .filter((control) => !control.labels?.length && !control.textContent.trim())
            .map((control) => control.outerHTML.slice(0, 80))"""
    )
    assert unnamed == []
    page.locator("#reading summary").click()
    assert "By keyboard: Tab goes to a plot" in page.inner_text("#reading")
    page.locator("#reading summary").click()
