"""Names, sizes and models that the page has to cope with, in a real browser."""

import numpy as np
import pytest
from oracles.pages import organised, picture, saved
from sklearn.manifold import Isomap

from comanifold import CoManifold
from comanifold.report import _matrix

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

HOSTILE = [
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    "<!-- not a comment",
    "line\u2028separator",
    "<b>bold</b> &lt; &amp;",
    '<a href="javascript:window.hacked=1">x</a>',
    "${window.hacked = 1} {{ 7 * 7 }} %{x}",
    'a "quoted", name\nof two lines',
    "'); window.hacked = 1; //",
]


def test_hostile_names_are_text(opened, model):
    rows = (HOSTILE * 4)[:40]
    columns = (HOSTILE * 3)[:25]
    page = opened(
        model,
        theme="dark",
        row_names=rows,
        column_names=columns,
        title=HOSTILE[1],
        notes=HOSTILE,
        annotations={
            "rows": {HOSTILE[0]: rows},
            "columns": {HOSTILE[6]: columns, "n": range(25)},
        },
    )
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.title() == HOSTILE[1]
    assert page.inner_text("h1") == HOSTILE[1]
    for note in HOSTILE:
        assert note in page.locator("#notes").evaluate("(notes) => notes.textContent")
    members = page.locator("#rows-clusters").evaluate("(table) => table.textContent")
    assert all(name in members for name in HOSTILE)
    assert HOSTILE[0] in page.locator("#rows-colour").evaluate("(list) => list.textContent")
    # With few columns their names are beside the matrix, shortened, and Plotly reads no HTML.
    ticks = page.locator("#matrix .xaxislayer-above text, #matrix .xtick text").all_text_contents()
    assert "<script>window.…" in ticks
    assert "<!-- not a comm…" in ticks
    assert page.locator("#matrix a, #matrix b, #rows a, img").count() == 0
    page.fill("#find", "<script>window")
    # Hover over every column.
    box = page.locator("#matrix .nsewdrag").first.bounding_box()
    for j in range(24):
        page.mouse.move(box["x"] + (j + 0.5) / 25 * box["width"], box["y"] + 3)
        named = f"column: {columns[model.column_order_[j]]}\n"
        page.wait_for_function(
            "(name) => document.getElementById('tip').textContent.includes(name)", arg=named
        )
    page.locator("#rows-clusters button").first.click()
    table = saved(page, "Row embedding")
    assert [row[0] for row in table[1:]] == rows
    assert saved(page, "Filled-in matrix")[0][1:] == columns
    assert page.evaluate("typeof window.hacked") == "undefined"


def test_without_scales_the_page_says_why(opened, model_without_scales):
    page = opened(model_without_scales)
    assert page.locator("#row-scale").is_hidden()
    assert "keep_scales=True" in page.inner_text("#no-scales")
    expected = organised(model_without_scales, model_without_scales.filled_)
    np.testing.assert_allclose(picture(page), expected, atol=1e-3)
    assert page.get_by_role("button", name="Clusters at this scale").is_disabled()


def test_large_matrices_are_drawn_in_cells(opened, model, monkeypatch):
    monkeypatch.setattr(_matrix, "MOST_CELLS", 14)
    page = opened(model, row_names=range(40), column_names=range(25))
    assert picture(page).shape == (14, 13)
    assert "up to 3 × 2 neighbours" in page.inner_text("#matrix-text")
    assert page.get_by_role("button", name="Filled-in matrix").is_disabled()
    box = page.locator("#matrix .nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.wait_for_function("() => document.getElementById('rows').layout.shapes.length === 3")
    first, last = model.row_order_[[0, 2]]
    assert f"row: {first} … {last} (3 rows)" in page.inner_text("#tip")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("X", "parameters"),
    [
        (np.ones((6, 5)), {"n_components": 1}),
        (np.array([[1.0, 2.0, np.nan], [np.nan, 2.0, 3.0]]), {"n_components": 1}),
        (np.arange(30.0).reshape(6, 5), {"embedding": Isomap(n_neighbors=3, metric="precomputed")}),
    ],
)
def test_small_and_odd_fits_are_drawn(opened, X, parameters):
    page = opened(CoManifold(keep_scales=True, **parameters).fit(X))
    assert picture(page).shape == X.shape
    assert page.locator("#rows .points path").count() == len(X)
