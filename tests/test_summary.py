"""The summary of a fit, in words and as values."""

import json
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from comanifold import CoManifold
from comanifold._embedding.clusters import Clusters
from comanifold._summary import clusters_text, held_out_text, unreliable_estimates
from comanifold.datasets import make_checkerboard, remove_entries
from comanifold.model_selection import HeldOutErrors, compare_held_out

HOSTILE = '<img src=x onerror="alert(1)">&\'\ud800\n$x$'


@pytest.fixture(scope="module")
def frame():
    X = remove_entries(make_checkerboard(40, 30, noise=0.4, random_state=0).X, 0.3, random_state=0)
    columns = [f"gene {j}" for j in range(30)]
    return pd.DataFrame(X, index=[f"patient {i}" for i in range(40)], columns=columns)


@pytest.fixture(scope="module")
def model(frame):
    return CoManifold().fit(frame)


@pytest.fixture(scope="module")
def summary(model):
    return model.summary()


@pytest.fixture(scope="module")
def noise():
    """A model of noise with an empty row and an outlier, for three clusters that are not there."""
    X = np.random.default_rng(1).normal(size=(40, 30))
    X[3], X[0, 0] = np.nan, 1e9
    with pytest.warns(UserWarning, match=r"no observed entry|100,000 times"):
        return CoManifold(n_clusters=(3, None)).fit(X)


def test_values_are_those_of_the_model(model, summary, frame):
    found = summary.as_dict()
    assert found["shape"] == [40, 30]
    assert found["share_missing"] == pytest.approx(frame.isna().to_numpy().mean())
    for mode in ("row", "column"):
        labels = getattr(model, f"{mode}_labels_")
        clusters = found["clusters"][f"{mode}s"]
        assert clusters["number"] == labels.max() + 1
        assert clusters["sizes"] == np.bincount(labels).tolist()
        assert clusters["confidence"] == pytest.approx(getattr(model, f"{mode}_confidence_").mean())
        assert clusters["evidence"] == model.find_clusters(mode).evidence > 0
        assert found["structure"][f"{mode}s"]["p_value"] == getattr(model, f"{mode}_p_value_")
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_the_features_of_a_cluster_are_the_first_lines_of_its_table(model, frame):
    found = model.summary(n_features=2, compare=False).as_dict()["distinguishing"]
    for mode, names in (("row", frame.columns), ("column", frame.index)):
        table = pd.DataFrame(model.distinguishing(mode))
        for cluster in found[f"{mode}s"]:
            lines = table[table["cluster"] == cluster["label"]].head(2)
            assert cluster["cluster"] == cluster["label"] + 1
            assert [part["name"] for part in cluster["features"]] == lines["name"].tolist()
            for part, line in zip(cluster["features"], lines.itertuples(), strict=True):
                assert names[part["index"]] == part["name"]
                assert part["effect"] == line.effect
                assert (part["inside"], part["outside"]) == (line.inside, line.outside)


def test_the_text_says_all_of_it(summary):
    text = str(summary)
    assert text.splitlines()[0] == "40 rows × 30 columns, 30% missing"
    together = " ".join(text.split())
    for part in ("clusters", "structure"):
        for mode in ("rows", "columns"):
            assert getattr(summary, part)[mode]["summary"] in together
    assert summary.held_out["summary"] in together
    best = summary.distinguishing["rows"][0]["features"][0]
    sign = "+" if best["effect"] > 0 else "−"
    assert f"{best['name']} ({sign}{abs(best['effect']):.1f})" in together
    assert "warnings none" in together
    assert 'plotting.distinguishing(model, mode="row")' in together
    assert max(map(len, text.splitlines())) <= 100


def test_errors_are_measured_or_given(model, summary):
    measured = compare_held_out(model)
    assert summary.held_out["soft_impute"] == measured.soft_impute
    assert f"SoftImpute {measured.soft_impute:.2f}" in str(summary)
    quick = model.summary(compare=False)
    assert quick.held_out["soft_impute"] is None
    assert quick.held_out["row_means"] == measured.row_means
    assert "SoftImpute" not in str(quick)
    given = model.summary(errors=HeldOutErrors(50, 0.5, 1.0, 0.9, 0.4))
    assert "on 50 entries" in str(given)
    assert "KNN fills in this table better" in " ".join(str(given).split())


def test_a_complete_matrix_has_no_errors_of_its_own():
    model = CoManifold().fit(make_checkerboard(30, 20, random_state=0).X)
    summary = model.summary()
    assert summary.held_out is None
    assert "held out     not measured" in str(summary)
    assert "nothing missing" in str(summary)
    assert json.dumps(summary.as_dict(), allow_nan=False)


def test_noise_is_called_noise(noise):
    summary = noise.summary(compare=False)
    text = " ".join(str(summary).split())
    assert "embeddings and clusters may be of noise" in text
    assert "rows: 3 clusters, as asked for" in text
    assert "columns: one cluster, no groups found" in text
    assert "rows without an observed entry" in text
    assert "1, such as 1e+09 in row 0, column 0" in text
    assert summary.next_steps[0].startswith("do not interpret positions or clusters yet")
    assert not any("distinguishes" in step for step in summary.next_steps)
    assert summary.distinguishing["columns"] == []
    assert sum(summary.clusters["rows"]["sizes"]) == 39


def test_gradual_change_is_not_called_a_group():
    X = np.cos(np.linspace(0, 3, 40)[:, None] - np.linspace(0, 3, 30))
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    summary = CoManifold().fit(X).summary(compare=False)
    assert summary.clusters["rows"]["number"] == 1
    assert any("the rows differ by degrees, not in groups" in step for step in summary.next_steps)


def test_effects_of_constant_columns_are_not_given_as_numbers():
    X = np.repeat([[0.0], [5.0]], 12, axis=0) * [1.0, -1.0, 1.0]
    model = CoManifold(n_clusters=(2, 1)).fit(X)
    summary = model.summary()
    assert abs(summary.distinguishing["rows"][0]["features"][0]["effect"]) > 1e6
    assert "column 1 (+99 or more)" in str(summary)
    assert "column 2 (−99 or more)" in str(summary)


def test_words_for_confidence_and_errors():
    labels = np.array([0, 0, 1, 1, -1])
    clusters = Clusters(labels, 3.0, np.array([1, 0.4, 1, 0.8, np.nan]))
    assert clusters_text("row", clusters, is_given=False) == (
        "rows: 2 clusters (80% of the rows stay in theirs if half of the columns are left out; 1 "
        "row is between clusters)"
    )
    one = Clusters(np.zeros(3, dtype=int), 0.0, np.ones(3))
    assert clusters_text("column", one, is_given=True) == "columns: one cluster, as asked for"
    assert held_out_text(HeldOutErrors(1500, 0.5, 1.0, 0.9, None, 0.6)) == (
        "error 0.50 of a standard deviation on 1,500 entries; SoftImpute 0.60, row means 1.00, "
        "column means 0.90"
    )
    assert unreliable_estimates(None) == []
    (warning,) = unreliable_estimates(HeldOutErrors(50, 1.02, 1.3, 0.99))
    assert "no better than column means (error 1.02 against 0.99)" in warning
    (warning,) = unreliable_estimates(HeldOutErrors(50, 0.5, 1.0, 0.9, 0.48), "--neighbors")
    assert warning.endswith("such as --neighbors")


def test_n_features_is_validated(model):
    with pytest.raises(ValueError, match="n_features must be a positive integer, got 0"):
        model.summary(n_features=0)


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = []
        self.text = ""

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


def read_html(text):
    parser = _Tags()
    parser.feed(text)
    return parser


def test_hostile_names_are_text_in_html(frame):
    names = [HOSTILE, *frame.columns[1:]]
    model = CoManifold().fit(frame.set_axis(names, axis=1))
    summary = model.summary(compare=False, n_features=30)
    shown = read_html(summary._repr_html_())
    assert not any(tag == "img" for tag, _ in shown.seen)
    assert "<img src=x" in shown.text
    summary._repr_html_().encode("utf-8")
    assert "\n$x$" not in str(summary)
