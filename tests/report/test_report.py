"""The values and the HTML of the report."""

import base64
import hashlib
import json
import re
import sys

import numpy as np
import pandas as pd
import pytest
from oracles.pages import exponents_of, organised, unpack
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.manifold import Isomap

from comanifold import CoManifold
from comanifold._embedding.structure import structure_summary
from comanifold.datasets import make_linkage, remove_entries
from comanifold.model_selection import HeldOutErrors
from comanifold.report import write_report
from comanifold.report._colourings import check_annotations, check_names, colourings, in_order
from comanifold.report._page_data import page_data
from comanifold.report._report import json_for_html


def estimate_on_page(data, scale):
    """Return the estimate of a scale as the page computes it, in the organised order."""
    estimates, n_rows, n_columns = data["estimates"], *data["matrix"]["size"]
    first = sum(rows * columns for rows, columns in estimates["shapes"][:scale])
    rows, columns = estimates["shapes"][scale]
    low, high = estimates["limits"][scale]
    codes = unpack(estimates["values"])[first : first + rows * columns].reshape(rows, columns)
    values = np.where(codes == 65535, np.nan, low + (high - low) * codes / 65534)
    in_rows = unpack(estimates["row_groups"]).reshape(-1, n_rows)[scale]
    in_columns = unpack(estimates["column_groups"]).reshape(-1, n_columns)[scale]
    return data["matrix"]["mean"] + data["matrix"]["unit"] * values[np.ix_(in_rows, in_columns)]


def cell_means(values, row_step, column_step):
    """Return the means of blocks, ignoring missing entries, one block at a time."""

    def mean(block):
        return np.nan if np.isnan(block).all() else np.nanmean(block)

    n_rows, n_columns = values.shape
    return np.array(
        [
            [
                mean(values[i : i + row_step, j : j + column_step])
                for j in range(0, n_columns, column_step)
            ]
            for i in range(0, n_rows, row_step)
        ]
    )


def test_matrix_and_embeddings_are_those_of_the_model(model):
    data = page_data(model)
    json.dumps(data, allow_nan=False)
    matrix = data["matrix"]
    filled = unpack(matrix["filled"]).reshape(matrix["size"]).astype(float)
    expected = organised(model, model.filled_)
    np.testing.assert_allclose(matrix["mean"] + matrix["unit"] * filled, expected, atol=1e-6)
    share = unpack(matrix["share_observed"]).reshape(matrix["size"])
    np.testing.assert_array_equal(share, 255 * ~np.isnan(organised(model, model.data_)))
    assert "observed" not in matrix
    for mode in ("row", "column"):
        stored = data[f"{mode}s"]
        embedding = unpack(stored["embedding"]).reshape(-1, stored["n_components"])
        order = stored["order"]
        np.testing.assert_array_equal(embedding, getattr(model, f"{mode}_embedding_")[order])
        assert stored["names"] == [f"{mode} {i + 1}" for i in order]
        assert len(stored["eigenvalues"]) == 3
    summary = structure_summary(model.row_p_value_, model.column_p_value_)
    assert data["structure"] == f"{summary['rows']}; {summary['columns']}"


def test_every_scale_is_that_of_the_model(model):
    data = page_data(model)
    labels = {
        "row": unpack(data["estimates"]["row_labels"]).reshape(len(model.scales_["l"]), -1),
        "column": unpack(data["estimates"]["column_labels"]).reshape(len(model.scales_["l"]), -1),
    }
    spread = np.nanstd(model.data_)
    for i, scale in enumerate(exponents_of(model)):
        expected = organised(model, model.estimate_at(*scale))
        np.testing.assert_allclose(estimate_on_page(data, i), expected, atol=1e-4 * spread)
        for mode, order in (("row", model.row_order_), ("column", model.column_order_)):
            own = getattr(model, f"{mode}_labels_at")(*scale)[order]
            found = labels[mode][i]
            assert len({*zip(own, found, strict=True)}) == len({*own}) == len({*found})
            assert [*dict.fromkeys(found[found >= 0])] == list(range(found.max() + 1))
            np.testing.assert_array_equal(found < 0, own < 0)
    assert not data["estimates"]["is_averaged"]


def test_large_matrices_are_averaged_over_neighbours(model):
    data = page_data(model, max_cells=14)
    matrix = data["matrix"]
    assert matrix["size"] == [14, 13]
    assert (data["rows"]["cell_size"], data["columns"]["cell_size"]) == (3, 2)

    def in_units(values):
        return matrix["mean"] + matrix["unit"] * unpack(values).reshape(14, 13).astype(float)

    for name, values in {"filled": model.filled_, "observed": model.data_}.items():
        expected = cell_means(organised(model, values), 3, 2)
        np.testing.assert_allclose(in_units(matrix[name]), expected, atol=1e-6)
    there = ~np.isnan(organised(model, model.data_))
    share = unpack(matrix["share_observed"]).reshape(14, 13) / 255
    np.testing.assert_allclose(share, cell_means(there.astype(float), 3, 2), atol=1 / 255)
    for i, scale in enumerate(exponents_of(model)):
        estimate = organised(model, model.estimate_at(*scale))
        expected = cell_means(estimate, 3, 2)
        np.testing.assert_allclose(estimate_on_page(data, i), expected, atol=1e-3)


def test_estimates_with_very_many_values_are_averaged(model):
    data = page_data(model, max_values=600)
    assert data["estimates"]["is_averaged"]
    assert sum(rows * columns for rows, columns in data["estimates"]["shapes"]) <= 600
    steps = [
        -(-size // n) for size, n in zip((40, 25), data["estimates"]["shapes"][0], strict=True)
    ]
    assert min(steps) > 1
    scales = exponents_of(model)
    finest = organised(model, model.estimate_at(*scales[0]))
    blocks = np.kron(cell_means(finest, *steps), np.ones(steps))[:40, :25]
    np.testing.assert_allclose(estimate_on_page(data, 0), blocks, atol=1e-3)
    # Where there are few clusters, nothing is lost.
    expected = organised(model, model.estimate_at(*scales[-1]))
    np.testing.assert_allclose(estimate_on_page(data, len(scales) - 1), expected, atol=1e-3)


def test_without_scales_there_are_no_estimates(model_without_scales):
    data = page_data(model_without_scales)
    assert data["estimates"] is None
    assert len(data["scales"]) == len(exponents_of(model_without_scales))


def test_warnings_certificates_and_parameters_of_the_fit(model):
    data = page_data(model, title="T", notes=["a note"])
    assert (data["title"], data["notes"]) == ("T", ["a note"])
    ends = "without an observed entry, and so without coordinates, cluster and filled-in values: 1."
    assert data["warnings"] == [
        f"rows {ends} Counted from 0: 7",
        f"columns {ends} Counted from 0: 3",
    ]
    assert data["n_missing"] == int(np.isnan(model.data_).sum())
    assert data["certificates"]["largest_residual"] == max(model.scales_["stationarity"])
    assert data["certificates"]["n_converged"] == len(model.scales_["l"])
    assert data["parameters"]["n_components"] == "3"
    assert "checkpoint" not in data["parameters"]
    for mode in ("row", "column"):
        assert 1 < model.scales_[f"n_{mode}_clusters"][data["first_scale"]] <= 7


def test_errors_on_held_out_entries_are_given_or_those_of_the_model(model):
    found = page_data(model)["held_out"]
    residuals = model.held_out_["predicted"] - model.held_out_["value"]
    error = np.sqrt(np.mean(residuals**2)) / model.held_out_["value"].std()
    assert found["n_entries"] == len(residuals)
    assert [name for name, _ in found["errors"]] == ["this fit", "row means", "column means"]
    assert found["errors"][0][1] == pytest.approx(error)
    given = page_data(model, errors=HeldOutErrors(9, 0.5, 0.9, 0.8, knn=0.6))["held_out"]
    assert given == {
        "n_entries": 9,
        "errors": [["this fit", 0.5], ["KNN", 0.6], ["row means", 0.9], ["column means", 0.8]],
    }
    complete = CoManifold().fit(np.nan_to_num(model.data_))
    assert page_data(complete)["held_out"] is None


def test_names_of_a_data_frame_are_used(holes):
    import pandas as pd

    frame = pd.DataFrame(
        np.nan_to_num(holes),
        index=[f"gene {i}" for i in range(40)],
        columns=[f"s{j}" for j in range(25)],
    )
    model = CoManifold().fit(frame)
    data = page_data(model)
    assert data["rows"]["names"][0] == f"gene {model.row_order_[0]}"
    assert data["columns"]["names"][0] == f"s{model.column_order_[0]}"


def test_annotations_come_in_the_organised_order(model):
    data = page_data(model, annotations={"rows": {"number": np.arange(40)}})
    assert data["rows"]["colourings"][0]["values"] == model.row_order_.astype(float).tolist()


@pytest.mark.filterwarnings("ignore:.*no observed entry")
def test_unconverged_scales_are_a_warning(holes):
    with pytest.warns(ConvergenceWarning, match="stopped before"):
        model = CoManifold(max_iter=1).fit(holes)
    warning = page_data(model)["warnings"][-1]
    assert "stopped before they reached the tolerance of 0.001" in warning


@pytest.mark.parametrize(
    ("X", "parameters"),
    [
        (np.ones((6, 5)), {"n_components": 1}),
        (np.array([[1.0, 2.0, np.nan], [np.nan, 2.0, 3.0]]), {"n_components": 1}),
        (np.arange(30.0).reshape(6, 5), {"embedding": Isomap(n_neighbors=3, metric="precomputed")}),
        (np.arange(30.0).reshape(6, 5), {"embedding": "tsne"}),
        (np.arange(30.0).reshape(6, 5), {"distances": "sparse"}),
        (1e12 + np.arange(30.0).reshape(6, 5), {}),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_small_and_odd_fits(X, parameters):
    model = CoManifold(keep_scales=True, **parameters).fit(X)
    data = page_data(model)
    json.dumps(data, allow_nan=False)
    assert data["rows"]["axis"] == ("t-SNE" if model.embedding == "tsne" else "coordinate")
    for i, scale in enumerate(exponents_of(model)):
        expected = organised(model, model.estimate_at(*scale))
        np.testing.assert_allclose(estimate_on_page(data, i), expected, rtol=1e-6, atol=1e-3)


def test_invalid_arguments_are_errors(model):
    with pytest.raises(NotFittedError):
        page_data(CoManifold())
    with pytest.raises(ValueError, match="column_names must have one value for each column, 25"):
        page_data(model, column_names=["a"])
    with pytest.raises(ValueError, match="notes must be a list of texts"):
        page_data(model, notes="one text")


def test_names_are_given_else_known_else_numbers():
    assert check_names(["a", 2], ["x", "y"], mode="row", size=2) == ["a", "2"]
    assert check_names(None, np.array(["x", "y"]), mode="row", size=2) == ["x", "y"]
    assert check_names(None, None, mode="column", size=2) == ["column 1", "column 2"]
    assert check_names(pd.Index(["p", "q"]), None, mode="row", size=2) == ["p", "q"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a"], "row_names must have one value for each row, 2; got 1"),
        ("ab", "row_names must be a list of 2 values, got 'ab'"),
        (3, "row_names must be a list of 2 values, got 3"),
    ],
)
def test_invalid_names_are_errors(names, message):
    with pytest.raises(ValueError, match=message):
        check_names(names, None, mode="row", size=2)


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        ({"genes": {}}, "annotations must be .* got .'genes'."),
        ([1], "annotations must be .* got list"),
        ({"rows": [1, 2]}, 'annotations."rows". must be .* got list'),
        ({"columns": {"age": [1]}}, "'age'. must have one value for each column, 3; got 1"),
    ],
)
def test_invalid_annotations_are_errors(annotations, message):
    with pytest.raises(ValueError, match=message):
        check_annotations(annotations, {"rows": 2, "columns": 3})


def test_numbers_stay_numbers_and_texts_are_coded_by_frequency():
    given = {
        "age": [3, np.nan, 1.5, None],
        "kind": ["b", "a", None, "b"],
        "mixed": [1, "1", "x", pd.NA],
        "is_old": [True, False, True, True],
    }
    age, kind, mixed, is_old = colourings(["p", "q", "r", "s"], given)
    assert age == {"name": "age", "kind": "number", "values": [3.0, None, 1.5, None]}
    assert (kind["levels"], kind["values"]) == (["b", "a"], [0, 1, -1, 0])
    assert (mixed["levels"], mixed["values"]) == (["1", "x"], [0, 0, 1, -1])
    assert (is_old["levels"], is_old["values"]) == (["True", "False"], [0, 1, 0, 0])


def test_an_annotation_without_any_value_has_no_levels():
    (empty,) = colourings(["p", "q"], {"nothing": [None, np.nan]})
    assert (empty["levels"], empty["values"]) == ([], [-1, -1])


def test_names_are_coloured_by_their_first_part():
    (groups,) = colourings(["Colon_1", "Colon_2", "Normal_1", "Normal_2"], {})
    assert (groups["name"], groups["levels"]) == ("first part of the name", ["Colon", "Normal"])
    (same,) = colourings(["Colon", "Colon", "Normal", "Normal"], {})
    assert (same["name"], same["values"]) == ("name", [0, 0, 1, 1])
    assert colourings(["a_1", "b_1", "c_1", "d_1"], {}) == []
    assert colourings(["row 1", "row 2", "row 3", "row 4"], {}) == []


def test_a_colouring_in_another_order():
    (age,) = colourings(["p", "q", "r"], {"age": [1, 2, 3]})
    assert in_order(age, np.array([2, 0, 1]))["values"] == [3.0, 1.0, 2.0]


HOSTILE = "</script><script>alert(1)</script><!--\u2028&\ud800"


def test_json_is_safe_inside_html():
    text = json_for_html({"name": HOSTILE})
    assert text.isascii()
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"name": HOSTILE}


def test_only_our_own_scripts_may_run(model, tmp_path):
    path = tmp_path / "report.html"
    write_report(model, path, title=HOSTILE, row_names=[HOSTILE] * 40)
    page = path.read_text(encoding="utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page).group(1)
    policy = policy.replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    scripts = re.findall(r"<script(?: type=\"module\")?>(.*?)</script>", page, flags=re.DOTALL)
    assert len(scripts) == 2
    allowed = policy.split("script-src ")[1].split(";")[0].split()
    for script, source in zip(scripts, allowed, strict=True):
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert source == f"'sha256-{digest}'"
    assert "alert(1)</script>" not in page
    assert "http://" not in policy
    assert "unsafe-inline" not in policy.split("style-src-attr")[0]


def test_a_page_of_500_rows_and_columns_is_less_than_10_megabytes(tmp_path):
    X = make_linkage(500, 500, noise=0.2, random_state=0).X
    X = remove_entries(X, 0.5, random_state=0)
    model = CoManifold(keep_scales=True, scale_weights="cost", first_graphs="masked").fit(X)
    n_values = (model.scales_["n_row_clusters"] * model.scales_["n_column_clusters"]).sum()
    assert n_values > 1_000_000  # more than a page has room for
    write_report(model, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 10_000_000


def test_an_error_leaves_the_existing_file_unchanged(model, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("before")
    with pytest.raises(ValueError, match="row_names must have one value for each row"):
        write_report(model, path, row_names=["a"])
    assert path.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("package", ["jinja2", "plotly.offline"])
def test_a_missing_package_is_named(model, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"needs {package}.*comanifold\[report\]"):
        write_report(model, tmp_path / "report.html")
    assert not any(tmp_path.iterdir())
