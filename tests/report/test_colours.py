"""Palettes, categories and legends of the page."""

import re
from importlib.resources import files

import numpy as np
import pytest
from oracles.pages import drawn

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

GREY = "#9aa0a6"
# The panels of both themes.
PANELS = ["#ffffff", "#171b22"]


def palette(name):
    text = files("comanifold.report").joinpath("page", "colours.js").read_text(encoding="utf-8")
    listed = text.split(f"const {name} = [")[1].split("]")[0]
    return re.findall("#[0-9a-f]{6}", listed)


def oklab(colours):
    """The colours in OKLab, in which distances are about as large as they look."""
    bytes_ = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours])
    shares = bytes_ / 255
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    to_cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    to_lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return np.cbrt(linear @ np.transpose(to_cones)) @ np.transpose(to_lab)


def distances(some, others):
    return np.linalg.norm(oklab(some)[:, None] - oklab(others)[None], axis=2)


@pytest.mark.parametrize("name", ["ANNOTATION_COLOURS", "CLUSTER_COLOURS"])
def test_twenty_colours_can_be_told_apart(name):
    colours = palette(name)
    assert len({*colours}) == 20
    apart = distances(colours, colours) + np.eye(20)
    # Differences of 0.02 are just seen.
    assert apart.min() > 0.13
    assert distances(colours, PANELS).min() > 0.15
    assert distances(colours, [GREY]).min() > 0.08


def test_the_palettes_of_clusters_and_annotations_are_different():
    assert distances(palette("ANNOTATION_COLOURS"), palette("CLUSTER_COLOURS")).min() > 0.06


@pytest.fixture(scope="module")
def many(opened, model):
    """A page with annotations of many levels."""
    return opened(
        model,
        annotations={
            "rows": {
                "twenty": [f"a{i % 20 + 1}" for i in range(40)],
                "forty": [f"x{i}" for i in range(40)],
                "grade": [i % 3 for i in range(39)] + [None],
                "height": [i / 3 for i in range(40)],
            }
        },
    )


def chips(page):
    return page.locator("#rows-legend .entry").all_inner_texts()


def choose(page, name):
    page.select_option("#rows-colour", label=name)


def test_twenty_categories_have_a_colour_each_in_natural_order(many):
    choose(many, "twenty")
    colours = drawn(many, "rows", "data[0].marker.color")
    assert len({*colours}) == 20
    assert GREY not in colours
    assert chips(many) == [f"a{i}" for i in range(1, 21)]
    assert many.get_by_role("button", name="Choose categories").count() == 0


def test_of_more_categories_some_are_picked_by_name(many, model):
    choose(many, "forty")
    assert chips(many)[-1] == "20 others"
    many.get_by_role("button", name="Choose categories").click()
    many.get_by_role("button", name="None").click()
    many.fill("#levels-search", "x3")
    boxes = many.locator("#levels-list label")
    assert boxes.all_inner_texts() == [f"x{i} (1)" for i in (3, *range(30, 40))]
    boxes.nth(1).locator("input").check()
    boxes.nth(4).locator("input").check()
    many.get_by_role("button", name="Close").click()
    assert chips(many) == ["x30", "x33", "38 others"]
    colours = np.array(drawn(many, "rows", "data[0].marker.color"))
    coloured = model.row_order_[colours != GREY]
    assert sorted(coloured.tolist()) == [30, 33]
    many.get_by_role("button", name="Choose categories").click()
    many.get_by_role("button", name="The most frequent").click()
    # Twenty colours are all there are.
    assert many.locator("#levels-list input:disabled").count() == 20
    many.keyboard.press("Escape")
    assert len(chips(many)) == 21


def test_whole_numbers_are_a_ramp_or_categories(many, model):
    choose(many, "grade")
    assert many.locator("#rows-legend canvas").count() == 1
    many.get_by_role("button", name="as categories").click()
    assert chips(many) == ["0", "1", "2", "none"]
    colours = drawn(many, "rows", "data[0].marker.color")
    grades = [-1 if i == 39 else i % 3 for i in model.row_order_]
    pairs = {*zip(grades, colours, strict=True)}
    assert len(pairs) == 4
    assert (-1, GREY) in pairs
    many.get_by_role("button", name="as a ramp").click()
    assert many.locator("#rows-legend canvas").count() == 1
    choose(many, "height")
    assert many.get_by_role("button", name="as categories").count() == 0
