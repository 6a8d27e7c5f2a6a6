"""Clusters in the page: those of the fit, of a number, of the tree; and what distinguishes them."""

import math
from itertools import pairwise

import numpy as np
import pytest
from oracles.pages import COLUMNS, ROWS, drag, drawn, saved, slide, unpack

from comanifold.report._page_data import page_data

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")


def clusters_in(page, model, mode):
    """The label of each row or column as the page saves it, and its confidence."""
    header, *lines = saved(page, "Clusters shown")
    assert header == ["mode", "label", "cluster", "confidence"]
    labels = [int(line[2] or 0) - 1 for line in lines if line[0] == mode]
    confidence = [float(line[3] or "nan") for line in lines if line[0] == mode]
    assert len(labels) == len(getattr(model, f"{mode}_order_"))
    return labels, confidence


def colours_in(page, mode):
    return drawn(page, f"{mode}s", "data[0].marker.color")


def comparison_in(page):
    header, *lines = saved(page, "Save comparison")
    return [dict(zip(header, line, strict=True)) for line in lines]


def assert_same_comparison(found, expected):
    """What the page has saved, against a part of the table of `CoManifold.distinguishing`."""
    assert len(found) == len(expected["index"])
    by_index = {int(line["index"]): line for line in found}
    for name in ("effect", "standard_error", "certain", "inside", "outside"):
        values = [float(by_index[i][name]) for i in expected["index"].tolist()]
        np.testing.assert_allclose(values, expected[name], rtol=1e-4, atol=1e-4)
    for name in ("n_inside", "n_outside"):
        assert [int(by_index[i][name]) for i in expected["index"].tolist()] == expected[
            name
        ].tolist()
    best = [int(line["index"]) for line in found]
    certain = dict(zip(expected["index"].tolist(), expected["certain"].tolist(), strict=True))
    assert all(certain[a] >= certain[b] - 1e-4 for a, b in pairwise(best))


# The clusters of the fit


def test_the_page_opens_with_the_clusters_of_the_fit(page, model):
    assert page.input_value("#clustering") == "found"
    for mode in ("row", "column"):
        found = model.find_clusters(mode)
        labels, confidence = clusters_in(page, model, mode)
        assert labels == found.labels.tolist()
        np.testing.assert_allclose(confidence, found.point_confidence, rtol=1e-5)
    # In the embedding and in the bar beside the matrix, a colour for each cluster.
    found = model.find_clusters("row")
    assert found.n_clusters == 3
    assert page.input_value("#rows-colour") == "cluster"
    own = found.labels[model.row_order_]
    pairs = {*zip(own.tolist(), colours_in(page, "row"), strict=True)}
    assert len(pairs) == len({*own}) == len({colour for _, colour in pairs})
    assert page.inner_text("#clusters-text") == (
        f"3 row clusters found, confidence {found.confidence:.0%}. No groups of columns were found."
    )
    assert "3 row clusters found" in page.inner_text("#rows-clusters caption")
    codes = np.array(drawn(page, "matrix", "data[1].z.map((line) => line[0])"))
    own = model.find_clusters("row").labels[model.row_order_]
    assert len({*zip(own.tolist(), codes.tolist(), strict=True)}) == len({*own})


def test_the_table_has_the_confidence_of_each_cluster(page, model):
    found = model.find_clusters("row")
    lines = page.locator("#rows-clusters tbody tr").all()
    assert len(lines) == found.n_clusters
    for line in lines:
        number, size, confidence = line.locator("td").all_inner_texts()[:3]
        members = found.labels == int(number) - 1
        assert int(size) == members.sum()
        assert confidence == f"{math.floor(100 * found.point_confidence[members].mean() + 0.5)}%"


def test_hovering_over_a_point_tells_its_cluster_and_confidence(page, model):
    box = page.locator("#rows .points path").nth(3).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_selector("#tip:not([hidden])")
    name, cluster = page.inner_text("#tip").split("\n")
    row, found = ROWS.index(name), model.find_clusters("row")
    share = math.floor(100 * found.point_confidence[row] + 0.5)
    assert cluster == f"cluster {found.labels[row] + 1}, confidence {share}%"


def test_clusters_are_there_without_scales(opened, model_without_scales):
    page = opened(model_without_scales)
    model = model_without_scales
    assert page.locator("#clustering option").all_inner_texts() == [
        "found by the fit",
        "k, by k-means",
    ]
    assert clusters_in(page, model, "row")[0] == model.find_clusters("row").labels.tolist()
    page.select_option("#clustering", "k_means")
    page.fill("#rows-k", "4")
    page.locator("#rows-k").blur()
    assert clusters_in(page, model, "row")[0] == model.find_clusters("row", 4).labels.tolist()


# Other clusters


def test_as_many_clusters_as_are_asked_for(page, model):
    page.select_option("#clustering", "k_means")
    for k in (2, 5):
        page.fill("#columns-k", str(k))
        page.locator("#columns-k").blur()
        expected = model.find_clusters("column", k)
        assert clusters_in(page, model, "column")[0] == expected.labels.tolist()
        text = f"{k} column clusters by k-means, confidence {expected.confidence:.0%}."
        assert text in page.inner_text("#clusters-text")
    # No more than were computed.
    page.fill("#columns-k", "99")
    page.locator("#columns-k").blur()
    assert page.input_value("#columns-k") == "10"


def test_the_tree_can_be_cut_anywhere(page, model):
    page.select_option("#clustering", "tree")
    for k in (1, 2, 7, 39):
        page.fill("#rows-k", str(k))
        page.locator("#rows-k").blur()
        assert clusters_in(page, model, "row")[0] == model.cut("row", k).tolist()
    page.fill("#rows-k", "1000")
    page.locator("#rows-k").blur()
    assert page.input_value("#rows-k") == "39"  # one of the rows has no entry
    assert "39 row clusters of the tree" in page.inner_text("#clusters-text")


def test_a_slider_shows_the_clusters_of_its_scale(page):
    assert page.locator("#row-scale").is_hidden()
    slide(page, "row", 1)
    assert page.input_value("#clustering") == "scale"
    assert page.inner_text("#clusters-title") == "Clusters at this scale"
    page.select_option("#clustering", "found")
    assert page.inner_text("#clusters-title") == "Clusters found"


def test_k_means_is_left_out_for_large_matrices(model, monkeypatch):
    monkeypatch.setattr("comanifold.report._cluster_data._MAX_K_MEANS", 999)
    assert page_data(model)["rows"]["clusters"]["k_means"] is None


def test_an_annotation_that_repeats_the_clusters_found_is_left_out(model):
    found = model.find_clusters("row").as_text()
    data = page_data(model, annotations={"rows": {"clusters found": found, "a": ["b"] * 40}})
    assert [given["name"] for given in data["rows"]["colourings"]] == ["a"]
    labels = unpack(data["rows"]["clusters"]["found"]["labels"])
    np.testing.assert_array_equal(labels, model.find_clusters("row").labels[model.row_order_])


# What distinguishes them


@pytest.mark.parametrize(("mode", "other"), [("row", "column"), ("column", "row")])
def test_what_distinguishes_a_cluster_is_what_python_says(page, model, mode, other):
    page.select_option("#clustering", "tree")
    page.fill(f"#{mode}s-k", "3")
    page.locator(f"#{mode}s-k").blur()
    table = model.distinguishing(mode, model.cut(mode, 3))
    for cluster in range(3):
        button = page.get_by_role("button", name=f"What distinguishes {mode} cluster {cluster + 1}")
        button.click()
        title = f"{other}s that distinguish {mode} cluster {cluster + 1} from the other {mode}s"
        page.wait_for_function(
            "(title) => document.querySelector('#compare caption')?.textContent.startsWith(title)",
            arg=title,
        )
        mine = table["cluster"] == cluster
        expected = {name: values[mine] for name, values in table.items()}
        assert_same_comparison(comparison_in(page), expected)
        names = COLUMNS if mode == "row" else ROWS
        best = page.locator("#compare tbody tr").first.locator("td").all_inner_texts()
        assert best[0] == names[expected["index"][0]]
        assert float(best[1]) == pytest.approx(expected["effect"][0], abs=0.006)


def test_the_plot_shows_the_observed_values_inside_and_outside(page, model):
    page.get_by_role("button", name="What distinguishes row cluster 2").click()
    page.wait_for_function("() => document.getElementById('compare-plot').data?.length === 2")
    page.wait_for_function(
        "() => document.getElementById('compare-plot').data[1].name === 'row cluster 2'"
    )
    table, labels = model.distinguishing("row"), model.find_clusters("row").labels
    best = table["index"][table["cluster"] == 1][0]
    values = model.data_[:, best]
    for trace, is_inside in ((0, False), (1, True)):
        x, y = (np.array(drawn(page, "compare-plot", f"data[{trace}].{axis}")) for axis in "xy")
        drawn_values = np.sort(x[y == 0])
        members = ((labels == 1) == is_inside) & (labels >= 0) & ~np.isnan(values)
        expected = np.sort(values[members])
        assert len(drawn_values) == len(expected)
        # The axis is linear in the values.
        slope, start = np.polyfit(expected, drawn_values, 1)
        np.testing.assert_allclose(drawn_values, start + slope * expected, atol=1e-3)
    assert drawn(page, "compare-plot", "layout.yaxis.ticktext[0]") == COLUMNS[best]


def test_what_distinguishes_a_selection(page, model):
    drag(page, "rows", (0.5, 0.01), (0.99, 0.99))
    page.wait_for_function(
        "() => document.getElementById('selection-text').textContent.includes('rows:')"
    )
    page.locator("#compare").scroll_into_view_if_needed()
    page.wait_for_function(
        "() => document.querySelector('#compare caption')?.textContent.includes('selected rows')"
    )
    selected = model.row_order_[drawn(page, "rows", "data[0].selectedpoints")]
    labels = np.zeros(40, dtype=int)
    labels[selected] = 1
    table = model.distinguishing("row", labels)
    mine = table["cluster"] == 1
    assert_same_comparison(comparison_in(page), {name: v[mine] for name, v in table.items()})


def test_of_very_large_matrices_python_compares_the_clusters(opened, model):
    page = opened(model, max_entries=10, max_cells=14, row_names=ROWS, column_names=COLUMNS)
    page.get_by_role("button", name="What distinguishes row cluster 2").click()
    page.wait_for_function(
        "() => document.querySelector('#compare caption')?.textContent.includes('row cluster 2')"
    )
    table = model.distinguishing("row")
    mine = table["cluster"] == 1
    assert_same_comparison(comparison_in(page), {name: v[mine] for name, v in table.items()})
    # Selections are compared by the cells of the picture, and the page says so.
    page.get_by_role("button", name="Select row cluster 2").click()
    page.wait_for_function(
        "() => document.getElementById('compare-text').textContent.includes('means over cells')"
    )
    assert len(comparison_in(page)) == 12  # of 13 cells of two columns, one has nothing


def test_one_cluster_has_nothing_to_be_distinguished_from(page):
    page.select_option("#clustering", "tree")
    for mode in ("rows", "columns"):
        page.fill(f"#{mode}-k", "1")
        page.locator(f"#{mode}-k").blur()
    page.locator("#compare").scroll_into_view_if_needed()
    page.wait_for_function(
        "() => document.getElementById('compare-text').textContent.includes('no group to compare')"
    )
    assert page.get_by_role("button", name="Save comparison").is_disabled()
    assert page.locator("#group").is_disabled()
