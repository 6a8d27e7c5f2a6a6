"""Annotations: several bars at the sides of the matrix, their legend and their names."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgb

from comanifold import CoManifold, plotting


@pytest.fixture(scope="module")
def annotations():
    rng = np.random.default_rng(0)
    age = rng.uniform(20, 80, 30)
    age[4] = np.nan
    return {
        "rows": {"age": age, "where it was taken": [f"hospital {i}" for i in range(30)]},
        "columns": pd.DataFrame({"stage": rng.choice(["I", "II", None], 24)}),
    }


def _sections(legend):
    """Return the entries of a legend by the bold titles above them."""
    found, title = {}, ""
    for text in legend.get_texts():
        if text.get_fontweight() == "bold":
            title = text.get_text() or title
        elif text.get_text():
            found.setdefault(title, []).append(text.get_text())
    return found


def _bars(ax):
    return [np.asarray(bar.images[0].get_array()) for bar in ax.child_axes]


@pytest.mark.parametrize("organised", [True, False])
def test_each_annotation_is_a_bar_in_the_drawn_order(model, annotations, organised):
    ax = plotting.matrix(model, annotations=annotations, organised=organised)
    numbers, categories, stages = _bars(ax)
    rows = model.row_order_ if organised else np.arange(30)
    columns = model.column_order_ if organised else np.arange(24)
    age = annotations["rows"]["age"][rows]
    known = ~np.isnan(age)
    # A ramp: equal steps of the number are equal steps on the colour map, and grey is missing.
    np.testing.assert_allclose(numbers[~known, 0], [to_rgb("#BBBBBB")])
    assert to_hex(numbers[np.nanargmin(age), 0]) == to_hex(plotting._style.ALONG(0.0))
    assert to_hex(numbers[np.nanargmax(age), 0]) == to_hex(plotting._style.ALONG(1.0))
    assert len(np.unique(categories[:, 0], axis=0)) == 25  # 24, and one for the other six
    stage = annotations["columns"]["stage"].to_numpy()[columns]
    pairs = {(str(name), to_hex(colour)) for name, colour in zip(stage, stages[0], strict=True)}
    assert len(pairs) == 3
    assert ("None", "#bbbbbb") in pairs


def test_the_legend_has_a_section_for_each_annotation(model, annotations):
    ax = plotting.matrix(model, annotations=annotations)
    found = _sections(ax.figure.legends[0])
    age = annotations["rows"]["age"]
    ends = [f"{value:.4g}" for value in (np.nanmin(age), np.nanmax(age))]
    assert found["age"][0] == ends[0]
    assert found["age"][2:] == [ends[1], "no value"]
    assert found["stage"] == ["I", "II", "no label"]
    hospitals = found["where it was taken"]
    assert hospitals[:3] == ["hospital 0", "hospital 1", "hospital 2"]
    assert hospitals[-1] == "6 others"
    names = [text.get_text() for bar in ax.child_axes for text in bar.texts]
    assert names[::2] == ["age", "stage"]
    assert names[1].startswith("where it was")


def test_on_given_axes_the_legend_is_theirs(model, annotations):
    figure, ax = plt.subplots(figsize=(7, 9))
    plotting.matrix(model, annotations=annotations, ax=ax)
    assert not figure.legends
    assert set(_sections(ax.get_legend())) == {"age", "where it was taken", "stage"}
    assert figure.get_figheight() == 9


def test_colours_of_labels_and_annotations_differ(model, board, annotations):
    ax = plotting.matrix(
        model, row_labels=board.row_labels, annotations={"columns": annotations["columns"]}
    )
    labels, stages = ({to_hex(c) for c in bar.reshape(-1, 3)} for bar in _bars(ax))
    assert not (labels & stages)
    assert _sections(ax.figure.legends[0])["labels"] == ["0", "1", "2", "3"]


@pytest.mark.parametrize("width", [None, "double"])
def test_an_overview_has_the_bars_at_all_matrices(model, annotations, width):
    plain = plotting.overview(model, width=width)
    figure = plotting.overview(model, annotations=annotations, width=width)
    # The legend makes the figure higher, not the matrices smaller.
    assert figure.get_figheight() > plain.get_figheight() + 0.3
    figure.draw_without_rendering()
    matrices = [ax for ax in figure.get_axes() if ax.child_axes]
    assert [len(ax.child_axes) for ax in matrices] == [5, 5, 5]
    (legend,) = (part.legends[0] for part in figure.subfigs if part.legends)
    assert set(_sections(legend)) == {"age", "where it was taken", "stage"}
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1
    for ax in matrices:
        assert box.y1 <= ax.get_tightbbox().y0 + 1.0
    with pytest.raises(ValueError, match="the overview needs a width of at least 150 mm"):
        plotting.overview(model, width="single")


@pytest.mark.parametrize("width", ["single", "double", None])
def test_names_neither_overlap_nor_leave_the_figure(board, annotations, width):
    names = [f"a very long name of a gene, number {i}, Mus musculus" for i in range(30)]
    frame = pd.DataFrame(
        board.X, index=names, columns=[f"sample {'W' * 40} {j}" for j in range(24)]
    )
    ax = plotting.matrix(CoManifold().fit(frame), annotations=annotations, width=width)
    figure = ax.figure
    figure.draw_without_rendering()
    for axis, low, high in ((ax.yaxis, "y0", "y1"), (ax.xaxis, "x0", "x1")):
        boxes = sorted(
            (text.get_window_extent() for text in axis.get_ticklabels()),
            key=lambda box: getattr(box, low),
        )
        for first, second in pairwise(boxes):
            assert getattr(first, high) <= getattr(second, low) + 0.5
        for box in boxes:
            assert figure.bbox.x0 <= box.x0
            assert box.x1 <= figure.bbox.x1
            assert figure.bbox.y0 <= box.y0
    box = ax.figure.legends[0].get_window_extent()
    bottom = min([text.get_window_extent().y0 for text in ax.get_xticklabels()], default=np.inf)
    assert box.y1 <= bottom
    assert ax.get_window_extent().width > 0.25 * figure.bbox.width


def test_annotations_are_validated_before_a_figure_is_made(model):
    for wrong, message in (
        ({"genes": {}}, r"annotations must be .* got \['genes'\]"),
        ([1], "annotations must be .* got list"),
        ({"rows": [1]}, r'annotations\["rows"\] must be \{name: values\}, got list'),
        ({"rows": {"age": [1]}}, r"\['age'\] must have one value for each of the 30 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            plotting.matrix(model, annotations=wrong)
        with pytest.raises(ValueError, match=message):
            plotting.overview(model, annotations=wrong)
    assert not plt.get_fignums()


def test_hostile_names_are_plain_text(model):
    name = r"$\frac{$ <b>_x"
    ax = plotting.matrix(model, annotations={"rows": {name: ["_a", "$x_$"] * 15}})
    ax.figure.canvas.draw()  # would fail on half a formula
    assert _sections(ax.figure.legends[0]) == {name: ["$x_$", "_a"]}
