"""The page in a real browser: what it shows, and how it reacts."""

import numpy as np
import pytest
from oracles.pages import (
    COLUMNS,
    ROWS,
    drag,
    drawn,
    exponents_of,
    organised,
    picture,
    saved,
    shown_scale,
    slide,
)
from sklearn.manifold import Isomap

from comanifold import CoManifold
from comanifold.model_selection import HeldOutErrors, compare_held_out

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


def test_the_page_shows_the_model(page, model):
    assert page.title() == "Checkers"
    assert page.inner_text("h1") == "Checkers"
    np.testing.assert_allclose(picture(page), organised(model, model.filled_), atol=1e-5)
    about, n_scales = page.inner_text("#about"), len(exponents_of(model))
    assert "By the <author>" in about
    assert f"Structure of rows: yes (p = {model.row_p_value_:.2g}); columns: yes" in about
    assert f"{n_scales} of {n_scales} pairs of scales reached" in about
    assert page.inner_text("#alerts") == "2 warnings"
    errors = compare_held_out(model, only_means=True)
    assert page.inner_text("#summary").endswith(f"held-out error {errors.model:.2f}")
    n_clusters = [model.find_clusters(mode).n_clusters for mode in ("row", "column")]
    assert f"; {n_clusters[0]} × {n_clusters[1]} clusters; " in page.inner_text("#summary")
    assert f"Error on {errors.n_held_out} held-out entries" in page.inner_text("#held-out caption")
    cells = [page.locator(f"#held-out {tag}").all_inner_texts() for tag in ("th", "td")]
    assert dict(zip(*cells, strict=True)) == {
        name: f"{error:.2f}" for name, error in [("this fit", errors.model), *errors.others.items()]
    }
    assert page.locator("#reading p").first.is_hidden()
    page.get_by_role("link", name="How to read this page").click()
    assert page.locator("#reading p").first.is_visible()
    for mode in ("row", "column"):
        x = drawn(page, f"{mode}s", "data[0].x.map((x) => Number.isNaN(x) ? null : x)")
        embedding = getattr(model, f"{mode}_embedding_")[getattr(model, f"{mode}_order_")]
        np.testing.assert_allclose(np.array(x, dtype=float), embedding[:, 0])


def test_views_show_what_they_say(page, model):
    scale = shown_scale(page, model)
    for view, values in {
        "observed": model.data_,
        "filled": model.filled_,
        "scale": model.filled_at(*scale),
        "estimate": model.estimate_at(*scale),
    }.items():
        page.select_option("#view", view)
        np.testing.assert_allclose(picture(page), organised(model, values), atol=1e-3)


def test_sliders_and_the_map_change_the_scale(page, model):
    before = page.locator("#matrix").screenshot()
    slide(page, "row", 0)
    slide(page, "column", 0)
    assert page.input_value("#view") == "scale"
    first = shown_scale(page, model)
    assert first == exponents_of(model)[0]
    expected = organised(model, model.filled_at(*first))
    np.testing.assert_allclose(picture(page), expected, atol=1e-3)
    assert page.locator("#matrix").screenshot() != before
    n_row_clusters = model.scales_["n_row_clusters"][0]
    assert f"{n_row_clusters} clusters" in page.inner_text("#row-scale-text")
    assert f"{n_row_clusters} row clusters" in page.inner_text("#rows-clusters caption")

    # The coarsest rows at the coarsest columns would repeat others and were not solved.
    slide(page, "row", page.get_attribute("#row-scale", "max"))
    slide(page, "column", page.get_attribute("#column-scale", "max"))
    coarse = shown_scale(page, model)
    labels = [
        (model.row_labels_at(*scale).max(), model.column_labels_at(*scale).max())
        for scale in (first, coarse)
    ]
    assert labels[0] != labels[1]
    shown = "the nearest is shown: l = {}, k = {}".format(*coarse)
    assert shown in page.inner_text("#scale-text")

    box = page.locator("#map .nsewdrag").bounding_box()
    page.mouse.click(box["x"] + 4, box["y"] + box["height"] - 4)
    assert shown_scale(page, model) == first


def test_where_no_groups_were_found_a_page_opens_with_colours_that_tell_points_apart(opened):
    X = np.arange(30.0).reshape(6, 5)
    model = CoManifold().fit(X)
    assert model.find_clusters("row").n_clusters == model.find_clusters("column").n_clusters == 1
    page = opened(
        model,
        annotations={
            "rows": {"same": ["a"] * 6, "height": list(range(6))},
            "columns": {"same": ["a"] * 5},
        },
    )
    assert page.locator("#rows-colour option:checked").inner_text() == "height"
    assert page.input_value("#columns-colour") == "order"


def test_colours_of_clusters_are_those_of_the_scale(page, model):
    page.select_option("#rows-colour", "cluster")
    page.select_option("#clustering", "scale")
    scale = shown_scale(page, model)
    labels = model.row_labels_at(*scale)[model.row_order_]
    colours = drawn(page, "rows", "data[0].marker.color")
    pairs = {*zip(labels.tolist(), colours, strict=True)}
    assert len(pairs) == len({*labels}) == len({*colours})


def test_selected_rows_are_marked_in_all_views(page, model):
    page.select_option("#columns-colour", "order")
    drag(page, "rows", (0.5, 0.01), (0.99, 0.99))
    page.wait_for_function(
        "() => document.getElementById('selection-text').textContent.includes('rows:')"
    )
    ends = drawn(page, "rows", "layout.xaxis.range")
    x = model.row_embedding_[model.row_order_, 0]
    left = ends[0] + 0.5 * (ends[1] - ends[0])
    right = ends[0] + 0.99 * (ends[1] - ends[0])
    expected = np.flatnonzero((x > left) & (x < right))
    selected = drawn(page, "rows", "data[0].selectedpoints")
    assert selected == expected.tolist()
    assert f"{len(expected)} rows:" in page.inner_text("#selection-text")

    # In the matrix the rest fades, ...
    faded = [
        row
        for shape in drawn(page, "matrix", "layout.shapes")
        for row in np.arange(shape["y0"] + 0.5, shape["y1"])
        if shape["opacity"] < 1
    ]
    assert faded == [row for row in range(40) if row not in selected]
    # ... and columns have the colours of how the selected rows differ from all in them.
    assert page.input_value("#columns-colour") == "selection"
    assert "minus the mean of all" in page.inner_text("#columns-legend")
    filled = organised(model, model.filled_)[:39, :24]  # the last ones have no values
    differences = filled[expected].mean(axis=0) - filled.mean(axis=0)
    colours = drawn(page, "columns", "data[0].marker.color")
    red, blue = (
        np.array([[int(c) for c in colour[4:-1].split(",")] for colour in colours[:-1]])[:, i]
        for i in (0, 2)
    )
    np.testing.assert_array_equal(red > blue, differences > 0)

    page.get_by_role("button", name="Clear selection").click()
    assert drawn(page, "rows", "data[0].selectedpoints") is None
    assert drawn(page, "matrix", "layout.shapes") == []
    assert page.input_value("#columns-colour") == "order"


def test_a_cluster_is_selected_from_the_table(page, model):
    page.select_option("#clustering", "scale")
    page.locator("#columns-clusters button").first.click()
    scale = shown_scale(page, model)
    labels = model.column_labels_at(*scale)[model.column_order_]
    largest = np.bincount(labels[labels >= 0]).argmax()
    selected = drawn(page, "columns", "data[0].selectedpoints")
    assert selected == np.flatnonzero(labels == largest).tolist()
    assert page.input_value("#rows-colour") == "selection"


def test_hovering_names_and_lights_up_everywhere(page, model):
    box = page.locator("#matrix .nsewdrag").first.bounding_box()
    row, column = 10, 5
    page.mouse.move(
        box["x"] + (column + 0.5) / 25 * box["width"], box["y"] + (row + 0.5) / 40 * box["height"]
    )
    page.wait_for_function("() => document.getElementById('rows').layout.shapes.length")
    tip = page.inner_text("#tip")
    assert f"row: {ROWS[model.row_order_[row]]}\n" in tip
    assert f"column: {COLUMNS[model.column_order_[column]]}\n" in tip
    for mode, point in (("row", row), ("column", column)):
        (ring,) = drawn(page, f"{mode}s", "layout.shapes")
        place = getattr(model, f"{mode}_embedding_")[getattr(model, f"{mode}_order_")[point], 0]
        assert ring["xanchor"] == pytest.approx(place)
    assert len(drawn(page, "matrix", "layout.shapes")) == 2

    page.mouse.move(5, 5)
    page.wait_for_function("() => !document.getElementById('rows').layout.shapes.length")
    assert page.locator("#tip").is_hidden()

    point = page.locator("#columns .points path").nth(2)
    box = point.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function("() => document.getElementById('matrix').layout.shapes.length === 1")
    named = page.inner_text("#tip").split("\n")[0]
    (frame,) = drawn(page, "matrix", "layout.shapes")
    assert named == COLUMNS[model.column_order_[round(frame["x0"] + 0.5)]]


def test_names_are_found(page):
    page.fill("#find", "GENE 2")
    page.wait_for_function("() => document.getElementById('rows').layout.shapes.length === 11")
    assert page.inner_text("#found") == "11 rows, 0 columns"


def test_themes(page):
    background = "getComputedStyle(document.body).backgroundColor"
    light, ink = page.evaluate(background), drawn(page, "rows", "layout.font.color")
    page.get_by_role("button", name="Change to dark colours").click()
    assert page.evaluate(background) != light
    assert drawn(page, "rows", "layout.font.color") != ink
    page.get_by_role("button", name="Change to light colours").click()
    assert page.evaluate(background) == light


def test_saved_files_are_those_of_the_model(page, model):
    header, *rows = saved(page, "Row embedding")
    assert header == ["name", "coordinate_1", "coordinate_2", "coordinate_3"]
    assert rows[7] == ["gene 7", "", "", ""]
    values = np.array([[float(x or "nan") for x in row[1:]] for row in rows])
    np.testing.assert_array_equal(values, model.row_embedding_)

    header, *rows = saved(page, "Filled-in matrix")
    values = np.array([[float(x or "nan") for x in row[1:]] for row in rows])
    np.testing.assert_allclose(values, model.filled_, rtol=1e-6, atol=1e-6)

    scale = shown_scale(page, model)
    header, *rows = saved(page, "Clusters at this scale")
    assert header == ["mode", "name", "cluster", "l", "k"]
    for mode in ("row", "column"):
        labels = getattr(model, f"{mode}_labels_at")(*scale).tolist()
        found = [row[2] for row in rows if row[0] == mode]
        assert len({*zip(labels, found, strict=True)}) == len({*labels}) == len({*found})
    assert {tuple(row[3:]) for row in rows} == {tuple(map(str, scale))}

    header, *rows = saved(page, "Scales")
    assert [int(row[header.index("l")]) for row in rows] == model.scales_["l"].tolist()


def test_everything_is_within_reach_of_the_keyboard(page):
    page.select_option("#clustering", "scale")
    page.locator("h1").click()
    reached = []
    for _ in range(90):
        page.keyboard.press("Tab")
        name = page.evaluate("document.activeElement.id || document.activeElement.textContent")
        reached.append(name)
        if name == "row-scale":
            width = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
            assert width == "3px"
            before = page.inner_text("#row-scale-text")
            page.keyboard.press("ArrowRight")
            assert page.inner_text("#row-scale-text") != before
            spoken = page.get_attribute("#row-scale", "aria-valuetext")
            assert spoken == page.inner_text("#row-scale-text")
    wanted = ["theme", "row-scale", "column-scale", "map-of", "find", "view", "rows-colour"]
    places = [reached.index(name) for name in [*wanted, "Select", "Row embedding"]]
    assert places == sorted(places)


def test_other_coordinates_can_be_chosen(page, model):
    page.select_option("#rows-x", index=2)
    x = drawn(page, "rows", "data[0].x.slice(0, 39)")
    np.testing.assert_allclose(x, model.row_embedding_[model.row_order_[:39], 2])
    assert "coordinate 3" in drawn(page, "rows", "layout.xaxis.title.text")


# Names, sizes and models that the page has to cope with


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
    page = opened(model_without_scales, errors=HeldOutErrors(1234, 0.5, 0.9, 0.8, 0.61, 0.62))
    assert page.inner_text("#held-out caption").startswith("Error on 1,234 held-out entries")
    assert page.locator("#held-out td").all_inner_texts()[1:3] == ["0.61", "0.62"]
    assert page.locator("#row-scale").is_hidden()
    assert "keep_scales=True" in page.inner_text("#no-scales")
    expected = organised(model_without_scales, model_without_scales.filled_)
    np.testing.assert_allclose(picture(page), expected, atol=1e-3)
    assert page.get_by_role("button", name="Clusters at this scale").is_disabled()


def test_large_matrices_are_drawn_in_cells(opened, model):
    page = opened(model, max_cells=14, row_names=range(40), column_names=range(25))
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
    assert page.inner_text("#held-out") == ""
    assert page.locator("#rows .points path").count() == len(X)
