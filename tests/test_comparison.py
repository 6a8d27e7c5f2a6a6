"""`compare`: measures against slow versions, known answers, and conclusions in words."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from comanifold import CoManifold, compare
from comanifold.comparison import UMAP, Comparison, agreement, choose_methods, nearest
from comanifold.datasets import make_checkerboard, remove_entries
from comanifold.model_selection import hold_out

MEANS = ["row means", "column means"]


def low_rank(seed=0, shape=(50, 40), rank=3, noise=0.05):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
    return remove_entries(X + noise * rng.normal(size=shape), 0.4, random_state=seed)


def agreement_by_loops(X, rows, columns, neighbors):
    a, b, weights = [], [], []
    for i, c in zip(rows, columns, strict=True):
        mean = np.nanmean(np.delete(X[:, c], i))
        known = [X[j, c] - mean for j in neighbors[i] if j >= 0 and not np.isnan(X[j, c])]
        a += [X[i, c] - mean] * len(known)
        b += known
        weights += [1 / len(known)] * len(known)
    a, b, weights = map(np.array, (a, b, weights))
    return np.sum(weights * a * b) / np.sqrt(np.sum(weights * a**2) * np.sum(weights * b**2))


def test_agreement_is_that_of_pairs_of_entries():
    rng = np.random.default_rng(0)
    X = remove_entries(rng.normal(size=(12, 9)), 0.3, random_state=0)
    held_out = hold_out(X, 0.3, random_state=1)
    neighbors = np.stack([rng.permutation(12)[:4] for _ in range(12)])
    neighbors[3, 2:] = -1
    neighbors[5] = -1
    found = agreement(X, held_out.rows, held_out.columns, neighbors)
    expected = agreement_by_loops(X, held_out.rows, held_out.columns, neighbors)
    assert found == pytest.approx(expected, rel=1e-12)


def test_equal_neighbours_agree_fully_and_random_ones_not_at_all():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(100, 30)), 2, axis=0)
    rows, columns = np.divmod(rng.permutation(X.size)[:2000], 30)
    twins = (np.arange(200) ^ 1)[:, None]
    assert agreement(X, rows, columns, twins) == pytest.approx(1.0)
    others = np.stack([rng.permutation(np.delete(np.arange(200), i))[:10] for i in range(200)])
    assert abs(agreement(X, rows, columns, others)) < 0.05
    # Nor do the rows that are near the mean, which are near to all.
    central = np.tile(np.argsort((X**2).sum(axis=1))[:10], (200, 1))
    assert abs(agreement(X, rows, columns, central)) < 0.05
    assert np.isnan(agreement(X, rows, columns, np.full((200, 3), -1)))
    assert np.isnan(agreement(np.ones_like(X), rows, columns, twins))


def test_the_agreement_of_the_right_neighbours_is_the_part_of_the_variance_they_share():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(300, 40)), 2, axis=0) + 0.5 * rng.normal(size=(600, 40))
    rows, columns = np.divmod(rng.permutation(X.size)[:8000], 40)
    found = agreement(X, rows, columns, (np.arange(600) ^ 1)[:, None])
    assert found == pytest.approx(1 / 1.25, abs=0.02)


def test_the_nearest_by_dense_and_sparse_distances():
    points = np.random.default_rng(0).normal(size=(30, 3))
    D = np.linalg.norm(points[:, None] - points[None], axis=2)
    expected = [[j for j in np.argsort(row) if j != i][:4] for i, row in enumerate(D)]
    np.testing.assert_array_equal(nearest(D, 4), expected)
    stored = np.where(np.sort(D, axis=1)[:, [6]] >= D, D, 0.0)
    np.testing.assert_array_equal(nearest(sparse.csr_array(stored), 4), expected)
    few = sparse.csr_array(np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    np.testing.assert_array_equal(nearest(few, 2), [[1, -1], [2, 0], [1, -1]])


def test_errors_are_those_of_a_fit_to_the_same_entries():
    X = low_rank()
    found = compare(X, methods=MEANS, n_repeats=2, random_state=3)
    standard = (X - np.nanmean(X)) / np.nanstd(X)
    seed = np.random.RandomState(3)
    for repeat in range(2):
        held_out = hold_out(standard, 0.1, random_state=seed)
        filled = CoManifold().fit(held_out.rest()).filled_
        for name, filled_in in (
            ("comanifold", filled),
            ("row means", np.nanmean(held_out.rest(), axis=1, keepdims=True) + np.zeros_like(X)),
        ):
            place = found.table["method"].tolist().index(name)
            expected = held_out.relative_error(filled_in[held_out.rows, held_out.columns])
            assert found.repeats["error"][place, repeat] == pytest.approx(expected, rel=1e-9)
        assert found.n_held_out[repeat] == len(held_out.values)


def test_the_table_has_means_and_corrected_standard_errors():
    found = compare(low_rank(), methods=MEANS, n_repeats=4, fraction=0.2)
    for name in ("error", "row_agreement", "column_agreement"):
        values = found.repeats[name]
        np.testing.assert_allclose(found.table[name], values.mean(axis=1))
        expected = np.sqrt((1 / 4 + 0.25) * values.var(axis=1, ddof=1))
        np.testing.assert_allclose(found.table[f"{name}_se"], expected)
    differences = found.repeats["error"][1] - found.repeats["error"][0]
    expected = 3.182446 * np.sqrt(0.5 * differences.var(ddof=1))  # 97.5% of t with 3 degrees
    names = found.table["method"].tolist()
    assert found.noise("error", names[0], names[1]) == pytest.approx(expected, rel=1e-5)


def test_a_method_that_is_better_is_named_as_such():
    # The settings of the paper on a matrix of low rank, which they are not made for.
    found = compare(low_rank(), CoManifold.as_in_the_paper(), methods=["SoftImpute", *MEANS])
    sentence = found.conclusions()[0]
    errors = dict(zip(found.table["method"], found.table["error"], strict=True))
    assert errors["SoftImpute"] < errors["comanifold"]
    assert "SoftImpute fills in better here than comanifold, by" in sentence
    assert "are noise. Take filled-in values from it." in sentence
    assert found.table["method"].tolist()[:2] == ["comanifold", "SoftImpute"]


def test_groups_are_found_better_than_by_means():
    board = make_checkerboard(60, 45, noise=0.5, random_state=0)
    found = compare(remove_entries(board.X, 0.6, random_state=0), methods=["SoftImpute", *MEANS])
    assert found.conclusions()[0].startswith("Filling in: comanifold fills in best here")
    for measure in ("row_agreement", "column_agreement"):
        ours, *others = found.table[measure]
        assert ours > max(others[1:])
    text = str(found)
    assert "held-out error" in text
    assert all(sentence in text for sentence in found.conclusions())


def test_noise_is_predicted_by_no_method():
    X = np.random.default_rng(1).normal(size=(40, 30))
    found = compare(X, methods=MEANS)
    assert found.table["error"].min() > 0.97
    assert abs(found.table["row_agreement"]).max() < 0.1
    assert "differences below" in found.conclusions()[0]


def made_up(errors, spread=0.001):
    """A comparison in which all measures of a repeat are as given, and differ little."""
    names = list(errors)
    noise = spread * np.array([[1, -1, 0], [-1, 0, 1], [0, 1, -1]])[: len(names)]
    values = np.array([errors[name] for name in names])[:, None] + noise
    repeats = {
        "error": values,
        "row_agreement": 1 - values,
        "column_agreement": 1 - values,
        "seconds": np.ones_like(values),
    }
    table = {"method": np.array(names)}
    for name, measured in repeats.items():
        table[name] = measured.mean(axis=1)
        table[f"{name}_se"] = measured.std(axis=1)
    return Comparison(table, repeats, np.array([50, 50, 50]), {"row": 5, "column": 4}, 0.1)


@pytest.mark.parametrize(
    ("ours", "theirs", "sentences"),
    [
        (0.5, 0.6, ["fills in best here, better than SoftImpute by 17%", "comanifold finds those"]),
        (0.6, 0.5, ["SoftImpute fills in better here", "SoftImpute finds some that agree better"]),
        (0.5, 0.5001, ["comanifold and SoftImpute do equally well", "do equally well"]),
        (1.2, 1.1, ["No method predicts better than the mean", "those of no method agree more"]),
    ],
)
def test_conclusions_in_words(ours, theirs, sentences):
    found = made_up({"comanifold": ours, "SoftImpute": theirs, "row means": 2.0})
    said = found.conclusions()
    for sentence, words in zip(said, [*sentences, sentences[-1]], strict=True):
        assert words in sentence
    alone = made_up({"comanifold": ours})
    assert all("no other method was measured" in sentence for sentence in alone.conclusions())


def test_differences_are_judged_pair_by_pair():
    # Much noise that both share is no noise of their difference.
    found = made_up({"comanifold": 0.5, "SoftImpute": 0.52})
    shared = found.repeats["error"] + np.array([0.1, -0.1, 0.2])
    assert replace(found, repeats={**found.repeats, "error": shared}).noise(
        "error", "comanifold", "SoftImpute"
    ) == pytest.approx(found.noise("error", "comanifold", "SoftImpute"))


def test_results_can_be_stored_as_json():
    found = compare(low_rank(), methods=[*MEANS, UMAP], n_repeats=2)
    stored = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert [line["method"] for line in stored["methods"]] == found.table["method"].tolist()
    assert stored["methods"][-1]["method"] == UMAP
    assert stored["methods"][-1]["error"] is None
    assert stored["methods"][-1]["row_agreement"] > 0
    assert stored["conclusions"] == found.conclusions()
    assert np.shape(stored["repeats"]["error"]) == (4, 2)


def test_the_picture_has_a_bar_for_each_number():
    found = made_up({"comanifold": 0.5, "SoftImpute": np.nan, "row means": 2.0})
    axes = found.plot().axes
    assert [len(ax.patches) for ax in axes] == [2, 2, 2]
    np.testing.assert_allclose([bar.get_width() for bar in axes[0].patches], [0.5, 2.0])
    assert [tick.get_text() for tick in axes[0].get_yticklabels()] == found.table["method"].tolist()


def test_units_and_empty_rows_do_not_matter():
    X = low_rank(shape=(30, 24))
    expected = compare(X, methods=MEANS, n_repeats=2)
    other = np.insert(np.insert(1e140 * (X + 7), 4, np.nan, axis=0), 2, np.nan, axis=1)
    found = compare(other, methods=MEANS, n_repeats=2)
    np.testing.assert_allclose(found.repeats["error"], expected.repeats["error"], rtol=1e-6)
    np.testing.assert_allclose(
        found.repeats["row_agreement"], expected.repeats["row_agreement"], rtol=1e-6
    )


def test_progress_is_reported_for_each_method_and_repeat():
    seen = []
    compare(low_rank(shape=(30, 24)), methods=MEANS, n_repeats=2, progress=seen.append)
    begun = [(at.repeat, at.method) for at in seen if at.fraction == 0.0]
    names = ["comanifold", *MEANS]
    assert list(dict.fromkeys(begun)) == [(repeat, name) for repeat in (0, 1) for name in names]
    assert max(at.fraction for at in seen) == 1.0


def test_methods_that_take_too_long_are_left_out_unless_asked_for():
    chosen, skipped = choose_methods((60_000, 500))
    assert "KNN of rows" not in chosen
    assert "more than ten minutes" in skipped["KNN of rows"]
    assert "row means" in chosen
    assert choose_methods((60_000, 500), ["KNN of rows"]) == (["KNN of rows"], {})


def test_umap_is_left_out_where_it_is_not_installed(monkeypatch):
    monkeypatch.setattr("comanifold.comparison.find_spec", lambda _: None)
    chosen, skipped = choose_methods((50, 40))
    assert UMAP not in chosen
    assert "pip install" in skipped[UMAP]
    with pytest.raises(ImportError, match="umap-learn"):
        compare(low_rank(), methods=[UMAP])


@pytest.mark.parametrize(
    ("X", "options", "words"),
    [
        (np.full((20, 15), 3.0), {}, "all observed entries of X are equal"),
        (np.eye(4), {}, "too few observed entries"),
        (np.eye(2), {}, "at least 3 rows and 3 columns"),
        (low_rank(), {"methods": ["kriging"]}, "methods must be some of 'SoftImpute'"),
        (low_rank(), {"n_repeats": 1}, "n_repeats must be at least 2"),
        (low_rank(), {"n_neighbors": 0}, "n_neighbors"),
        (low_rank(), {"fraction": 1.5}, "fraction must be a number between 0 and 1"),
    ],
)
def test_invalid_arguments(X, options, words):
    with pytest.raises(ValueError, match=words):
        compare(X, **options)
