"""Plots as files for a paper, and the page on paper and on a phone."""

import struct
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from oracles.pages import COLUMNS, ROWS

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

PICTURES = {"Matrix": "matrix", "Rows": "rows", "Columns": "columns", "Map of scales": "map"}


def saved_picture(page, button):
    """Return the name and the bytes of the file that a button saves."""
    with page.expect_download() as download:
        page.get_by_role("button", name=button, exact=True).click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def texts_of(svg):
    return " ".join(ElementTree.fromstring(svg).itertext())


@pytest.mark.parametrize(("button", "name"), PICTURES.items())
def test_every_plot_is_saved_as_svg_with_title(page, button, name):
    file, svg = saved_picture(page, f"{button}, SVG")
    assert file == f"checkers-{name}.svg"
    root = ElementTree.fromstring(svg)
    assert root.get("width") == "180mm"
    assert "Checkers" in texts_of(svg)
    assert b"http" not in svg.replace(b"http://www.w3.org/", b"")  # asks for nothing elsewhere


def test_the_legend_is_in_the_picture(page, model):
    _, svg = saved_picture(page, "Rows, SVG")
    sizes = np.bincount(model.row_labels_[model.row_labels_ >= 0])
    for number, size in enumerate(sizes, start=1):
        assert f"{number} ({size})" in texts_of(svg).replace("\xa0", " ")
    _, svg = saved_picture(page, "Matrix, SVG")
    assert any(name in texts_of(svg) for name in COLUMNS)


@pytest.mark.parametrize("button", PICTURES)
def test_every_plot_is_saved_as_png_at_print_resolution(page, button):
    file, png = saved_picture(page, f"{button}, PNG")
    assert file.endswith(".png")
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">I", png[16:20])[0] == 2126  # 180 mm at 300 dots per inch
    assert png[37:41] == b"pHYs"
    assert struct.unpack(">I", png[41:45])[0] == 11811  # dots per metre


def test_pictures_are_light_in_the_dark_theme(opened, model):
    page = opened(model, theme="dark", row_names=ROWS, column_names=COLUMNS, title="Checkers")
    _, svg = saved_picture(page, "Rows, SVG")
    background = next(ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}rect"))
    assert background.get("fill") == "#ffffff"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"


def test_names_with_markup_do_not_break_a_picture(opened, model):
    names = [f"<b onload=alert(1)>&{i}\x01" for i in range(25)]
    page = opened(model, column_names=names, title="<i>&")
    _, svg = saved_picture(page, "Matrix, SVG")
    assert "<b onload=alert" in texts_of(svg)


def test_print_has_no_controls(opened, model):
    page = opened(model, title="Checkers", theme="dark")
    page.emulate_media(media="print")
    for hidden in ("#controls", "#theme", "#exports", "#pictures"):
        assert not page.locator(hidden).is_visible()
    for shown in ("h1", "#clusters", "#about"):
        assert page.locator(shown).is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_a_phone_shows_everything_without_scrolling_sideways(opened, model):
    page = opened(model, row_names=ROWS, column_names=COLUMNS, title="A rather long title " * 4)
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    wide = page.evaluate("""() => [...document.querySelectorAll("button, select, input, h1, h2, p")]
        .filter((part) => part.checkVisibility() && !part.closest(".scroll"))
        .filter((part) => part.getBoundingClientRect().right > 391)
        .map((part) => part.id || part.textContent)""")
    assert wide == []
