"""Selections in the page: found, kept, copied, saved and used to colour."""

import pytest
from oracles.pages import COLUMNS, ROWS, drawn, saved

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

HOSTILE = '</li><img src=x onerror="window.hacked = 1">'


def selected(page, mode):
    return drawn(page, mode, "data[0].selectedpoints")


def places(model, mode, indices):
    """Where rows or columns are in the organised order."""
    order = getattr(model, f"{mode}_order_").tolist()
    return sorted(order.index(i) for i in indices)


def find_and_select(page, text):
    page.fill("#find", text)
    page.press("#find", "Enter")


@pytest.fixture
def kept(page):
    """The shared page; what is kept in it is forgotten afterwards."""
    yield page
    while page.locator("#kept li").count():
        page.locator("#kept li").first.get_by_role("button", name="Forget").click()


def test_enter_selects_what_was_found(page, model):
    find_and_select(page, "gene 1")
    assert selected(page, "rows") == places(model, "row", [1, *range(10, 20)])
    assert selected(page, "columns") is None
    page.fill("#find", "no such name")
    page.press("#find", "Enter")
    assert len(selected(page, "rows")) == 11  # nothing found, nothing changed


def test_all_matches_are_listed_and_can_be_picked(page, model):
    page.fill("#find", "e")  # in every name
    listed = page.locator("#found-names option").all_text_contents()
    rows = [ROWS[i] for i in model.row_order_]
    columns = [COLUMNS[i] for i in model.column_order_]
    assert listed == rows + columns
    page.select_option("#found-names", label=[ROWS[4], COLUMNS[2]])
    assert selected(page, "rows") == places(model, "row", [4])
    assert selected(page, "columns") == places(model, "column", [2])
    page.fill("#find", "")
    assert page.locator("#found-names").is_hidden()


def test_all_selected_names_are_listed(page):
    find_and_select(page, "gene")
    text = page.inner_text("#selection-text")
    assert text.startswith("40 rows: ")
    assert sorted(text.removeprefix("40 rows: ").split(", ")) == sorted(ROWS)


def test_selections_are_kept_and_selected_again(kept, model):
    page = kept
    assert page.get_by_role("button", name="Keep", exact=True).is_disabled()
    find_and_select(page, "gene 3")
    page.fill("#selection-name", HOSTILE)
    page.get_by_role("button", name="Keep", exact=True).click()
    find_and_select(page, "sample 1")
    page.press("#selection-name", "Enter")  # without a name
    assert page.locator("#kept .name").all_inner_texts() == [HOSTILE, "selection 1"]
    assert "11 rows" in page.locator("#kept li").first.inner_text()
    page.get_by_role("button", name="Clear selection").click()
    page.locator("#kept .name").first.click()
    assert selected(page, "rows") == places(model, "row", [3, *range(30, 40)])
    # The same name again replaces it, a cross forgets it.
    find_and_select(page, "gene 25")
    page.fill("#selection-name", "selection 1")
    page.get_by_role("button", name="Keep", exact=True).click()
    assert "1 row" in page.locator("#kept li").nth(1).inner_text()
    page.get_by_role("button", name="Forget selection 1").click()
    assert page.locator("#kept .name").all_inner_texts() == [HOSTILE]
    assert page.evaluate("typeof window.hacked") == "undefined"


def test_kept_selections_are_colours_and_groups_to_compare(kept, model):
    page = kept
    for name, text in (("teens", "gene 1"), ("thirties", "gene 3")):
        find_and_select(page, text)
        page.fill("#selection-name", name)
        page.get_by_role("button", name="Keep", exact=True).click()
    page.select_option("#rows-colour", "kept")
    colours = drawn(page, "rows", "data[0].marker.color")
    groups = [
        places(model, "row", [first, *range(10 * first, 10 * first + 10)]) for first in (1, 3)
    ]
    tints = [{colours[i] for i in group} for group in groups]
    rest = {colours[i] for i in range(40) if i not in groups[0] + groups[1]}
    assert [len(tint) for tint in (*tints, rest)] == [1, 1, 1]
    assert len(tints[0] | tints[1] | rest) == 3
    assert "teens" in page.inner_text("#rows-legend")
    options = page.locator("#group option").all_text_contents()
    assert "teens (rows) (11)" in options
    # Once they are forgotten, the colours are those of the clusters again.
    for name in ("teens", "thirties"):
        page.get_by_role("button", name=f"Forget {name}").click()
    assert page.input_value("#rows-colour") == "cluster"


def test_names_are_copied_one_for_each_line(page, model):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    find_and_select(page, "gene 2")
    page.get_by_role("button", name="Copy names").click()
    page.wait_for_function("() => document.getElementById('selection-note').textContent")
    assert page.inner_text("#selection-note") == "Copied."
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.split("\n") == [ROWS[model.row_order_[i]] for i in selected(page, "rows")]


def test_a_refused_clipboard_leaves_the_names_to_copy_by_hand(page, model):
    page.evaluate(
        """() => { navigator.clipboard.writeText = () => Promise.reject(new Error("refused")); }"""
    )
    find_and_select(page, "gene 2")
    page.get_by_role("button", name="Copy names").click()
    page.wait_for_selector("#copy-text:not([hidden])")
    names = page.input_value("#copy-text").split("\n")
    assert names == [ROWS[model.row_order_[i]] for i in selected(page, "rows")]
    assert page.evaluate("document.activeElement.id") == "copy-text"
    assert page.evaluate("getSelection().toString()") == "\n".join(names)
    assert "refused" in page.inner_text("#selection-note")
    page.evaluate("() => { delete navigator.clipboard.writeText; }")
    page.get_by_role("button", name="Clear selection").click()
    assert page.locator("#copy-text").is_hidden()


def test_selections_are_saved_with_clusters_and_annotations(opened, model):
    page = opened(
        model,
        row_names=ROWS,
        column_names=COLUMNS,
        annotations={
            "rows": {"height": [*range(39), None], "kind, or": ["a", None] * 20},
            "columns": {"height": [0.5] * 25, "day": ["Mon"] * 25},
        },
    )
    find_and_select(page, "1")
    header, *lines = saved(page, "Save selection")
    assert header == ["mode", "name", "cluster", "confidence", "height", "kind, or", "day"]
    rows = [i for i in model.row_order_ if "1" in ROWS[i]]
    columns = [j for j in model.column_order_ if "1" in COLUMNS[j]]
    assert [line[1] for line in lines] == [*(ROWS[i] for i in rows), *(COLUMNS[j] for j in columns)]
    found = model.find_clusters("row")
    for line, i in zip(lines, rows, strict=False):
        assert line[0] == "row"
        assert line[2] == str(found.labels[i] + 1)
        assert float(line[3]) == pytest.approx(found.point_confidence[i])
        assert line[4:] == [str(i), "a" if i % 2 == 0 else "", ""]
    assert lines[-1][4:] == ["0.5", "", "Mon"]
