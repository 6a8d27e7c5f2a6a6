"""Pages with more points and cells than can be drawn one by one."""

from xml.etree import ElementTree

import pytest
from oracles.enlarged import enlarged

from comanifold import CoManifold
from comanifold.datasets import make_checkerboard, remove_entries
from comanifold.report import render_report

_MOST_BYTES = 40e6


@pytest.fixture(scope="module")
def small():
    X = remove_entries(make_checkerboard(60, 40, random_state=0).X, 0.3, random_state=0)
    return CoManifold(keep_scales=True).fit(X)


def test_all_of_many_points_are_there(opened, small):
    page = opened(enlarged(small, (6000, 40)))
    assert page.locator("#rows canvas").count() == 1
    with page.expect_download() as download:
        page.get_by_role("button", name="Rows, SVG", exact=True).click()
    root = ElementTree.parse(download.value.path()).getroot()
    n_drawn = sum(1 for part in root.iter("{http://www.w3.org/2000/svg}circle"))
    assert n_drawn == 6000
    page.get_by_label("Names that contain").fill("row 17")
    page.get_by_label("Names that contain").press("Enter")
    names = [f"row {i}" for i in range(1, 6001)]
    n_found = sum("row 17" in name for name in names)
    assert page.locator("#selection-text").text_content().startswith(f"{n_found} rows")


def test_cells_are_averaged_and_single_entries_shown_on_zoom(opened, small):
    big = enlarged(small, (1500, 40))
    page = opened(big)
    assert "the mean of up to 3 × 1 neighbours" in page.locator("#matrix-text").text_content()
    page.focus("#matrix")
    for _ in range(6):
        page.keyboard.press("+")
    page.wait_for_timeout(500)
    shown = page.evaluate("document.getElementById('matrix').data[0].z.length")
    assert shown < 100
    assert "the mean of" not in page.locator("#matrix-text").text_content()


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(30_000, 50), (5_000, 5_000)])
def test_very_large_pages_are_small_and_open(opened, small, shape):
    big = enlarged(small, shape)
    assert len(render_report(big)) < _MOST_BYTES
    page = opened(big)
    ready = page.evaluate("performance.now()")
    assert "Each cell is the mean of up to" in page.locator("#matrix-text").text_content()
    print(f"{shape}: ready after {ready / 1e3:.1f} s")
